#pragma once

#include "cluster.hpp"

#include <boost/asio/redirect_error.hpp>

#include <cstddef>

/// What the tests of admission share.
namespace redlock::test {

inline node_status status(client const& locks, std::size_t node)
{
    return locks.nodes().at(node);
}

inline bool in_state(client const& locks, std::size_t node, node_state state)
{
    return status(locks, node).state == state;
}

inline asio::awaitable<error_code> attempt_once(any_lock lock)
{
    error_code ec;
    lease const held = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    co_return ec;
}

} // namespace redlock::test
