// SPDX-License-Identifier: BSL-1.0
#include "processes.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>

#include <unistd.h>

#include <cstdint>

using namespace redlock;
using namespace redlock::test;

namespace {

void compete(std::vector<std::string> const& urls, journal const& log, int rounds)
{
    asio::io_context context;
    client locks(context.get_executor(), patient(urls));
    auto const me = std::to_string(::getpid());
    test::run(context, [&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", long_lived);
        for (int i = 0; i != rounds; ++i) {
            lease held = co_await lock.acquire();
            log.append("enter " + me);
            co_await asio::post(context, asio::use_awaitable);
            log.append("leave " + me);
            co_await held.release();
        }
    });
}

/// Every entry is followed by the same process's leaving.
void check_exclusion(std::vector<std::string> const& lines)
{
    BOOST_TEST(lines.size() % 2 == 0U);
    for (std::size_t i = 0; i + 1 < lines.size(); i += 2) {
        BOOST_REQUIRE(lines[i].starts_with("enter "));
        BOOST_REQUIRE(lines[i + 1] == "leave " + lines[i].substr(6));
    }
}

/// Many coroutines of one process, with tokens; a holder that is killed is succeeded after two seconds.
void compete_in_crowds(std::vector<std::string> const& urls, journal const& log, std::size_t crowd,
                       int rounds)
{
    asio::io_context context;
    client locks(context.get_executor(), patient(urls));
    lock_options options{.ttl = 2s, .node_timeout = 1s};
    options.handover.batch = 4;
    std::size_t done = 0;
    auto const one = [&]() -> asio::awaitable<void> {
        fenced_mutex lock(locks, "lock", options);
        for (int i = 0; i != rounds; ++i) {
            lease held = co_await lock.acquire();
            log.append("enter " + std::to_string(held.fencing_token()));
            co_await asio::post(context, asio::use_awaitable);
            log.append("leave " + std::to_string(held.fencing_token()));
            error_code ignored; // the last votes of a killed server may be missing
            co_await held.release(asio::redirect_error(asio::use_awaitable, ignored));
        }
        ++done;
    };
    for (std::size_t i = 0; i != crowd; ++i)
        asio::co_spawn(context, one(), [](std::exception_ptr e) {
            if (e)
                std::rethrow_exception(e);
        });
    test::run_until(context, [&] { return done == crowd; });
}

/// Tokens grow, and nobody enters before the last one has left, unless that one was killed.
void check_order(std::vector<std::string> const& lines, std::size_t killed)
{
    std::uint64_t inside = 0;
    std::uint64_t highest = 0;
    std::size_t never_left = 0;
    for (auto const& line : lines) {
        std::uint64_t const token = std::stoull(line.substr(6));
        if (line.starts_with("enter ")) {
            BOOST_TEST(token > highest);
            never_left += inside != 0 ? 1U : 0U;
            inside = highest = token;
        } else {
            BOOST_TEST(token == inside);
            inside = 0;
        }
    }
    BOOST_TEST(never_left <= killed);
}

} // namespace

BOOST_AUTO_TEST_SUITE(processes)

BOOST_AUTO_TEST_CASE(processes_exclude_each_other)
{
    constexpr int rounds = 60;
    constexpr std::size_t contenders = 3;
    server_group servers(3);
    auto const urls = servers.urls();
    journal log;
    std::vector<child> all;
    for (std::size_t i = 0; i != contenders; ++i)
        all.emplace_back([&] { compete(urls, log, rounds); });
    for (child& one : all)
        BOOST_TEST(one.join());
    auto const lines = log.lines();
    BOOST_TEST(lines.size() == 2 * contenders * rounds);
    check_exclusion(lines);
}

/// Sixteen processes of sixteen coroutines; three of them and one server are killed on the way.
// rule W3
BOOST_AUTO_TEST_CASE(crowds_of_processes_exclude_each_other_when_some_die)
{
    constexpr std::size_t crowds = 16;
    constexpr std::size_t victims = 3;
    constexpr int rounds = 3;
    server_group servers(3);
    auto const urls = servers.urls();
    journal log;
    std::vector<child> all;
    for (std::size_t i = 0; i != crowds; ++i)
        all.emplace_back([&] { compete_in_crowds(urls, log, crowds, rounds); });
    for (std::size_t i = 0; i != victims; ++i) {
        wait_until([&] { return log.lines().size() > 100 * (i + 1); });
        all[i].kill();
    }
    servers[1].kill();
    for (std::size_t i = victims; i != crowds; ++i)
        BOOST_TEST(all[i].join());
    auto const lines = log.lines();
    BOOST_TEST(lines.size() >= 2 * (crowds - victims) * crowds * rounds);
    check_order(lines, victims);
}

BOOST_AUTO_TEST_CASE(process_gets_lock_of_killed_holder)
{
    server_group servers(3);
    auto const urls = servers.urls();
    journal log;
    child holder([&] {
        asio::io_context context;
        client locks(context.get_executor(), patient(urls));
        mutex lock(locks, "lock", {.ttl = 2s, .slack = 0ms, .node_timeout = 1s});
        lease held;
        lock.acquire([&](error_code, lease granted) {
            held = std::move(granted);
            log.append(std::string(held.nonce()));
        });
        context.run(); // renews until the end
    });
    wait_until([&] { return log.lines().size() == 1; });
    holder.kill();
    auto const dead = log.lines()[0];

    asio::io_context context;
    client locks(context.get_executor(), patient(urls));
    test::run(context, [&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", long_lived);
        lease held = co_await lock.acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST(held.nonce() != dead);
        co_await held.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()
