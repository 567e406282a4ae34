// SPDX-License-Identifier: BSL-1.0
#include "engine/node_table.hpp"

#include "engine/admissions.hpp"
#include "engine/in_words.hpp"
#include "redis/server_words.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace redlock::detail {

node_table::node_table(std::vector<std::string> const& names)
{
    for (auto const& name : names)
        rows_.push_back({{name, node_state::idle, {}, {}}, {}, {}});
}

void node_table::enter(unsigned node, node_state state, net::failure const& why)
{
    std::scoped_lock const guard(lock_);
    row& changed = rows_[node];
    changed.shown.state = state;
    if (state != node_state::ready) {
        changed.waits.until = {};
        changed.lack.clear();
    }
    changed.shown.detail = why.detail;
}

void node_table::enter(unsigned node, quarantine q)
{
    std::scoped_lock const guard(lock_);
    rows_[node].waits = std::move(q);
}

void node_table::note(unsigned node, std::string words)
{
    std::scoped_lock const guard(lock_);
    rows_[node].shown.detail = std::move(words);
}

void node_table::note_master(unsigned node, std::string const& address)
{
    std::scoped_lock const guard(lock_);
    rows_[node].shown.master = address;
}

void node_table::note_minor_refusal(unsigned node, std::string_view words)
{
    std::scoped_lock const guard(lock_);
    constexpr std::size_t most = 1024;
    std::string& lack = rows_[node].lack;
    if (lack.find(words) == lack.npos && lack.size() < most)
        lack.append(lack.empty() ? "" : "; ").append(words);
}

std::string quarantine::explanation(core::instant now) const
{
    core::duration const ago = std::max(core::elapsed(since, now), core::duration::zero()); // see N8
    return why + ' ' + in_words(ago) + " ago";
}

std::string quarantine::notice(core::instant now) const
{
    return explanation(now) + "; no votes for '" + redis::quote_name(lock) + "' for " +
           in_words(quarantine_left(until, now));
}

std::vector<node_status> node_table::rows(core::instant now) const
{
    std::scoped_lock const guard(lock_);
    std::vector<node_status> shown;
    for (row const& r : rows_) {
        shown.push_back(r.shown);
        std::string& detail = shown.back().detail;
        detail.append(detail.empty() || r.lack.empty() ? "" : "; ").append(r.lack);
        if (r.shown.state != node_state::ready || core::surely_reached(r.waits.until, now))
            continue;
        shown.back().state = node_state::quarantined;
        shown.back().detail = r.waits.notice(now);
        shown.back().remaining = quarantine_left(r.waits.until, now);
    }
    return shown;
}

} // namespace redlock::detail
