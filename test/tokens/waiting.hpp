// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "integration/cluster.hpp"

#include <exception>

namespace redlock::test {

/// Returns the error of a coroutine.
inline error_code code_of(std::exception_ptr const& failure)
{
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (boost::system::system_error const& e) {
        return e.code();
    }
    return {};
}

/// A lock that another client holds, so that an acquisition waits until it is cancelled.
struct waiting {
    cluster nodes{3};
    mutex lock = nodes.lock();
    lease held;

    waiting() // Clang 16 finds no source location where a member is initialised
        : held(nodes.run([this] { return nodes.held_everywhere(lock); }))
    {}

    /// Runs until an acquisition waits for the holder.
    void until_waiting(std::size_t count = 1)
    {
        nodes.run_until([&] { return lock.waiting() == count; });
    }

    /// Checks that a cancelled waiter has left nothing, neither in the queue nor on a server.
    void must_have_left_nothing()
    {
        BOOST_TEST(lock.waiting() == 0U);
        nodes.run([this] { return held.release(asio::use_awaitable); });
        nodes.run_until([&] { return nodes.no_keys(); });
    }
};

} // namespace redlock::test
