// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

using namespace redlock;
using namespace redlock::test;

namespace {

struct client_pause_fixture : cluster {
    client_pause_fixture() : cluster(3) { warm_up(); }

    void pause() { everywhere({"CLIENT", "PAUSE", "600000", "WRITE"}); }
    void go_on() { everywhere({"CLIENT", "UNPAUSE"}); }
};

lock_options impatient()
{
    lock_options options = long_lived; // its key does not expire while the test looks
    options.node_timeout = 100ms;
    return options;
}

} // namespace

/// CLIENT PAUSE WRITE: commands that write wait in the server, and keys expire meanwhile.
BOOST_FIXTURE_TEST_SUITE(client_pause, client_pause_fixture)

BOOST_AUTO_TEST_CASE(vote_executed_after_client_pause_is_undone)
{
    everywhere({"SET", "lock", "stranger", "PX", "150"});
    pause();
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", impatient());
        auto const before = ask(0).command_calls("set");
        BOOST_TEST(co_await attempt_once(lock) == errc::no_quorum);
        for (node_outcome const& row : lock.last_attempt())
            BOOST_TEST((row.result == node_result::timed_out));
        co_await until([&] { return free_everywhere("lock"); }); // the stranger's time is over
        go_on();
        co_await until(
            [&] { return ask(0).command_calls("set") == before + 1; }); // granted, and nobody counts it
        co_await until([&] { return no_keys(); });
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(late_extension_after_client_pause_does_not_revive_lease)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", {.ttl = 500ms, .slack = 100ms, .node_timeout = 100ms});
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3 || !held.valid(); });
        pause();
        BOOST_TEST(co_await held.ended() == lease_end::lost);
        BOOST_TEST(!held.valid());
        co_await until([&] { return free_everywhere("lock"); });
        go_on();
        mutex next = this->lock("lock", impatient());
        lease successor = co_await next.acquire();
        BOOST_TEST(successor.nonce() != held.nonce());
        co_await until([&] { return successor.votes() == 3; }); // behind the extensions on every connection
        BOOST_TEST(holders("lock", successor.nonce()) == 3U);
        BOOST_TEST(!held.valid());
    });
}

BOOST_AUTO_TEST_SUITE_END()
