// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/tally.hpp"
#include "engine/environment.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/node_group.hpp"
#include "kind/queue.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include <redlock/server_error.hpp>

#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A waiter in a queue, which is called there.
class queued_waiter {
public:
    boost::intrusive::set_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> hook;

    [[nodiscard]] virtual std::string_view nonce_text() const = 0; ///< its nonce
    virtual void on_call(kind::call const&) = 0;

protected:
    ~queued_waiter() = default;
};

/// The queues in which this client's operations wait, and the channels on which they are called: one for each connection,
/// so that positions end with their connection (docs/protocol.md, rules Q3 and Q17).
class queue_registry final : private message_listener {
public:
    queue_registry(environment&, node_group&);

    /// Returns the queue node of the lock under this name, besides these nodes: the first by weight that can be asked, votes
    /// for the lock, and permits the queue.
    [[nodiscard]] std::optional<unsigned> node_of(lock_descriptor const&, key_state const& name,
                                                  core::node_set without);
    /// Returns the node where other clients may wait for the lock, also if this client cannot be queued anywhere. Several names
    /// meet at the node of the one that was in the way last.
    [[nodiscard]] std::optional<unsigned> meeting_node(lock_descriptor const&, core::node_set without = {});
    /// Can waiters be called there, and told of changes?
    // rule Q18
    [[nodiscard]] bool may_call(unsigned node)
    {
        return nodes_.at(node).may_subscribe() && nodes_.at(node).may_track();
    }
    /// Returns the channel of the present connection, and subscribes the connection to this channel. The node must be ready, and
    /// must be able to call.
    /// \throws std::bad_alloc, std::runtime_error no randomness
    [[nodiscard]] std::string const& channel(unsigned node);
    /// Does a position still stand, and can it be called, if it does not poll?
    // rule Q17
    [[nodiscard]] bool stands(unsigned node, std::uint32_t connection, bool polls);
    void enter(queued_waiter& one) { waiting_.insert(one); }
    /// The node has refused a queue command. This client does not use the node's queues for a while. If only this lock's keys
    /// are forbidden, only this lock avoids the node's queues.
    void refused(unsigned node, key_state const& name, redis::resp_node const& why);
    /// Notes that these nodes refused a plain vote because others hold the lock, and not for want of memory.
    void have_memory(core::node_set nodes);

private:
    void on_message(unsigned node, std::string_view text) override;
    struct connection_state {
        std::uint32_t connection = 0;
        std::string channel{}; ///< empty: none yet
        std::optional<server_error> refused{};
        std::set<std::string, std::less<>> closed{}; ///< locks whose queue the user may not use
        core::instant asked_again_at{};              ///< if the node refused a queue command
    };
    struct by_nonce {
        using type = std::string_view;
        type operator()(queued_waiter const& one) const { return one.nonce_text(); }
    };

    [[nodiscard]] connection_state& of(unsigned node);
    [[nodiscard]] std::string_view shared_name(unsigned node) const;
    template <class Serves>
    [[nodiscard]] std::optional<unsigned> first_node(redis::lock_key const&, core::node_set without,
                                                     Serves) const;

    environment& environment_;
    node_group& nodes_;
    std::vector<connection_state> connections_;
    boost::intrusive::set<
        queued_waiter,
        boost::intrusive::member_hook<queued_waiter, decltype(queued_waiter::hook), &queued_waiter::hook>,
        boost::intrusive::key_of_value<by_nonce>, boost::intrusive::constant_time_size<false>>
        waiting_;
};

} // namespace redlock::detail
