// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/wish_fixture.hpp"
#include "core/rendezvous.hpp"
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

using slots = std::vector<std::uint16_t>;

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
    static slots of(wish const& one) { return {one.held.permits().begin(), one.held.permits().end()}; }
    std::size_t where_all_meet() const { return core::rendezvous_node(settings.nodes, "", "seat"); }
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
    /// It finds that most are free, and asks all nodes at once from then on (rule P6).
    void get_to_know(contender& by, unsigned permits)
    {
        for (unsigned i = 0; i != std::min(permits, 16U) + 2; ++i)
            BOOST_TEST_REQUIRE(want_some(by, permits)->held.valid());
        pass(100ms);
    }
    /// On this node somebody has that slot for a while.
    void occupy_slot(std::size_t n, std::string const& slot, std::string const& milliseconds = "60000")
    {
        say(n, {"EVAL", std::string(redis::scripts::slots_vote.text), "3", "seat", "seat:redlock-slots",
                "seat:redlock-slot-line", std::string(32, 'f'), milliseconds, "1024", slot, "1", "0", ""});
    }
    void check_that_nothing_is_left()
    {
        pass(1s);
        auto left = keys();
        left.erase("redlock-marker");
        left.erase("seat:redlock-slot-fences");
        BOOST_TEST(left.empty());
    }
};

} // namespace redlock::test
