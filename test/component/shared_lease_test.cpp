// SPDX-License-Identifier: BSL-1.0
// One lease with several owners.
#include "component/shared_fixture.hpp"
#include <redlock/shared_lease.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

struct hands_fixture : shared_fixture {
    shared_lease hold()
    {
        contender& one = add();
        one.acquire();
        (void)until_granted(one);
        return std::move(one.held).share();
    }
    std::optional<error_code> give_back(shared_lease& copy)
    {
        std::optional<error_code> result;
        copy.release([&](error_code ec) { result = ec; });
        BOOST_TEST(copy.empty());
        pass(10ms);
        return result;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(shared_leases, hands_fixture)

BOOST_AUTO_TEST_CASE(lease_is_released_with_its_last_copy)
{
    shared_lease one = hold();
    BOOST_TEST(all.front()->held.empty());
    {
        shared_lease const other = one;
        BOOST_TEST(&*other == &*one);
        one = {};
        pass(30s);
        BOOST_TEST(other->valid());
        BOOST_TEST(other->resource() == "seat");
    }
    pass(10ms);
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(release_waits_for_the_nodes_with_the_last_copy)
{
    shared_lease one = hold();
    shared_lease other = one;
    std::size_t const before = commands;
    BOOST_TEST((give_back(one) == error_code()));
    BOOST_TEST(commands == before);
    BOOST_TEST(other->valid());
    BOOST_TEST((give_back(other) == error_code()));
    BOOST_TEST(commands > before);
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(release_of_an_empty_copy_is_an_error)
{
    asio::io_context context;
    std::optional<error_code> result;
    shared_lease().release(asio::bind_executor(context, [&](error_code ec) { result = ec; }));
    BOOST_TEST(!result.has_value());
    context.run();
    BOOST_TEST((result == errc::empty_lease));
}

BOOST_AUTO_TEST_CASE(each_copy_is_told_of_the_loss)
{
    options.ttl = 3s;
    std::vector<shared_lease> const copies(3, hold());
    std::size_t told = 0;
    for (shared_lease const& each : copies)
        each->ended([&](error_code, lease_end end) { told += end == lease_end::lost ? 1U : 0U; });
    say_everywhere({"DEL", "seat"});
    copies[1]->extend([](error_code) {});
    pass(10ms);
    BOOST_TEST(told == copies.size());
}

BOOST_AUTO_TEST_CASE(copy_whose_release_is_never_started_goes_with_it)
{
    shared_lease one = hold();
    {
        auto const lazy = one.release(asio::deferred);
        pass(1s);
        BOOST_TEST(on(0, "seat").has_value());
    }
    pass(10ms);
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(empty_copy_is_of_an_empty_lease)
{
    shared_lease const none;
    BOOST_TEST(none.empty());
    BOOST_TEST(none->empty());
    BOOST_TEST(!none->valid());
    BOOST_TEST(lease().share().empty());
    shared_lease const another = none;
    BOOST_TEST(another.empty());
}

/// Under the sanitizer of threads.
BOOST_AUTO_TEST_CASE(copies_come_and_go_on_many_threads)
{
    shared_lease one = hold();
    asio::thread_pool threads(2);
    for (int i = 0; i != 100; ++i)
        asio::post(threads, [copy = one] { shared_lease const again = copy; });
    threads.join();
    BOOST_TEST(one->valid());
    BOOST_TEST((give_back(one) == error_code()));
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
