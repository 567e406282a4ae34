// SPDX-License-Identifier: BSL-1.0
#include "engine/warnings.hpp"

#include "core/memory.hpp"
#include "engine/in_words.hpp"
#include "redis/info.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace redlock::detail {
namespace {

/// The other name under which this server votes already, if that is why the node does not.
std::optional<unsigned> find_same_server(std::vector<std::unique_ptr<net::node>> const& nodes, unsigned node)
{
    auto const& told = nodes[node]->facts().info;
    bool const refused = nodes[node]->state() == node_state::down &&
                         nodes[node]->last_failure().result == node_result::refused;
    if (!refused || !told)
        return {};
    for (unsigned other = 0; other != nodes.size(); ++other) {
        bool const connected = nodes[other]->state() == node_state::ready;
        auto const& known = nodes[other]->facts().info;
        if (other != node && connected && known && !told->run_id.empty() && known->run_id == told->run_id)
            return other;
    }
    return {};
}

struct wait_for_votes {
    unsigned quarantined = 0;
    std::chrono::milliseconds time{}; ///< until a majority may vote
};

wait_for_votes reckon_wait(std::vector<node_report> const& rows)
{
    std::vector<std::chrono::milliseconds> quarantines;
    unsigned voting = 0;
    for (node_report const& row : rows) {
        if (row.result == node_result::quarantined)
            quarantines.push_back(row.remaining.value_or(std::chrono::milliseconds::zero()));
        else if (votes(row))
            ++voting;
    }
    unsigned const majority = core::majority(static_cast<unsigned>(rows.size()));
    std::ranges::sort(quarantines);
    unsigned const missing = voting < majority ? majority - voting : 1;
    return {static_cast<unsigned>(quarantines.size()),
            quarantines.at(std::min<std::size_t>(missing, quarantines.size()) - 1)};
}

} // namespace

std::string describe_even_nodes(unsigned nodes)
{
    if (nodes == 2)
        return "2 nodes survive no failure: both are needed for a majority";
    return count(nodes, "node") + " survive the failure of " + count(nodes / 2 - 1, "node") + ", as " +
           count(nodes - 1, "node") + " do";
}

void warnings::node_changed(std::vector<std::unique_ptr<net::node>> const& nodes, unsigned node) noexcept
{
    if (environment_.watcher())
        core::if_memory_allows([&] { look_at(nodes, node); });
}

void warnings::look_at(std::vector<std::unique_ptr<net::node>> const& nodes, unsigned node)
{
    using enum warning_event::kind;
    auto const all = static_cast<unsigned>(nodes.size());
    if (!std::exchange(looked_, true) && all % 2 == 0)
        environment_.watcher()->on_warning({even_nodes, {}, {}, describe_even_nodes(all)});
    if (auto const other = find_same_server(nodes, node); other && !same_server_.contains(node)) {
        same_server_.insert(node);
        tell(same_server, node, "is the same server as " + names()[*other] + ", and has no vote of its own");
    }
    redis::server_facts const& facts = nodes[node]->facts();
    auto const& told = facts.info;
    if (told && told->replicas != 0 && !facts.group && !has_replicas_.contains(node)) {
        has_replicas_.insert(node);
        tell(has_replicas, node,
             "has " + count(told->replicas, "replica") + ": one that is promoted lacks the latest locks");
    }
}

void warnings::tell(warning_event::kind what, unsigned node, std::string const& words)
{
    environment_.watcher()->on_warning({what, names()[node], {}, words});
}

void warnings::waits_for_quarantine(std::string_view resource, std::vector<node_report> const& rows,
                                    core::instant now) noexcept
{
    // One and the same end comes out a little different each time: the rows are rounded, and were written a moment ago.
    constexpr core::duration same_end = std::chrono::seconds{1};
    if (!environment_.watcher())
        return;
    core::if_memory_allows([&] {
        auto const wait = reckon_wait(rows);
        if (core::elapsed(told_until_, now + wait.time) < same_end)
            return;
        told_until_ = now + wait.time;
        std::string const words = "waits: " + std::to_string(wait.quarantined) + " of " +
                                  count(static_cast<unsigned>(rows.size()), "node") +
                                  " quarantined, a majority may vote in " + in_words(wait.time);
        environment_.watcher()->on_warning({warning_event::kind::quarantine, {}, resource, words, wait.time});
    });
}

} // namespace redlock::detail
