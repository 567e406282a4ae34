#pragma once

#include "core/tally.hpp"
#include "engine/environment.hpp"
#include "engine/lock_state.hpp"
#include "engine/node_group.hpp"
#include "kind/line.hpp"
#include "redis/resp.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/list_hook.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// Who stands in line, and is called there.
class line_waiter {
public:
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> place;

    [[nodiscard]] virtual std::string_view name() const = 0; ///< its nonce
    virtual void on_call(kind::call const&) = 0;

protected:
    ~line_waiter() = default;
};

/// Where this client's operations stand in line, and on which channels they are called: one for each connection, so that
/// their places end with it (docs/protocol.md, rules L2 and L11).
class lines final : private message_listener {
public:
    lines(environment&, node_group&);

    /// Where those who wait for the lock stand, but for these nodes: the first in the ring that can be asked, votes for it,
    /// and lets this client stand in line.
    [[nodiscard]] std::optional<unsigned> node_of(lock_state const&, core::node_set without);
    /// What this connection is called on: it subscribes first. Only when the node is ready.
    /// \throws std::bad_alloc, std::runtime_error no randomness
    [[nodiscard]] std::string const& channel(unsigned node);
    /// Does that connection still stand, and is it called?
    [[nodiscard]] bool stands(unsigned node, std::string_view channel) const
    {
        return channels_[node] == channel && !refused_.contains(node);
    }
    void enter(line_waiter& one) { waiting_.push_back(one); }
    /// What it was told the node has refused: where a right is missing, until it is connected again.
    void refused(unsigned node, redis::resp_node const& why);

    /// A node became usable, or certainly unusable.
    void nodes_changed();

private:
    void on_message(unsigned node, std::string_view text) override;
    void on_subscription_refused(unsigned node) override { refused_.insert(node); }

    environment& environment_;
    node_group& nodes_;
    std::vector<std::string> channels_; ///< empty: none yet in this connection
    core::node_set refused_;
    boost::intrusive::list<
        line_waiter,
        boost::intrusive::member_hook<line_waiter, decltype(line_waiter::place), &line_waiter::place>,
        boost::intrusive::constant_time_size<false>>
        waiting_;
};

} // namespace redlock::detail
