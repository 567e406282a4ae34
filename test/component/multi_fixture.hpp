#pragma once

#include "component/line_fixture.hpp"
#include <redlock/fenced_multi_mutex.hpp>
#include <redlock/multi_mutex.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

using names = std::vector<std::string>;

/// Clients that want several locks at once, and others that want one of them.
struct multi_fixture : line_fixture {
    /// One operation and what it comes to.
    struct wish {
        std::optional<error_code> ended;
        lease held;
        asio::cancellation_signal stop;
    };

    template <class Lock>
    std::unique_ptr<wish> want(Lock lock)
    {
        auto made = std::make_unique<wish>();
        lock.acquire(
            asio::bind_cancellation_slot(made->stop.slot(), [one = made.get()](error_code ec, lease got) {
                one->ended = ec;
                one->held = std::move(got);
            }));
        pass(100ms);
        return made;
    }
    std::unique_ptr<wish> want_all(contender& by, names which)
    {
        return want(multi_mutex(*by.locks, std::move(which), options));
    }
    std::unique_ptr<wish> want_one(contender& by, std::string const& name)
    {
        return want(mutex(*by.locks, name, options));
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
    error_code try_all(contender& by, names which)
    {
        return try_once(multi_mutex(*by.locks, std::move(which), options));
    }
    error_code try_one(contender& by, std::string const& name)
    {
        return try_once(mutex(*by.locks, name, options));
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
    /// What looks at them does not run any more.
    void forbid_lines()
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).redis.is.forbidden.insert("exists");
    }
    std::size_t nodes_with(std::string const& key, std::string_view owner)
    {
        std::size_t found = 0;
        for (std::size_t n = 0; n != net.size(); ++n)
            if (auto const there = on(n, key))
                found += there->text == owner ? 1 : 0;
        return found;
    }
};

} // namespace redlock::test
