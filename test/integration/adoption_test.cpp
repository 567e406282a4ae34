// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/use_future.hpp>

#include <future>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A detached lease.
struct left_behind {
    std::string nonce;
    std::uint64_t token;
};

/// One client leaves, and another one, with connections of its own, goes on.
struct adoption_fixture {
    cluster nodes{3};
    client second{nodes.context.get_executor(), nodes.settings};

    asio::awaitable<left_behind> leave(any_lock lock)
    {
        lease held = co_await lock.acquire();
        while (held.votes() !=
               nodes.size()) // a fenced one is not asked for where the connection comes too late
            static_cast<void>(co_await error_of(held.extend()));
        held.detach();
        co_return left_behind{std::string(held.nonce()), held.fencing_token()};
    }
    /// Neither a loss nor a confirmation is certain before enough nodes are connected.
    static asio::awaitable<error_code> decided(lease& held)
    {
        error_code said = errc::no_quorum;
        while (said == errc::no_quorum)
            said = co_await error_of(held.extend());
        co_return said;
    }
    std::size_t holders(std::string const& nonce) { return nodes.holders("lock", nonce); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(adoption, adoption_fixture)

BOOST_AUTO_TEST_CASE(detached_keys_stay_and_are_not_renewed)
{
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == nodes.size(); });
        held.detach();
        BOOST_TEST(!held.valid());
        BOOST_TEST((held.state() == lease_state::released));
        BOOST_TEST(co_await held.ended() == lease_end::released);
        BOOST_TEST(co_await error_of(held.release()) == errc::released);
        BOOST_TEST(holders(std::string(held.nonce())) == 3U);
    });
    nodes.locks.reset(); // no release at the end of the client, either
    run_dry(nodes.context);
    BOOST_TEST(nodes.keys_left() == 3U);
    BOOST_TEST(nodes.told->count(lease_event::kind::detached) == 1);
    BOOST_TEST(nodes.told->count(lease_event::kind::released) == 0);
}

// rule H9
BOOST_AUTO_TEST_CASE(adopted_lease_goes_on_in_another_client)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(nodes.lock());
        mutex lock(second, "lock", long_lived);
        lease held = lock.adopt(left.nonce);
        BOOST_TEST(!held.valid());
        BOOST_TEST((held.state() == lease_state::suspect));
        co_await held.extend();
        BOOST_TEST(held.valid());
        BOOST_TEST(held.votes() >= 2U);
        BOOST_TEST(co_await error_of(lock.try_acquire()) == errc::contended);
        co_await held.release();
    });
    nodes.run_until([&] { return nodes.no_keys(); });
}

BOOST_AUTO_TEST_CASE(adopted_lease_sets_full_expiry_of_its_own_lock)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease left = co_await nodes.lock().acquire();
        co_await until([&] { return left.votes() == nodes.size(); }); // no extension of it is on its way
        left.detach();
        mutex lock(second, "lock", {.ttl = 50min});
        lease held = lock.adopt(left.nonce());
        co_await held.extend();
        co_await until([&] { return held.votes() == nodes.size(); });
        held.detach();
        BOOST_TEST(nodes.ask(0).pttl("lock") > 20 * 60 * 1000);
    });
}

/// A lease is extended to another length by a lock of that length, in the same client, too.
// rule H9
BOOST_AUTO_TEST_CASE(adopted_lease_takes_other_ttl_beside_a_waiter)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await nodes.lock().acquire();
        co_await until([&] { return held.votes() == nodes.size(); });
        mutex longer = nodes.lock("lock", {.ttl = 50min});
        mutex shorter = nodes.lock("lock", {.ttl = 1min});
        bool another_has_it = false;
        shorter.acquire([&](error_code ec, lease) { another_has_it = !ec; });
        for (mutex* other : {&longer, &shorter}) {
            held.detach();
            lease next = other->adopt(held.nonce());
            co_await next.extend();
            BOOST_TEST(next.valid());
            BOOST_TEST(!another_has_it);
            auto const ttl = other->options().ttl;
            BOOST_TEST((next.remaining() <= ttl && next.remaining() > ttl / 2));
            co_await until([&] { return next.votes() == nodes.size(); });
            auto const pttl = std::chrono::milliseconds{nodes.ask(0).pttl("lock")};
            BOOST_TEST((pttl > ttl && pttl < 2 * ttl));
            held = std::move(next);
        }
        co_await held.release();
        co_await until([&] { return another_has_it; });
    });
    nodes.run_until([&] { return nodes.no_keys(); });
}

