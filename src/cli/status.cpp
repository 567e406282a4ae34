// SPDX-License-Identifier: BSL-1.0
#include "cli/answer.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/query.hpp"
#include "cli/taken_permits.hpp"
#include "cli/verbs.hpp"
#include "cli/waiters.hpp"
#include "core/fencing.hpp"
#include "core/key_answers.hpp"
#include "kind/fenced.hpp"
#include "kind/kind.hpp"
#include "kind/queue.hpp"
#include "redis/command.hpp"
#include "redis/server_words.hpp"
#include "redis/text_number.hpp"
#include <redlock/inspection.hpp>
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

namespace {

using nlohmann::json;

/// The key on one node.
struct node_view {
    interview const* node;
    bool known = false;                  ///< whether it is known if the key exists
    std::optional<std::string> holder{}; ///< the key's value, if it is a string
    holder_kind who = holder_kind::unknown;
    std::string shown{}; ///< the holder's text
    std::optional<std::chrono::milliseconds> left{};
    std::string fence{};
    bool no_expiry = false;
    std::string trouble{};
};

std::string token_of(core::fence fence)
{
    return std::to_string(core::fencing_token(fence));
}

node_view look(interview const& node)
{
    node_view seen{.node = &node};
    if (node.failed) {
        seen.trouble = trouble_of(*node.failed);
        return seen;
    }
    answer const& owner = node.answers[0];
    answer const& left = node.answers[1];
    seen.known = !owner.refused() || owner.text.starts_with("WRONGTYPE");
    seen.who = holder_of(owner, left, node.answers[3]);
    if (owner.is(answer::kind::text)) {
        seen.holder = owner.text;
        seen.shown = beginning_of(owner.text);
    } else if (seen.who != holder_kind::unknown) {
        seen.shown = other_holder(seen.who);
    } else if (!seen.known) {
        seen.trouble = redis::quote(owner.text);
    }
    if (seen.who == holder_kind::no_lock)
        seen.trouble = "no lock: " + std::string(why_no_lock(owner, left));
    seen.no_expiry = left.is(answer::kind::number) && left.number == -1;
    if (left.is(answer::kind::number) && left.number >= 0)
        seen.left = std::chrono::milliseconds{left.number};
    std::uint64_t fence = 0;
    if (node.answers[2].is(answer::kind::text) && redis::read_number(node.answers[2].text, fence))
        seen.fence = token_of(fence);
    if (node.facts.replica)
        seen.trouble = "replica";
    return seen;
}

int status_of(lock_status says)
{
    switch (says) {
    case lock_status::held: return exit_status::success;
    case lock_status::free: return exit_status::not_held;
    case lock_status::blocked: return exit_status::conflict;
    case lock_status::unknown: break;
    }
    return exit_status::no_quorum;
}

core::key_answer to_key(node_view const& s)
{
    using kind = core::key_answer::kind;
    if (!s.known)
        return {};
    if (s.who == holder_kind::readers || s.who == holder_kind::permits)
        return {.what = kind::several};
    if (s.holder)
        return {.what = kind::owned, .owner = std::hash<std::string>()(*s.holder)};
    return s.who == holder_kind::unknown ? core::absent_key : core::key_answer{.what = kind::no_lock};
}

core::lock_verdict judge(std::vector<node_view> const& nodes)
{
    std::vector<core::key_answer> keys;
    for (node_view const& s : nodes)
        keys.push_back(to_key(s));
    return core::judge(keys);
}

json to_json(node_view const& s)
{
    json row{{"node", s.node->node}, {"reachable", !s.node->failed}};
    if (!s.shown.empty())
        row["holder"] = s.shown;
    if (s.who != holder_kind::unknown)
        row["holder_kind"] = std::string(to_string(s.who));
    if (s.left)
        row["pttl_ms"] = s.left->count();
    if (!s.fence.empty())
        row["token"] = s.fence;
    if (!s.node->failed) {
        row["role"] = s.node->facts.replica ? "replica" : "master";
        row["round_trip_us"] = s.node->round_trip.count();
    }
    if (!s.trouble.empty())
        row["trouble"] = s.trouble;
    return row;
}

std::string time_left(node_view const& s)
{
    if (s.left)
        return seconds(*s.left);
    return s.shown.empty() ? "-" : s.no_expiry ? "no expiry" : "?";
}

std::string to_text(std::string const& headline, std::vector<node_view> const& nodes)
{
    std::vector<std::vector<std::string>> rows{{"NODE", "HOLDER", "LEFT", "TOKEN", "ROUND TRIP", ""}};
    for (node_view const& s : nodes)
        rows.push_back({s.node->node, s.known ? s.shown.empty() ? "-" : s.shown : "?", time_left(s),
                        s.fence.empty() ? "-" : s.fence,
                        s.node->failed ? "-" : std::to_string(s.node->round_trip.count()) + " us",
                        s.trouble});
    return headline + '\n' + table(rows);
}

json to_json(taken_permits const& taken)
{
    json rows = json::array();
    for (auto const& [permit, its] : taken) {
        rows.push_back(
            {{"permit", permit.first}, {"holder", beginning_of(permit.second)}, {"nodes", its.nodes}});
        if (its.fence != 0)
            rows.back()["token"] = token_of(its.fence);
    }
    return rows;
}

std::string to_text(taken_permits const& taken)
{
    if (taken.empty())
        return {};
    std::vector<std::vector<std::string>> rows{{"PERMIT", "HOLDER", "NODES", "TOKEN"}};
    for (auto const& [permit, its] : taken)
        rows.push_back({std::to_string(permit.first), beginning_of(permit.second), std::to_string(its.nodes),
                        its.fence == 0 ? "-" : token_of(its.fence)});
    return table(rows);
}

std::string_view wants(kind::waiter_kind what)
{
    switch (what) {
    case kind::waiter_kind::exclusive: return "exclusive";
    case kind::waiter_kind::shared: return "shared";
    case kind::waiter_kind::permits: return "permits";
    }
    return {};
}

json to_json(std::optional<kind::waiter> const& waiter)
{
    if (!waiter)
        return nullptr;
    json row{{"wants", wants(waiter->kind)}};
    if (waiter->kind == kind::waiter_kind::permits) {
        row["permits"] = waiter->wanted.count;
        row["of"] = waiter->wanted.limit;
    }
    return row;
}

json to_json(std::vector<queue_view> const& queues)
{
    json rows = json::array();
    for (queue_view const& queue : queues) {
        rows.push_back({{"node", queue.node}, {"waiting", queue.waiting}, {"first", json::array()}});
        for (auto const& waiter : queue.first)
            rows.back()["first"].push_back(to_json(waiter));
    }
    return rows;
}

std::string in_words(std::optional<kind::waiter> const& waiter)
{
    if (!waiter)
        return "?";
    std::string what;
    if (waiter->kind == kind::waiter_kind::permits)
        what = std::to_string(waiter->wanted.count) + " of " + std::to_string(waiter->wanted.limit) + ' ';
    return what.append(wants(waiter->kind));
}

std::string to_text(std::vector<queue_view> const& queues)
{
    if (queues.empty())
        return {};
    std::vector<std::vector<std::string>> rows{{"QUEUE", "POSITION", "WANTS"}};
    for (queue_view const& queue : queues)
        for (std::size_t i = 0; i != queue.first.size(); ++i)
            rows.push_back({queue.node, std::to_string(i + 1) + " of " + std::to_string(queue.waiting),
                            in_words(queue.first[i])});
    return table(rows);
}

/// "held by 4f1c... on 2 of 3 nodes", "held by readers on 2 of 3 nodes", "blocked: free on 1 of 3 nodes"
std::string headline(core::lock_verdict const& v, std::vector<node_view> const& nodes, std::size_t permits)
{
    auto const counted = [&](unsigned some) {
        return " on " + std::to_string(some) + " of " + std::to_string(nodes.size()) + " nodes";
    };
    std::string const said(to_string(v.status));
    switch (v.status) {
    case lock_status::held:
        return said + " by " + nodes[v.witness].shown + counted(v.votes) +
               (permits == 0 ? "" : ", permits taken: " + std::to_string(permits));
    case lock_status::free: return said + counted(v.free);
    case lock_status::unknown:
        return said + ": " + std::to_string(std::ranges::count(nodes, true, &node_view::known)) + " of " +
               std::to_string(nodes.size()) + " nodes answered, free on " + std::to_string(v.free);
    default: return said + ": free" + counted(v.free);
    }
}

} // namespace

