// SPDX-License-Identifier: BSL-1.0
// Permits of a semaphore on real servers (docs/protocol.md, rules P1 to P10).
#include "cluster.hpp"
#include <redlock/fenced_semaphore.hpp>
#include <redlock/semaphore.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr unsigned pool_permits = 3;

/// Several clients, and the present owners of the permits.
struct semaphore_fixture : cluster {
    semaphore_fixture() : cluster(5)
    {
        for (auto& each : clients)
            each = std::make_unique<client>(context.get_executor(), settings);
    }

    /// The lease is valid: nobody else has one of its permits, and there are no more than that.
    void check_taken(lease const& held)
    {
        for (auto const permit : held.permits()) {
            BOOST_TEST(permit < pool_permits);
            BOOST_TEST(taken.insert(permit).second);
        }
    }
    void check_token(lease const& held)
    {
        if (held.fencing_token() == 0)
            return;
        for (auto const permit : held.permits()) {
            BOOST_TEST(held.fencing_token() > tokens[permit]);
            tokens[permit] = held.fencing_token();
        }
    }
    void give_back(lease const& held)
    {
        for (auto const permit : held.permits())
            taken.erase(permit);
    }
    template <class Lock>
    asio::awaitable<void> work(Lock pool, unsigned rounds, unsigned& ended)
    {
        for (unsigned i = 0; i != rounds; ++i) {
            lease held = co_await pool.acquire(1 + i % pool_permits, asio::use_awaitable);
            if (i % 2 == 0)
                co_await held.extend(asio::use_awaitable);
            if (!held.valid())
                continue; // its nodes fail
            check_taken(held);
            check_token(held);
            co_await asio::post(asio::use_awaitable);
            give_back(held);
            co_await held.release(asio::use_awaitable);
        }
        ++ended;
    }
    template <class Lock>
    void work_together(unsigned rounds)
    {
        unsigned ended = 0;
        unsigned started = 0;
        for (auto& each : clients)
            for (unsigned i = 0; i != 3; ++i, ++started)
                asio::co_spawn(context, work(Lock(*each, "pool", pool_permits, long_lived), rounds, ended),
                               asio::detached);
        run_until([&] { return ended == started; });
    }

    std::array<std::unique_ptr<client>, 3> clients;
    std::set<std::uint16_t> taken;
    std::array<std::uint64_t, pool_permits> tokens{};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(semaphores, semaphore_fixture)

using kinds = std::tuple<semaphore, fenced_semaphore>;
BOOST_AUTO_TEST_CASE_TEMPLATE(many_clients_share_the_permits, kind, kinds)
{
    work_together<kind>(20);
    BOOST_TEST(taken.empty());
    run_until([&] { return free_everywhere("pool"); });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(permits_are_shared_while_a_minority_is_down, kind, kinds)
{
    work_together<kind>(3);
    kill(0);
    work_together<kind>(10);
    kill(1);
    work_together<kind>(10);
}

BOOST_AUTO_TEST_CASE(plain_lock_and_permits_exclude_each_other)
{
    run([&]() -> asio::awaitable<void> {
        mutex whole(*clients[0], "pool", long_lived);
        semaphore pool(*clients[1], "pool", pool_permits, long_lived);
        lease one = co_await pool.acquire();
        BOOST_TEST(co_await error_of(whole.try_acquire(asio::use_awaitable)) == errc::contended);
        inspection const seen = co_await whole.inspect(asio::use_awaitable);
        BOOST_TEST((seen.holder == holder_kind::permits));
        co_await one.release();
        lease all = co_await whole.acquire();
        BOOST_TEST(co_await error_of(pool.try_acquire(asio::use_awaitable)) == errc::contended);
        co_await all.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()
