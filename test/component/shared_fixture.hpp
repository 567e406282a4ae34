// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/queue_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace redlock::test {

/// The release, and the vote of the waiter that it wakes.
inline constexpr duration hand_over = 3 * round_trip + a_tick + 2ms;
struct shared_fixture : queue_fixture {
    shared_fixture() { options.fair = true; }

    contender& add_reader()
    {
        contender& one = add();
        one.read();
        (void)until_granted(one);
        return one;
    }
    std::size_t members(std::size_t node)
    {
        auto const found = on(node, "seat");
        return found ? found->members.size() : 0;
    }
    /// By a reader that may hold it for this long.
    lease read_for(contender& by, std::chrono::milliseconds longest)
    {
        lock_options brief = options;
        brief.max_hold = longest;
        lease held;
        shared_mutex(*by.locks, "seat", brief).acquire_shared([&](error_code, lease got) {
            held = std::move(got);
        });
        (void)until([&] { return held.valid(); });
        return held;
    }
    /// All of one client, at once.
    std::vector<lease> read_often(contender& by, std::size_t times)
    {
        std::vector<lease> held(times);
        for (lease& each : held)
            by.shared->acquire_shared([&each](error_code ec, lease got) {
                BOOST_TEST(ec == error_code());
                each = std::move(got);
            });
        pass(100ms);
        return held;
    }
};

inline bool all_valid(std::vector<lease> const& some)
{
    return std::ranges::all_of(some, [](lease const& each) { return each.valid(); });
}

} // namespace redlock::test
