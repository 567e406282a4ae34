// SPDX-License-Identifier: BSL-1.0
// A waiter is told if its own client has the lock: the client cannot know that of other clients.
#include "component/wish_fixture.hpp"
#include <redlock/semaphore.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::test {

namespace {

struct held_here_fixture : wish_fixture {
    semaphore pool(contender& by, unsigned count)
    {
        return semaphore(*by.locks, "seat", 2, options).taking(count);
    }
    /// Returns the common value of all refusals and positions since the last call.
    static bool is_held_here(contender& by)
    {
        auto const told = std::exchange(by.told->held_here, {});
        BOOST_TEST_REQUIRE(!told.empty());
        BOOST_TEST(std::ranges::count(told, told.front()) == std::ssize(told));
        return told.front();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(held_here, held_here_fixture)

BOOST_AUTO_TEST_CASE(waiter_for_permits_is_told_whether_its_client_has_some)
{
    contender& one = add();
    contender& other = add();
    auto const first = want(pool(one, 1));
    auto second = want(pool(one, 1));
    BOOST_TEST_REQUIRE((first->held.valid() && second->held.valid()));
    one.told->held_here.clear();
    second->held = {};
    auto const both = want(pool(one, 2)); // one of the two is still taken, by its own client
    BOOST_TEST(is_held_here(one));
    auto const stranger = want(pool(other, 2));
    BOOST_TEST(!is_held_here(other));
    both->stop.emit(asio::cancellation_type::terminal);
    first->held = {};
    (void)until([&] { return stranger->held.valid(); });
    one.told->held_here.clear();
    auto const late = want(pool(one, 1));
    BOOST_TEST(!late->held.valid());
    BOOST_TEST(!is_held_here(one));
}

BOOST_AUTO_TEST_CASE(writer_is_told_whether_its_client_reads)
{
    contender& one = add();
    contender& other = add();
    one.read();
    (void)until_granted(one);
    auto const writer = want(*one.shared);
    BOOST_TEST(is_held_here(one));
    other.write();
    pass(100ms);
    BOOST_TEST(!is_held_here(other));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