BOOST_AUTO_TEST_CASE(adopted_lease_is_released_without_confirmation)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(nodes.lock());
        mutex lock(second, "lock", long_lived);
        lease held = lock.adopt(left.nonce);
        co_await held.release();
    });
    nodes.run_until([&] { return nodes.no_keys(); });
}

BOOST_AUTO_TEST_CASE(adopted_lease_is_released_when_destroyed)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(nodes.lock());
        mutex lock(second, "lock", long_lived);
        static_cast<void>(lock.adopt(left.nonce));
    });
    nodes.run_until([&] { return nodes.no_keys(); });
}

BOOST_AUTO_TEST_CASE(adoption_with_wrong_nonce_changes_no_key)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(nodes.lock());
        mutex lock(second, "lock", long_lived);
        lease held = lock.adopt(std::string(32, '0'));
        BOOST_TEST(co_await error_of(held.extend()) == errc::lease_lost);
        BOOST_TEST((held.state() == lease_state::lost));
        lease other = lock.adopt(std::string(32, '1'));
        BOOST_TEST(co_await error_of(other.release()) == errc::lease_lost);
        BOOST_TEST(holders(left.nonce) == 3U);
    });
}

BOOST_AUTO_TEST_CASE(adoption_without_majority_stays_suspect)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(nodes.lock());
        nodes.proxy(1).refuse();
        nodes.proxy(2).refuse();
        mutex lock(second, "lock", {.ttl = 10min, .renew = false});
        lease held = lock.adopt(left.nonce);
        BOOST_TEST(co_await error_of(held.extend()) == errc::no_quorum);
        BOOST_TEST((held.state() == lease_state::suspect));
        held.detach();
        BOOST_TEST(holders(left.nonce) == 3U);
    });
}

BOOST_AUTO_TEST_CASE(waiter_of_same_client_follows_adopted_lease)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(nodes.lock());
        mutex lock(second, "lock", long_lived);
        lease held = lock.adopt(left.nonce);
        co_await held.extend();
        auto next = lock.acquire(asio::use_future);
        co_await until([&] { return lock.waiting() == 1; });
        co_await held.release();
        co_await until([&] { return lock.waiting() == 0; });
        co_await until([&] { return next.wait_for(0s) == std::future_status::ready; });
        BOOST_TEST(next.get().valid());
    });
}

BOOST_AUTO_TEST_CASE(adopted_fenced_lease_keeps_its_token)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(fenced_mutex(*nodes.locks, "lock", long_lived));
        fenced_mutex lock(second, "lock", long_lived);
        lease held = lock.adopt(left.nonce, left.token);
        co_await held.extend();
        BOOST_TEST(held.fencing_token() == left.token);
        co_await held.extend();
        co_await held.release();
        lease next = co_await lock.acquire();
        BOOST_TEST(next.fencing_token() > left.token);
    });
}

// rule H9
BOOST_AUTO_TEST_CASE(adoption_of_released_lease_is_lost)
{
    nodes.run([&]() -> asio::awaitable<void> {
        fenced_mutex first(*nodes.locks, "lock", long_lived);
        lease held = co_await first.acquire();
        std::string const nonce(held.nonce());
        std::uint64_t const token = held.fencing_token();
        co_await held.release();
        co_await until([&] { return nodes.holders("lock", nonce) == 0; });
        fenced_mutex lock(second, "lock", long_lived);
        lease again = lock.adopt(nonce, token);
        BOOST_TEST(co_await decided(again) == errc::lease_lost);
        co_await until([&] { return holders(nonce) == 0; }); // a vote and its release may have come only now
    });
}

BOOST_AUTO_TEST_CASE(adoption_of_overtaken_fenced_lease_is_lost)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(fenced_mutex(*nodes.locks, "lock", long_lived));
        for (std::size_t i : {0U, 1U})
            nodes.ask(i).command({"INCR", "lock:redlock-fence"});
        fenced_mutex lock(second, "lock", long_lived);
        lease held = lock.adopt(left.nonce, left.token);
        BOOST_TEST(co_await decided(held) == errc::lease_lost);
    });
}

