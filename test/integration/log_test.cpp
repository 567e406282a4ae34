// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Nothing else looks like it.
std::string const unlogged = "Xyzzy-Plugh";

struct written { // outlives the context, which still ends a client when the test is over
    std::ostringstream out;
    unsigned tried = 0;
};

struct log_fixture : written, cluster {
    explicit log_fixture(redis_server_options const& options = {}) : cluster(3, {}, options) {}

    config logged(log_level level = log_level::info)
    {
        config with = settings;
        with.observer = log_to(out, {.level = level, .timestamps = false});
        return with;
    }
    [[nodiscard]] std::size_t lines() const
    {
        std::string const text = out.str();
        return static_cast<std::size_t>(std::ranges::count(text, '\n'));
    }
};

struct acl_log_fixture : log_fixture {
    acl_log_fixture() : log_fixture({.password = unlogged}) {}

    void use(config const& with, std::string const& name)
    {
        client here(context.get_executor(), with);
        run([&]() -> asio::awaitable<void> {
            error_code ec;
            lease const got = co_await mutex(here, name, long_lived)
                                  .try_acquire(asio::redirect_error(asio::use_awaitable, ec));
        });
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(log_lines)

BOOST_FIXTURE_TEST_CASE(log_of_healthy_program_has_one_line_per_node, log_fixture)
{
    client here(context.get_executor(), logged());
    run([&]() -> asio::awaitable<void> {
        for (int i = 0; i != 3; ++i) {
            lease held = co_await mutex(here, "seat", long_lived).acquire();
            co_await until([&] { return held.votes() == 3; });
            co_await held.extend();
            co_await held.release();
        }
    });
    BOOST_TEST(lines() == 3U, out.str());
    for (auto const& url : urls())
        BOOST_TEST(contains(out.str(), "redlock info: " + url + " ready\n"), out.str());
}

BOOST_FIXTURE_TEST_CASE(log_of_waiting_for_quarantine_says_why_and_until_when, log_fixture)
{
    config with = logged(log_level::warning);
    with.admission.assume_fresh = false;
    client here(context.get_executor(), with);
    run([&]() -> asio::awaitable<void> {
        mutex(here, "seat", long_lived).acquire([](error_code, lease) {});
        co_await until([&] { return contains(out.str(), "waits: "); });
        co_await here.shutdown();
    });
    BOOST_TEST(contains(out.str(), urls()[0] + " quarantined: started "), out.str());
    BOOST_TEST(contains(out.str(), "redlock warning: 'seat' waits: 3 of 3 nodes quarantined, a majority may "
                                   "vote in "),
               out.str());
}

BOOST_FIXTURE_TEST_CASE(log_contains_no_password_at_any_level, acl_log_fixture)
{
    config with = logged(log_level::debug);
    with.password = unlogged;
    use(with, "seat");
    with.password.clear();
    for (std::string& url : with.nodes)
        url.insert(url.find("://") + 3, ":" + unlogged + '@');
    use(with, "seat");
    BOOST_TEST(contains(out.str(), "acquired")); // somebody got in
    for (std::string& url : with.nodes)
        url.insert(url.find('@'), "-not"); // a wrong one
    use(with, "seat");
    BOOST_TEST(contains(out.str(), "WRONGPASS"), out.str());
    BOOST_TEST(!contains(out.str(), unlogged), out.str());
    BOOST_TEST(!contains(out.str(), "Plugh"), out.str());
}

/// The lease is renewed and released as if there was no log.
BOOST_FIXTURE_TEST_CASE(log_that_throws_costs_no_lease, log_fixture)
{
    config with = settings;
    with.observer = log_to(
        [this](log_level, std::string_view) {
            ++tried;
            throw std::runtime_error("disk full");
        },
        {.level = log_level::debug});
    client here(context.get_executor(), with);
    run([&]() -> asio::awaitable<void> {
        lease held = co_await mutex(here, "seat", long_lived).acquire();
        co_await held.extend();
        BOOST_TEST(held.valid());
        co_await held.release();
        co_await until([&] { return no_keys(); });
    });
    BOOST_TEST(tried > 6U);
}

BOOST_AUTO_TEST_SUITE_END()
