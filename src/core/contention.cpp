// SPDX-License-Identifier: BSL-1.0
#include "core/contention.hpp"

#include "core/tally.hpp"

#include <algorithm>
#include <array>

namespace redlock::core {

void contention::start(unsigned nodes, unsigned first)
{
    rows_.assign(nodes, {});
    first_ = first;
}

void contention::refused(unsigned node)
{
    rows_[node] = {.taken = true};
}

void contention::found_held(unsigned node)
{
    rows_[node].taken = true;
}

void contention::found_held_until(unsigned node, instant until)
{
    rows_[node].taken = true;
    rows_[node].until = until;
}

void contention::found_free(unsigned node)
{
    rows_[node].taken = false;
    rows_[node].until.reset();
}

void contention::votes(unsigned node, bool yes)
{
    rows_[node].votes = yes;
}

void contention::changed(unsigned node)
{
    rows_[node] = {};
}

/// Of a node that was not asked this is an old guess, and would be a reason to ask again at once.
void contention::lost(instant asked)
{
    for (row& r : rows_)
        if (r.until && reached(*r.until, asked))
            r.until.reset();
}

void contention::usable(unsigned node, bool yes)
{
    if (rows_[node].usable != yes)
        rows_[node] = {.usable = yes};
}

bool contention::first_is_free() const
{
    auto const first = rendezvous_node();
    return first && !rows_[*first].taken;
}

/// Where the first does not vote, the next one is asked in its place, and lets nobody through while it is taken.
contention::row const* contention::first_voter() const
{
    for (unsigned step = 0; step != size(); ++step)
        if (row const& r = rows_[(first_ + step) % size()]; r.usable && r.votes)
            return &r;
    return nullptr;
}

bool contention::may_be_free() const
{
    auto const free =
        std::ranges::count_if(rows_, [](row const& r) { return r.usable && !r.taken && r.votes; });
    row const* const first = first_voter();
    return first && !first->taken && free >= majority(size());
}

bool contention::lacks_votes() const
{
    auto const free = std::ranges::count_if(rows_, [](row const& r) { return r.usable && !r.taken; });
    return first_is_free() && free >= majority(size()) && !may_be_free();
}

/// With the M-th key that goes, M nodes are free (docs/protocol.md, rule W3). Where they are already it is the first's that
/// keeps everybody away.
std::optional<instant> contention::free_at() const
{
    unsigned missing = majority(size());
    std::array<instant, max_nodes> ends;
    unsigned known = 0;
    for (row const& r : rows_) {
        if (!r.usable || !r.votes)
            continue;
        if (!r.taken)
            missing -= missing == 0 ? 0U : 1U;
        else if (r.until)
            ends[known++] = *r.until;
    }
    if (missing == 0)
        return first_voter()->until;
    if (known < missing)
        return std::nullopt;
    auto const last = ends.begin() + (missing - 1);
    std::ranges::nth_element(ends.begin(), last, ends.begin() + known, {}, &instant::boot);
    return *last;
}

std::optional<unsigned> contention::rendezvous_node() const
{
    return after((first_ + size() - 1) % size());
}

std::optional<unsigned> contention::after(unsigned node) const
{
    for (unsigned step = 1; step <= size(); ++step) {
        unsigned const next = (node + step) % size();
        if (rows_[next].usable)
            return next;
    }
    return std::nullopt;
}

} // namespace redlock::core