/// Such a fence would stop all votes until it expired.
// rule H9
BOOST_AUTO_TEST_CASE(adoption_with_too_large_token_leaves_no_fence)
{
    nodes.run([&]() -> asio::awaitable<void> {
        fenced_mutex first(*nodes.locks, "lock", long_lived);
        left_behind const left = co_await leave(first);
        std::string const fence = nodes.ask(0).get("lock:redlock-fence").value_or("");
        fenced_mutex lock(second, "lock", long_lived);
        lease wrong = lock.adopt(left.nonce, left.token + (std::uint64_t{1} << 40U));
        BOOST_TEST(co_await decided(wrong) == errc::lease_lost);
        wrong.detach();
        wrong = {};
        for (std::size_t i = 0; i != nodes.size(); ++i)
            BOOST_TEST(nodes.ask(i).get("lock:redlock-fence").value_or("") == fence);
        BOOST_TEST(holders(left.nonce) == 3U); // a detached lease stays, also if the token was wrong
        lease right = lock.adopt(left.nonce, left.token);
        co_await right.extend();
        co_await right.release();
        co_await lock.acquire();
    });
}

/// The node has other data than when this client connected.
BOOST_AUTO_TEST_CASE(adoption_is_not_confirmed_by_node_with_other_marker)
{
    nodes.run([&]() -> asio::awaitable<void> {
        fenced_mutex warm(second, "warm", long_lived);
        lease known = co_await warm.acquire();
        while (known.votes() != nodes.size())
            co_await known.extend();
        left_behind const left = co_await leave(fenced_mutex(*nodes.locks, "lock", long_lived));
        for (std::size_t const i : {0U, 1U})
            nodes.ask(i).command({"DEL", "redlock-marker"});
        lease adopted = fenced_mutex(second, "lock", long_lived).adopt(left.nonce, left.token);
        BOOST_TEST(co_await error_of(adopted.extend()) == errc::no_quorum);
        BOOST_TEST(!adopted.valid());
    });
}

// rule H9
BOOST_AUTO_TEST_CASE(adoption_is_not_confirmed_by_node_with_smaller_token)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(fenced_mutex(*nodes.locks, "lock", long_lived));
        nodes.ask(0).command({"SET", "lock:redlock-fence", "1"});
        fenced_mutex lock(second, "lock", long_lived);
        lease held = lock.adopt(left.nonce, left.token);
        BOOST_TEST(!(co_await decided(held))); // by the two other nodes
        BOOST_TEST(held.valid());
        co_await held.extend(); // an extension sets the key again (rule F4)
        co_await until([&] { return held.votes() == 3; });
        BOOST_TEST(nodes.ask(0).get("lock:redlock-fence").value_or("") == std::to_string(left.token >> 10U));
    });
}

// rule H9
BOOST_AUTO_TEST_CASE(adoption_with_invalid_nonce_or_token_is_misconfigured)
{
    auto const refuses = [](auto adopt, std::string const& why) {
        BOOST_CHECK_EXCEPTION(adopt(), lock_error, [&](lock_error const& e) {
            return e.code() == errc::misconfigured && contains(e.what(), why);
        });
    };
    std::string const nonce(32, 'a');
    refuses([&] { return nodes.lock().adopt("short"); }, "32 characters, not 5");
    fenced_mutex fenced(*nodes.locks, "lock");
    refuses([&] { return fenced.adopt("short", 1024); }, "32 characters, not 5");
    refuses([&] { return fenced.adopt(nonce, 0); }, "with its fencing token");
    refuses([&] { return fenced.adopt(nonce, 1023); }, "with its fencing token");
    refuses([&] { return fenced.adopt(nonce, std::uint64_t{1} << 53U); }, "2^53");
    refuses([&] { return fenced.adopt(nonce, ~std::uint64_t{0}); }, "2^53");
}

BOOST_AUTO_TEST_CASE(adoption_ended_by_shutdown_keeps_the_keys)
{
    nodes.run([&]() -> asio::awaitable<void> {
        left_behind const left = co_await leave(nodes.lock());
        mutex lock(second, "lock", long_lived);
        lease held = lock.adopt(left.nonce);
        co_await second.shutdown();
        BOOST_TEST(co_await error_of(held.extend()) == errc::shut_down);
        BOOST_TEST(holders(left.nonce) == 3U);
    });
}

BOOST_AUTO_TEST_SUITE_END()
