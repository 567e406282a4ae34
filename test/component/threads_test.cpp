// SPDX-License-Identifier: BSL-1.0
#include "component/foreign_threads.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr int rounds = 20;

/// Acquire, look, extend, release; all from this thread, which is none of the client's.
void use_from_here(mutex lock, std::atomic<int>& inside, faults& found)
{
    for (int i = 0; i != rounds; ++i) {
        lease held = get(lock.acquire(asio::use_future));
        found.require(++inside == 1);
        found.require(held.valid() && held.remaining() > 0ns && held.votes() >= 2);
        get(held.extend(asio::use_future));
        found.require(held.state() == lease_state::held);
        found.require(--inside == 0);
        get(held.release(asio::use_future));
        found.require(!held.valid() && held.state() == lease_state::released);
    }
}

/// Two threads per name, so that they contend, and two names, so that they do not.
void contend_from_threads(asio::any_io_executor const& executor)
{
    faults found;
    client locks(executor, real_servers::get().settings());
    std::atomic<int> inside[2] = {0, 0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != 4; ++i)
        threads.emplace_back([&, i] {
            use_from_here(mutex(locks, "name" + std::to_string(i % 2), impatient()), inside[i % 2], found);
        });
    for (auto& t : threads)
        t.join();
    get(locks.shutdown(asio::use_future));
}

} // namespace

BOOST_AUTO_TEST_SUITE(threads)

BOOST_AUTO_TEST_CASE(client_on_strand_over_pool_serves_several_threads)
{
    asio::thread_pool pool(4);
    contend_from_threads(asio::make_strand(pool));
    pool.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(client_on_strand_over_context_serves_several_threads)
{
    asio::io_context context;
    runners threads(context, 3);
    contend_from_threads(asio::make_strand(context));
    threads.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(client_on_context_with_one_thread_serves_several_threads)
{
    asio::io_context context;
    runners thread(context);
    contend_from_threads(context.get_executor());
    thread.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(clients_on_one_context_per_thread_exclude_each_other)
{
    faults found;
    std::atomic<int> inside = 0;
    std::vector<std::thread> threads;
    config const settings = real_servers::get().settings();
    for (int i = 0; i != 3; ++i)
        threads.emplace_back([&] {
            asio::io_context context;
            client locks(context.get_executor(), settings);
            auto const body = [&]() -> asio::awaitable<void> {
                mutex lock(locks, "shared", impatient());
                for (int round = 0; round != rounds; ++round) {
                    lease held = co_await lock.acquire();
                    found.require(++inside == 1);
                    co_await asio::post(asio::use_awaitable);
                    found.require(--inside == 0);
                    co_await held.release();
                }
            };
            asio::co_spawn(context, body(), [&](std::exception_ptr failure) { found.require(!failure); });
            context.run_for(patience);
            found.require(context.stopped());
        });
    for (auto& t : threads)
        t.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(lease_may_be_observed_from_threads_during_renewals)
{
    faults found;
    asio::thread_pool pool(2);
    client locks(asio::make_strand(pool), real_servers::get().settings());
    lease held = get(mutex(locks, "observed", long_lived).acquire(asio::use_future));
    std::atomic<bool> over = false;
    std::vector<std::thread> watchers;
    for (int i = 0; i != 2; ++i)
        watchers.emplace_back([&] {
            while (!over) {
                found.require(held.valid() && held.state() == lease_state::held);
                found.require(held.remaining() > 5min && held.remaining() < 10min);
                found.require(held.votes() >= 2 && held.votes() <= 3);
                found.require(held.resource() == "observed" && held.nonce().size() == 32);
                (void)locks.node_table();
            }
        });
    for (int i = 0; i != 200; ++i)
        get(held.extend(asio::use_future));
    over = true;
    for (auto& w : watchers)
        w.join();
    get(held.release(asio::use_future));
    get(locks.shutdown(asio::use_future));
    pool.join();
}

BOOST_AUTO_TEST_CASE(permits_may_be_read_from_a_thread_while_the_lease_ends)
{
    faults found;
    asio::thread_pool pool(2);
    client locks(asio::make_strand(pool), real_servers::get().settings());
    for (int i = 0; i != rounds; ++i) {
        lease held = get(semaphore(locks, "observed", 2, long_lived).acquire(asio::use_future));
        std::atomic<bool> over = false;
        std::thread watcher([&] {
            while (!over)
                found.require(held.permits().size() == 1);
        });
        get(held.release(asio::use_future));
        over = true;
        watcher.join();
    }
    get(locks.shutdown(asio::use_future));
    pool.join();
}

/// Nobody has to have connected before it is read.
BOOST_AUTO_TEST_CASE(nodes_may_be_read_from_a_thread_while_they_connect_and_go)
{
    faults found;
    asio::thread_pool pool(2);
    for (int i = 0; i != rounds; ++i) {
        client locks(asio::make_strand(pool), real_servers::get().settings());
        std::atomic<bool> over = false;
        std::thread reader([&] {
            while (!over)
                found.require(locks.node_table().size() == 3);
        });
        lease held = get(mutex(locks, "connecting", impatient()).acquire(asio::use_future));
        get(held.release(asio::use_future));
        get(locks.shutdown(asio::use_future));
        over = true;
        reader.join();
    }
    pool.join();
}

BOOST_AUTO_TEST_CASE(last_attempt_may_be_read_from_a_thread_during_attempts)
{
    faults found;
    asio::thread_pool pool(2);
    client locks(asio::make_strand(pool), real_servers::get().settings());
    mutex const lock(locks, "table", long_lived);
    std::atomic<bool> over = false;
    std::thread reader([&] {
        while (!over) {
            auto const table = lock.last_attempt();
            found.require(table.empty() || table.size() == 3);
        }
    });
    for (int i = 0; i != rounds; ++i)
        get(mutex(lock).try_acquire(asio::use_future)) = {};
    over = true;
    reader.join();
    get(locks.shutdown(asio::use_future));
    pool.join();
    BOOST_TEST(real_servers::get().empty());
}

/// Leases are thrown away by other threads than the client's.
BOOST_AUTO_TEST_CASE(leases_may_be_destroyed_on_other_threads)
{
    asio::thread_pool pool(3);
    {
        client locks(asio::make_strand(pool), real_servers::get().settings());
        std::vector<std::thread> threads;
        for (int i = 0; i != 4; ++i)
            threads.emplace_back([&locks, i] {
                for (int round = 0; round != rounds; ++round)
                    lease const thrown_away =
                        get(mutex(locks, "own" + std::to_string(i), impatient()).acquire(asio::use_future));
            });
        for (auto& t : threads)
            t.join();
        get(locks.shutdown(asio::use_future));
    }
    pool.join();
    BOOST_TEST(real_servers::get().empty());
}

/// The client itself goes while operations are under way, on another thread than its executor's.
BOOST_AUTO_TEST_CASE(client_may_be_destroyed_on_another_thread)
{
    asio::thread_pool pool(3);
    for (int round = 0; round != rounds; ++round) {
        std::vector<std::future<lease>> pending;
        {
            client locks(asio::make_strand(pool), real_servers::get().settings());
            for (int i = 0; i != 4; ++i)
                pending.push_back(
                    mutex(locks, "own" + std::to_string(i), long_lived).acquire(asio::use_future));
        }
        for (auto& p : pending) {
            try {
                (void)get(std::move(p));
            } catch (boost::system::system_error const& e) {
                BOOST_TEST(e.code() == errc::shut_down);
            }
        }
    }
    pool.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_SUITE_END()
