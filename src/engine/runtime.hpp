// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "engine/attempt_limit.hpp"
#include "engine/block_cache.hpp"
#include "engine/configuration.hpp"
#include "engine/environment.hpp"
#include "engine/lifecycle.hpp"
#include "engine/node_group.hpp"
#include "engine/queue_registry.hpp"
#include "engine/release_backlog.hpp"
#include "engine/rollback.hpp"
#include "kind/queue.hpp"
#include "net/executor.hpp"
#include "net/loop.hpp"
#include "net/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace redlock::detail {

/// The services for attempts and leases of one client.
class runtime {
public:
    /// \param lease_size of the blocks for leases
    runtime(net::any_io_executor executor, client_settings settings, std::shared_ptr<net::machine> on,
            group_listener& listener, net::task& closer, std::size_t lease_size)
        : its(std::move(executor), std::move(settings), std::move(on)), nodes(its, listener), backlog(nodes),
          life(its.loop(), nodes, backlog, closer), rollbacks(its, nodes, backlog, life),
          registry(its, nodes), lease_blocks(lease_size), limit(its.loop())
    {}

    [[nodiscard]] net::loop& loop() { return its.loop(); }

    /// Smoothed time from asking to being granted or refused: the unit of back-off.
    [[nodiscard]] core::duration round_trip() const { return round_trip_; }
    void measured(core::duration sample)
    {
        bool const first = round_trip_ == core::duration::zero();
        round_trip_ = first ? sample : round_trip_ + (sample - round_trip_) / 8;
    }
    /// How long a lock is left free so that other clients can hear of it and ask for it.
    [[nodiscard]] core::duration open_window_length() const
    {
        return std::max<core::duration>(3 * round_trip_, std::chrono::milliseconds{2});
    }

    /// How long the answer of a node that is asked before the others is awaited.
    [[nodiscard]] core::duration first_answer_timeout(core::duration node_timeout) const
    {
        return std::min(std::max<core::duration>(2 * round_trip_, std::chrono::milliseconds{2}),
                        node_timeout);
    }
    /// How long a lock is kept for the waiter that it is handed to, and an answer of the queue node is awaited.
    // rule Q16
    [[nodiscard]] std::chrono::milliseconds claim_window(unsigned queue_node, core::duration node_timeout)
    {
        auto const window = std::max<core::duration>(
            {8 * round_trip_, 2 * nodes.at(queue_node).round_trip(), std::chrono::milliseconds{50}});
        return std::min(std::chrono::ceil<std::chrono::milliseconds>(std::min(window, node_timeout)),
                        kind::longest_window);
    }
    /// How soon the first position asks again if its waiter polls (rule Q18).
    [[nodiscard]] core::duration poll_pause() const
    {
        return std::max<core::duration>(2 * round_trip_, std::chrono::milliseconds{5});
    }

    environment its;
    node_group nodes;
    release_backlog backlog;
    lifecycle life;
    cleanup rollbacks;
    queue_registry registry;
    block_cache lease_blocks; ///< any thread
    attempt_limit limit;

private:
    core::duration round_trip_{};
};

} // namespace redlock::detail
