// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"
#include "kit/certificates.hpp"
#include "kit/patience.hpp"
#include "kit/watched_group.hpp"

using namespace redlock;
using namespace redlock::test;

namespace {

std::vector<std::string> const exclusive{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"};

/// A group with two replicas, and two servers alone.
struct group_fixture {
    explicit group_fixture(std::vector<std::string> const& arguments = exclusive) : group(3, arguments)
    {
        auto urls = others.urls();
        urls.insert(urls.begin(), group.url());
        settings = patient(urls);
        settings.reconnect = {.min_delay = 20ms, .max_delay = 100ms, .connect_timeout = 5s};
        settings.health.response_timeout = 1s;
        settings.observer = told;
    }

    client make() { return client(context.get_executor(), settings); }
    template <class Coroutine>
    void run(Coroutine coroutine, std::source_location where = std::source_location::current())
    {
        test::run(context, std::move(coroutine), patience, where);
    }
    std::string master_in_words()
    {
        return "127.0.0.1:" + std::to_string(group.members[group.master()].port());
    }

    watched_group group;
    server_group others{2};
    config settings;
    std::shared_ptr<recorder> told = std::make_shared<recorder>();
    asio::io_context context;
};

/// A majority is enough for a lease: the last vote may be on its way, and an extension waits for the answer.
asio::awaitable<bool> all_in_time(lease& held, std::size_t votes)
{
    co_await held.extend();
    co_return held.votes() == votes;
}

asio::awaitable<lease> held_by_all(mutex lock, std::size_t votes)
{
    for (;;) {
        lease held = co_await lock.acquire();
        if (co_await all_in_time(held, votes))
            co_return held;
        co_await held.release();
        asio::steady_timer pause(co_await asio::this_coro::executor, 50ms); // it may take ten seconds
        co_await pause.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<std::string> detail_of_first(client& locks)
{
    mutex lock(locks, "asked", long_lived);
    (void)co_await attempt_once(lock);
    co_await until([&] { return in_state(locks, 0, node_state::down); });
    co_return status(locks, 0).detail;
}

} // namespace

BOOST_AUTO_TEST_SUITE(sentinels)

// rule N8
BOOST_FIXTURE_TEST_CASE(group_votes_through_its_master, group_fixture)
{
    client locks = make();
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by_all(mutex(locks, "lock", long_lived), 3);
        BOOST_TEST(group.members.ask(0).get("lock").value_or("") == held.nonce());
        BOOST_TEST(status(locks, 0).node == group.url());
        BOOST_TEST(status(locks, 0).master == master_in_words());
        co_await held.release();
    });
}

BOOST_FIXTURE_TEST_CASE(first_sentinel_that_answers_decides, group_fixture)
{
    group.sentinels[0]->kill();
    client locks = make();
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by_all(mutex(locks, "lock", long_lived), 3);
        co_await held.release();
    });
}

// rule N8
BOOST_FIXTURE_TEST_CASE(new_master_is_quarantined_and_lease_lives_on, group_fixture)
{
    client locks = make();
    run([&]() -> asio::awaitable<void> {
        lock_options options{.ttl = 1s, .node_timeout = 300ms};
        mutex lock(locks, "lock", options);
        lease held = co_await held_by_all(lock, 3);
        std::string const before = master_in_words();
        co_await until([&] { return group.fail_over(); });
        co_await until([&] { return in_state(locks, 0, node_state::quarantined); });
        BOOST_TEST(master_in_words() != before);
        // The former master may have gone on for 3 s, and been silent for 5 s; what it gave then lives for 1.1 s.
        BOOST_TEST((told->nodes.back().remaining.value_or(0s) > 8500ms));
        BOOST_TEST(held.valid());
        co_await held.release();
        lease next = co_await held_by_all(lock, 3);
        BOOST_TEST(status(locks, 0).master == master_in_words());
        BOOST_TEST(probe(group.members[group.master()].port()).get("lock").value_or("") == next.nonce());
        co_await next.release();
    });
}

