// SPDX-License-Identifier: BSL-1.0
#include "engine/queue_registry.hpp"

#include "core/memory.hpp"
#include "core/position_timing.hpp"
#include "core/rendezvous.hpp"
#include "net/node.hpp"
#include "redis/error_class.hpp"
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <cstddef>
#include <ranges>
#include <string_view>
#include <utility>

namespace redlock::detail {

queue_registry::queue_registry(environment& its, node_group& nodes)
    : environment_(its), nodes_(nodes), connections_(nodes.size())
{
    nodes_.set_message_listener(this);
}

/// The name that all clients have for a node: its run id, or its URL if it does not report one (docs/protocol.md, rule W3).
std::string_view queue_registry::shared_name(unsigned node) const
{
    auto const& told = nodes_.at(node).facts().info;
    return told && !told->run_id.empty() ? told->run_id : environment_.settings().names[node];
}

/// All clients pass over nodes in the same order, also those that do not list a node that is missing.
template <class Serves>
std::optional<unsigned> queue_registry::first_node(redis::lock_key const& key, core::node_set without,
                                                   Serves serves) const
{
    auto const names = std::views::iota(0U, nodes_.size()) |
                       std::views::transform([this](unsigned node) { return shared_name(node); });
    while (without != nodes_.all()) {
        unsigned const node = core::rendezvous_node(names, key.prefix, key.name, without);
        if (serves(node))
            return node;
        without.insert(node);
    }
    return std::nullopt;
}

// rule Q17
std::optional<unsigned> queue_registry::node_of(lock_descriptor const& lock, key_state const& name,
                                                core::node_set without)
{
    return first_node(name.key(), without, [&](unsigned node) {
        connection_state const& known = of(node);
        bool const refuses = known.refused || known.closed.contains(name.name());
        return !refuses && !nodes_.is_quarantined(node, lock) && nodes_.at(node).ensure_can_send_now();
    });
}

// rules W3 and Q10
std::optional<unsigned> queue_registry::meeting_node(lock_descriptor const& lock, core::node_set without)
{
    key_state const& name = lock.key->awaited();
    if (auto const node = node_of(lock, name, without))
        return node;
    return first_node(name.key(), without, [&](unsigned node) {
        return nodes_.at(node).state() == node_state::ready && !nodes_.is_quarantined(node, lock);
    });
}

// rule Q3
std::string const& queue_registry::channel(unsigned node)
{
    std::string& mine = of(node).channel;
    if (mine.empty()) {
        auto const random = environment_.fresh_nonce();
        std::string drawn = environment_.settings().key_prefix;
        mine = std::move(drawn.append(kind::channel_name).append(random.text()));
    }
    nodes_.at(node).subscribe(mine);
    return mine;
}

// rule Q23
void queue_registry::refused(unsigned node, key_state const& name, redis::resp_node const& why)
{
    constexpr std::size_t most_closed = 1024; // a lock that is not noted asks once more
    nodes_.note_minor_refusal(node, "queue", why);
    connection_state& its = of(node);
    if (!its.refused && its.closed.empty())
        its.asked_again_at = environment_.loop().now() + core::position_timing::refresh;
    if (!redis::is_about_keys(why.text)) {
        auto const error = redis::classify(why.text);
        if (error == server_error::noperm || error == server_error::unknown_command ||
            error == server_error::oom)
            its.refused = error;
        return;
    }
    if (its.closed.size() == most_closed)
        its.closed.clear();
    core::if_memory_allows([&] { its.closed.insert(name.name()); });
}

void queue_registry::have_memory(core::node_set nodes)
{
    for (unsigned node = 0; node != nodes_.size(); ++node)
        if (nodes.contains(node) && of(node).refused == server_error::oom)
            of(node).refused.reset();
}

bool queue_registry::stands(unsigned node, std::uint32_t connection, bool polls)
{
    connection_state const& known = of(node);
    bool const reached = polls || (nodes_.at(node).subscribed() && may_call(node));
    return known.connection == connection && !known.refused && reached;
}

/// Forgets what is known of another connection, and refusals of long ago: a right may have been given since.
queue_registry::connection_state& queue_registry::of(unsigned node)
{
    connection_state& known = connections_[node];
    if (std::uint32_t const present = nodes_.at(node).connection(); known.connection != present)
        known = {.connection = present};
    if (core::reached(known.asked_again_at, environment_.loop().now())) {
        known.refused.reset();
        known.closed.clear();
    }
    return known;
}

/// A called waiter that does not wait any more has told the node: that message is on its way (rule Q12).
// rule Q3
void queue_registry::on_message(unsigned, std::string_view text)
{
    auto const call = kind::read_call(text);
    if (!call)
        return;
    auto const one = waiting_.find(call->nonce);
    if (one != waiting_.end())
        one->on_call(*call);
}

} // namespace redlock::detail
