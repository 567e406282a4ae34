// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/queue_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace redlock::test {

/// Clients with any locks, each operation with a result of its own.
struct wish_fixture : queue_fixture {
    using queue_fixture::queue_fixture;

    /// One operation and what it comes to.
    struct wish {
        std::optional<error_code> ended;
        lease held;
        asio::cancellation_signal stop;
    };

    static auto into(wish& one)
    {
        return asio::bind_cancellation_slot(one.stop.slot(), [&one](error_code ec, lease got) {
            one.ended = ec;
            one.held = std::move(got);
        });
    }
    template <class Lock>
    std::unique_ptr<wish> begin_to_want(Lock lock)
    {
        auto made = std::make_unique<wish>();
        lock.acquire(into(*made));
        return made;
    }
    template <class Lock>
    std::unique_ptr<wish> begin_to_want_for(Lock lock, std::chrono::milliseconds limit)
    {
        auto made = std::make_unique<wish>();
        lock.acquire_for(limit, into(*made));
        return made;
    }
    template <class Lock>
    std::unique_ptr<wish> begin_to_try(Lock lock)
    {
        auto made = std::make_unique<wish>();
        lock.try_acquire(into(*made));
        return made;
    }
    template <class Lock>
    std::unique_ptr<wish> want(Lock lock)
    {
        auto made = begin_to_want(std::move(lock));
        pass(100ms);
        return made;
    }
    template <class Lock>
    error_code try_once(Lock lock)
    {
        std::optional<error_code> result;
        lock.try_acquire([&](error_code ec, lease) { result = ec; });
        pass(1s);
        BOOST_TEST_REQUIRE(result.has_value());
        return *result;
    }
    /// On each node.
    std::set<std::string> keys()
    {
        std::set<std::string> found;
        for (std::size_t n = 0; n != net.size(); ++n)
            for (auto const& [key, value] : net.at(n).redis.keys().all())
                found.insert(key);
        return found;
    }
};

} // namespace redlock::test