// rule N8
BOOST_FIXTURE_TEST_CASE(group_comes_back_after_its_master_crashed, group_fixture)
{
    client locks = make();
    run([&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", lock_options{.ttl = 1s, .node_timeout = 300ms});
        lease held = co_await held_by_all(lock, 3);
        group.members[0].kill();
        co_await until([&] { return in_state(locks, 0, node_state::quarantined); });
        BOOST_TEST(group.master() != 0U);
        co_await held.release();
        lease next = co_await held_by_all(lock, 3);
        co_await next.release();
    });
}

// rule N8
BOOST_FIXTURE_TEST_CASE(newcomer_waits_also_where_nothing_failed_over, group_fixture)
{
    settings.admission.assume_fresh = false;
    settings.admission.trust_restarted_nodes = true;
    client locks = make();
    run([&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", long_lived);
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 2U);
        co_await until([&] { return in_state(locks, 0, node_state::quarantined); });
        co_await held.release();
    });
}

// rule N8
BOOST_FIXTURE_TEST_CASE(master_that_could_not_write_for_a_while_is_quarantined, group_fixture)
{
    client locks = make();
    run([&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", lock_options{.ttl = 1s, .node_timeout = 300ms});
        lease held = co_await held_by_all(lock, 3);
        group.members[1].kill();
        group.members[2].kill();
        co_await until([&] { return contains(status(locks, 0).detail, "has fewer"); });
        BOOST_TEST(contains(status(locks, 0).detail, "has fewer replicas than it needs"),
                   status(locks, 0).detail);
        BOOST_TEST(held.valid());
        group.members.restart(1);
        group.members.ask(1).command({"REPLICAOF", "127.0.0.1", std::to_string(group.members[0].port())});
        co_await until([&] { return in_state(locks, 0, node_state::quarantined); });
        BOOST_TEST(contains(status(locks, 0).detail, "a replica came to the master"),
                   status(locks, 0).detail);
        co_await held.release();
        lease next = co_await held_by_all(lock, 3);
        co_await next.release();
    });
}

/// Another master may have had the replica meanwhile. No write would show that.
// rule N8
BOOST_FIXTURE_TEST_CASE(standing_connection_notices_that_a_replica_was_away, group_fixture)
{
    client locks = make();
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by_all(mutex(locks, "lock", long_lived), 3);
        group.members.ask(1).command({"REPLICAOF", "NO", "ONE"});
        group.members.ask(1).command({"REPLICAOF", "127.0.0.1", std::to_string(group.members[0].port())});
        co_await until([&] { return in_state(locks, 0, node_state::quarantined); });
        BOOST_TEST(contains(status(locks, 0).detail, "a replica came to the master"),
                   status(locks, 0).detail);
        co_await held.release();
    });
}

/// The replica has not heard yet that its master follows another one.
// rule N8
BOOST_FIXTURE_TEST_CASE(next_sentinel_is_asked_where_the_first_names_a_replica, group_fixture)
{
    sentinel mistaken(group.members[1].port());
    settings.nodes[0] = "redis+sentinel://127.0.0.1:" + std::to_string(mistaken.port()) + "," +
                        group.url().substr(std::string("redis+sentinel://").size());
    client locks = make();
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by_all(mutex(locks, "lock", long_lived), 3);
        BOOST_TEST(status(locks, 0).master == master_in_words());
        co_await held.release();
    });
}

// rule N8
BOOST_FIXTURE_TEST_CASE(master_that_was_silent_is_identified_anew, group_fixture)
{
    settings.health = {.response_timeout = 500ms, .check_interval = 1ms};
    client locks = make();
    auto const connections = [&] {
        std::string const stats = group.members.ask(0).info("stats");
        return std::stoi(stats.substr(stats.find("total_connections_received:") + 27));
    };
    run([&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", long_lived);
        lease held = co_await held_by_all(lock, 3);
        co_await held.release();
        int const before = connections();
        asio::steady_timer silence(context, 600ms);
        co_await silence.async_wait(asio::use_awaitable);
        lease next = co_await held_by_all(lock, 3);
        BOOST_TEST(connections() > before);
        co_await next.release();
    });
}

