// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/any_lock.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_operations.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/async_result.hpp>

namespace redlock {

/// A lock of any kind with one name: the nodes can be asked who holds it. All locks derive from it except `multi_mutex`
/// and `fenced_multi_mutex`.
class REDLOCK_EXPORT inspectable_lock : public any_lock {
public:
    /// Asks every node who holds the lock there, and for how much longer. It takes no lock, changes nothing on the nodes,
    /// and waits for no other operation. This client may hold the lock or wait for it at the same time. The result is a
    /// snapshot: it was true when the nodes answered, and promises nothing.
    ///
    /// It completes when every node has answered or failed, or after the per-node timeout. If no majority is connected
    /// yet, the timeout starts when a majority has answered, at the latest after `reconnect.connect_timeout`.
    /// Quarantined nodes are asked. Nodes that may not vote at all are not asked. The user needs the right to GET.
    /// Without the right to PTTL the times are not known.
    /// \par Completion signature
    /// `void(boost::system::error_code, redlock::inspection)`, on the token's associated executor, never inside the
    /// initiating call
    /// \par Errors
    /// `errc::no_quorum`: too few nodes answered to tell. `inspection::node_table` is complete, and `status` is `unknown`.
    /// With other errors the inspection is empty: `errc::shut_down`, `errc::forked`, and without memory the same as
    /// `acquire`.
    /// \par Cancellation
    /// terminal, partial, total: at once. Nothing is left behind.
    /// \par Thread safety and lifetime
    /// May be started from any thread. The client must outlive the operation.
    template <boost::asio::completion_token_for<detail::inspection_signature> Token = default_token>
    [[nodiscard]] auto inspect(Token&& token = {}) const
    {
        return boost::asio::async_initiate<Token, detail::inspection_signature>(
            detail::start_inspect{state()}, token);
    }

protected:
    /// \cond
    using any_lock::any_lock;
    /// \endcond
};

} // namespace redlock
