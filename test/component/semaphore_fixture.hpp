// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/meeting_node.hpp"
#include "component/wish_fixture.hpp"
#include "redis/scripts.hpp"
#include <redlock/semaphore.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

using numbers = std::vector<std::uint16_t>;

/// Clients with permits of one name.
struct semaphore_fixture : wish_fixture {
    using wish_fixture::wish_fixture;

    semaphore pool(contender& by, unsigned permits, unsigned count = 1)
    {
        return semaphore(*by.locks, "seat", permits, options).taking(count);
    }
    std::unique_ptr<wish> want_some(contender& by, unsigned permits, unsigned count = 1)
    {
        return want(pool(by, permits, count));
    }
    static numbers of(wish const& one) { return {one.held.permits().begin(), one.held.permits().end()}; }
    std::size_t where_all_meet() { return meeting_node(net, "seat"); }
    using wishes = std::vector<std::unique_ptr<wish>>;
    /// All at the same time.
    wishes want_at_once(contender& by, unsigned permits, std::size_t how_many)
    {
        wishes made;
        while (made.size() != how_many)
            made.push_back(begin_to_want(pool(by, permits)));
        return made;
    }
    static auto held_of(wishes const& some)
    {
        return std::ranges::count_if(some, [](auto const& one) { return one->held.valid(); });
    }
    /// On this node somebody has that permit for a while.
    void occupy(std::size_t n, std::string const& permit, std::string const& milliseconds = "60000",
                std::string const& name = "seat")
    {
        std::string const somebody(32, 'f');
        say(n, {"EVAL", std::string(redis::scripts::vote.text), "2", name, name + ":redlock-queue", "p",
                somebody, milliseconds, somebody, "1", "1024", "0", permit, ""});
    }
    /// On this node, the permits of that lease.
    std::set<std::string> permits_on(std::size_t n, wish const& one)
    {
        std::set<std::string> found;
        auto const there = on(n, "seat");
        for (auto const& [permit, owner] : there ? there->hash : world::keyspace::fields())
            if (owner.starts_with(one.held.nonce()))
                found.insert(permit);
        return found;
    }
    /// On all nodes.
    std::size_t positions()
    {
        std::size_t found = 0;
        for (std::size_t n = 0; n != net.size(); ++n)
            if (auto const queue = on(n, "seat:redlock-queue"))
                found += queue->members.range(0, -1).size();
        return found;
    }
    void check_that_nothing_is_left()
    {
        pass(1s);
        auto left = keys();
        left.erase("redlock-marker");
        left.erase("seat:redlock-fences");
        BOOST_TEST(left.empty());
    }
};

} // namespace redlock::test