// rule N8
BOOST_AUTO_TEST_CASE(group_that_could_have_two_masters_is_refused)
{
    group_fixture nodes({"--min-replicas-to-write", "0"});
    {
        client locks = nodes.make();
        nodes.run([&]() -> asio::awaitable<void> {
            std::string const why = co_await detail_of_first(locks);
            BOOST_TEST(contains(why, "min-replicas-to-write is 0, and with 2 replicas it must be 1 at least"),
                       why);
        });
    }
    nodes.settings.admission.trust_replication = true;
    client trusting = nodes.make();
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by_all(mutex(trusting, "lock", long_lived), 3);
        co_await held.release();
    });
}

/// Without knowledge of the settings, two masters could vote.
BOOST_FIXTURE_TEST_CASE(group_whose_settings_may_not_be_read_is_refused, group_fixture)
{
    for (std::size_t i = 0; i != group.members.size(); ++i)
        group.members.ask(i).command({"ACL", "SETUSER", "default", "-config|get"});
    client locks = make();
    std::string why;
    run([&]() -> asio::awaitable<void> { why = co_await detail_of_first(locks); });
    BOOST_TEST(contains(why, "CONFIG GET is not permitted"), why);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sentinel_failures)

BOOST_AUTO_TEST_CASE(what_is_wrong_with_the_sentinels_is_said)
{
    redis_server master;
    sentinel watched(master.port());
    sentinel guarded(master.port(), {"requirepass secret"});
    asio::io_context context;
    auto const said = [&](std::string const& url) {
        config settings = patient({url});
        client locks(context.get_executor(), settings);
        std::string why;
        run(context, [&]() -> asio::awaitable<void> { why = co_await detail_of_first(locks); });
        return why;
    };
    std::string const host = "127.0.0.1:" + std::to_string(watched.port());
    std::string const guard = "127.0.0.1:" + std::to_string(guarded.port());
    BOOST_TEST(said("redis+sentinel://" + host + "/other") ==
               "Sentinel " + host + ": it knows no group 'other'");
    BOOST_TEST(contains(said("redis+sentinel://" + guard + "/group"), ": NOAUTH"));
    std::string const refused = said("redis+sentinel://" + guard + "/group?sentinel_password=wrong-one");
    BOOST_TEST(contains(refused, "Sentinel " + guard + ": WRONGPASS"), refused);
    BOOST_TEST(!contains(refused, "wrong-one"));
    std::string const no_sentinel =
        said("redis+sentinel://127.0.0.1:" + std::to_string(master.port()) + "/group");
    BOOST_TEST(contains(no_sentinel, "unknown command"), no_sentinel);
    master.kill();
    std::string const gone = said("redis+sentinel://" + guard + "/group?sentinel_password=secret");
    BOOST_TEST(gone == "master 127.0.0.1:" + std::to_string(master.port()) + ": Connection refused");
}

/// The certificate is for the addresses that were asked, and is checked of each.
BOOST_AUTO_TEST_CASE(sentinels_and_masters_are_asked_over_tls)
{
    certificates const papers;
    redis_server master({.tls = papers.server});
    sentinel const watched(master.tls_port(), {}, &papers.server);
    asio::io_context context;
    config settings = patient({"rediss+sentinel://127.0.0.1:" + std::to_string(watched.port()) + "/group"});
    settings.tls.ca_file = papers.authority.file();
    settings.admission.trust_replication = true;
    client locks(context.get_executor(), settings);
    run(context, [&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", long_lived);
        lease held = co_await lock.acquire();
        BOOST_TEST(status(locks, 0).master == "127.0.0.1:" + std::to_string(master.tls_port()));
        co_await held.release();
    });
    settings.tls.server_name = "elsewhere.invalid";
    client strict(context.get_executor(), settings);
    std::string why;
    run(context, [&]() -> asio::awaitable<void> { why = co_await detail_of_first(strict); });
    BOOST_TEST(contains(why, "Sentinel 127.0.0.1:"), why);
    BOOST_TEST(contains(why, "wanted elsewhere.invalid"), why);
}

BOOST_AUTO_TEST_CASE(group_is_never_durable)
{
    asio::io_context context;
    config settings = patient({"redis+sentinel://127.0.0.1/group?durable=true"});
    BOOST_CHECK_EXCEPTION(client(context.get_executor(), settings), lock_error, [](lock_error const& e) {
        return e.code() == errc::misconfigured &&
               contains(e.what(), "durable=true cannot be true of a group");
    });
}

BOOST_AUTO_TEST_SUITE_END()
