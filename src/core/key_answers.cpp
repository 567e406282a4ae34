// SPDX-License-Identifier: BSL-1.0
#include "core/key_answers.hpp"

#include "core/tally.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace redlock::core {

namespace {

/// Returns when a majority of these times will be over.
template <class Time>
duration end_of_majority(std::span<key_answer const> nodes, Time time)
{
    std::array<duration, max_nodes> ends;
    auto const end = std::ranges::transform(nodes, ends.begin(), time).out;
    auto const last_needed = ends.begin() + majority(static_cast<unsigned>(nodes.size())) - 1;
    std::nth_element(ends.begin(), last_needed, end);
    return *last_needed;
}

/// Readers are one party: they do not exclude each other.
bool is_held(key_answer const& one)
{
    return one.what == key_answer::kind::owned || one.what == key_answer::kind::several;
}

/// Finds the owner that most nodes name.
void count_owners(std::span<key_answer const> nodes, lock_verdict& verdict)
{
    for (unsigned i = 0; i != nodes.size(); ++i) {
        if (!is_held(nodes[i]))
            continue;
        auto const votes = static_cast<unsigned>(std::ranges::count_if(nodes, [&](key_answer const& other) {
            return other.what == nodes[i].what && other.owner == nodes[i].owner;
        }));
        if (votes <= verdict.votes)
            continue;
        verdict.votes = votes;
        verdict.witness = i;
    }
}

} // namespace

lock_verdict judge(std::span<key_answer const> nodes) noexcept
{
    assert(!nodes.empty() && nodes.size() <= max_nodes);
    auto const count = [&](key_answer::kind what) {
        return static_cast<unsigned>(std::ranges::count(nodes, what, &key_answer::what));
    };
    lock_verdict verdict{.free = count(key_answer::kind::absent)};
    count_owners(nodes, verdict);
    verdict.taken_at_least = end_of_majority(nodes, &key_answer::lives_at_least);
    auto const at_most = [](key_answer const& s) { return s.lives_at_most.value_or(duration::max()); };
    if (duration const end = end_of_majority(nodes, at_most); end != duration::max())
        verdict.taken_at_most = end;

    unsigned const unknown = count(key_answer::kind::unknown);
    unsigned const needed = majority(static_cast<unsigned>(nodes.size()));
    if (verdict.votes >= needed)
        verdict.status = lock_status::held;
    else if (verdict.free >= needed)
        verdict.status = lock_status::free;
    else if (verdict.votes + unknown < needed && verdict.free + unknown < needed)
        verdict.status = lock_status::blocked;
    return verdict;
}

} // namespace redlock::core