int status(options const& o, output const& out)
{
    std::string const key = o.client.key_prefix + o.name;
    std::string const fence = redis::joined_name(key, kind::fence_suffix);
    auto const interviews = ask_nodes(o.client, [&](interview const&) {
        questions asked;
        asked.ask({"GET", key});
        asked.ask({"PTTL", key});
        asked.ask({"GET", fence});
        kind::plain.append(asked.bytes, kind::request::whose, {{o.client.key_prefix, o.name}, {}},
                           redis::script_form::text);
        ++asked.count;
        ask_for_queue(asked, key);
        ask_for_permits(asked, key);
        return asked;
    });

    std::vector<node_view> nodes;
    taken_permits permits;
    std::vector<queue_view> queues;
    for (interview const& node : interviews) {
        nodes.push_back(look(node));
        if (node.failed)
            continue;
        if (auto const queue = read_queue(node.node, node.answers[4], node.answers[5]))
            queues.push_back(*queue);
        if (nodes.back().who != holder_kind::permits)
            continue;
        answer const& owners = node.answers[6];
        answer const& fences = node.answers[7];
        count_permits(permits, owners, fences, clock_of(node));
        if (owners.refused() || fences.refused())
            nodes.back().trouble = redis::quote((owners.refused() ? owners : fences).text);
    }
    core::lock_verdict const v = judge(nodes);
    json rows = json::array();
    for (node_view const& s : nodes)
        rows.push_back(to_json(s));
    json object{
        {"name", o.name}, {"status", std::string(to_string(v.status))}, {"votes", v.votes}, {"nodes", rows}};
    if (v.status == lock_status::held) {
        object["holder"] = nodes[v.witness].shown;
        object["holder_kind"] = std::string(to_string(nodes[v.witness].who));
    }
    std::size_t const taken = certain(permits, nodes.size());
    if (!permits.empty()) {
        object["permits"] = to_json(permits);
        object["permits_taken"] = taken;
    }
    if (!queues.empty())
        object["queues"] = to_json(queues);
    out.result(object, to_text(o.shown_name() + ": " + headline(v, nodes, taken), nodes) + to_text(permits) +
                           to_text(queues));
    return status_of(v.status);
}

} // namespace redlock::cli
