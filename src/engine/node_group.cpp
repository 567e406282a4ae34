// SPDX-License-Identifier: BSL-1.0
#include "engine/node_group.hpp"

#include "core/memory.hpp"
#include "engine/configuration.hpp"
#include "redis/server_words.hpp"
#include "redis/url.hpp"
#include <redlock/observer.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace redlock::detail {
namespace {

/// "SUBSCRIBE: NOPERM this user has no permissions"
std::string to_words(std::string_view command, redis::resp_node const& reply)
{
    return std::string(command).append(": ").append(redis::quote(reply.text));
}

} // namespace

node_group::node_group(environment& its, group_listener& listener)
    : environment_(its), listener_(listener), admissions_(its.settings()), table_(its.settings().names),
      quarantines_(its.settings().peers.size()), warnings_(its), told_refusals_(its.settings().peers.size()),
      states_(its.settings().peers.size(), node_state::idle)
{
    client_settings const& given = its.settings();
    for (unsigned i = 0; i != given.peers.size(); ++i) {
        nodes_.push_back(std::make_unique<net::node>(its.loop(), static_cast<net::node_listener&>(*this),
                                                     to_all_, i, given.peers[i], given.terms[i]));
        markers_.push_back(
            std::make_unique<marker>(its, *nodes_[i], admissions_, static_cast<marker_listener&>(*this)));
    }
    its.loop().reserve_for(nodes_.size());
}

void node_group::close()
{
    closed_ = true;
    for (auto const& node : nodes_)
        node->close();
}

void node_group::drop_connections()
{
    closed_ = true;
    for (auto const& node : nodes_)
        node->drop_connection();
}

void node_group::keep_connected(bool kept)
{
    for (auto const& node : nodes_)
        node->keep_connected(kept);
}

void node_group::hasten(core::reconnect_pace const& pace)
{
    for (auto const& node : nodes_)
        node->hasten(pace);
}

void node_group::on_node_changed(unsigned node)
{
    node_state const now = nodes_[node]->state();
    node_state const before = std::exchange(states_[node], now);
    certain_.erase(node);
    ready_ += (now == node_state::ready ? 1U : 0U) - (before == node_state::ready ? 1U : 0U);
    connecting_ += (now == node_state::connecting ? 1U : 0U) - (before == node_state::connecting ? 1U : 0U);
    bool const connected = now == node_state::ready;
    if (!connected) {
        markers_[node]->forget();
        quarantines_[node].reset();
    }
    tell_node(node, now != before);
    warnings_.node_changed(nodes_, node);
    if (closed_)
        return;
    if (connected)
        listener_.on_connected(node);
    if (connected && (admissions_.has_unknown_past(node) || markers_[node]->is_in_use()))
        markers_[node]->require();
    if (!connected && now != node_state::down)
        return;
    met_.insert(node);
    listener_.on_nodes_changed();
    if (now == node_state::ready)
        listener_.on_usable(node);
}

bool node_group::has_newcomers() const
{
    for (unsigned i = 0; i != size(); ++i)
        if ((states_[i] == node_state::connecting && !met_.contains(i)) || markers_[i]->awaited())
            return true;
    return false;
}

void node_group::connect()
{
    for (auto const& node : nodes_)
        (void)node->ensure_can_send();
}

void node_group::on_tracking_refused(unsigned node, redis::resp_node const& why)
{
    note_minor_refusal(node, "CLIENT TRACKING", why);
    listener_.on_nodes_changed();
}

// rule Q23
void node_group::on_subscription_refused(unsigned node, std::string_view command, redis::resp_node const& why)
{
    note_minor_refusal(node, command, why);
    listener_.on_nodes_changed();
}

void node_group::inherit(node_group const& former)
{
    auto const& peers = environment_.settings().peers;
    auto const& former_peers = former.environment_.settings().peers;
    for (std::size_t i = 0; i != peers.size(); ++i) {
        auto const same = std::ranges::find_if(
            former_peers, [&](auto const& each) { return redis::same_keys(each->where, peers[i]->where); });
        if (same == former_peers.end())
            continue;
        auto const before = static_cast<std::size_t>(same - former_peers.begin());
        nodes_[i]->was_heard(former.nodes_[before]->heard());
        admissions_.inherit(i, former.admissions_, before);
        markers_[i]->inherit(*former.markers_[before]);
    }
}

/// Updates the table, and tells the observer news. Blind spots of a node are told once.
void node_group::tell_node(unsigned node, bool news) noexcept
{
    if (!core::if_memory_allows([&] { describe_node(node, news); }))
        table_.enter(node, states_[node]);
}

void node_group::describe_node(unsigned node, bool news)
{
    node_state const now = states_[node];
    net::failure why = nodes_[node]->last_failure();
    bool const ready = now == node_state::ready;
    if (ready)
        why.detail = admissions_.blind_spots(node, *nodes_[node]);
    std::string const& master = nodes_[node]->facts().master;
    if (ready && !master.empty())
        table_.note_master(node, master);
    table_.enter(node, now, why);
    if (ready && !admissions_.has_unknown_past(node) && tell_longest_quarantine(node))
        return;
    bool const mention = !ready || (!why.detail.empty() && admissions_.first_mention(node));
    observer* const o = watcher();
    if (!o || !news)
        return;
    o->on_node({.node = environment_.settings().names[node],
                .state = now,
                .detail = mention ? std::string_view(why.detail) : std::string_view(),
                .master = ready ? std::string_view(master) : std::string_view()});
}

void node_group::expect_pushes()
{
    if (pushes_expected_++ == 0)
        for (auto const& node : nodes_)
            node->expect_pushes(true);
}

void node_group::stop_expecting_pushes()
{
    if (--pushes_expected_ == 0)
        for (auto const& node : nodes_)
            node->expect_pushes(false);
}

void node_group::note(unsigned node, std::string_view script, redis::resp_node const& reply)
{
    core::if_memory_allows([&] { table_.note(node, to_words(script, reply)); });
}

void node_group::note_minor_refusal(unsigned node, std::string_view command, redis::resp_node const& reply)
{
    constexpr std::size_t most_reported = 16; // a server may have new words each time
    core::if_memory_allows([&] {
        std::string const words = to_words(command, reply);
        table_.note_minor_refusal(node, words);
        observer* const o = watcher();
        auto& reported = told_refusals_[node];
        if (o && reported.size() < most_reported && reported.insert(words).second)
            o->on_node({environment_.settings().names[node],
                        quarantines_[node] ? node_state::quarantined : states_[node], words});
    });
}

} // namespace redlock::detail
