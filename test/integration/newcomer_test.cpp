// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/test/data/test_case.hpp>

#include <functional>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

std::string const masters_marker = "0123456789abcdef:0123456789abcdef/0a1b2c3d/0/1700000000000";

std::string lineage_of(std::string const& marker)
{
    auto const from = marker.find('/') + 1;
    return marker.substr(from, marker.find('/', from) - from);
}

/// Three servers that one client has known for some time, and other clients meet now.
struct newcomer_fixture : cluster {
    newcomer_fixture() : cluster(3, {}, {.young = true}) {}

    client newcomer(std::function<void(config&)> const& adapt = {})
    {
        config others = settings;
        others.nodes = servers.urls();
        others.admission.assume_fresh = false;
        others.observer = nullptr;
        if (adapt)
            adapt(others);
        return {context.get_executor(), others};
    }
    std::string marker(std::size_t node) { return ask(node).get(marker_key).value_or(""); }
    /// As if all servers had run for a long time: none is too young for any client.
    static void is_old(config& c) { c.admission.trust_restarted_nodes = true; }

    /// A lease on two nodes, whose markers stand everywhere.
    asio::awaitable<lease> hold_on_two(std::string name)
    {
        fenced_mutex warm(*locks, "warm", long_lived);
        lease known = co_await warm.acquire();
        while (known.votes() != 3)
            co_await known.extend();
        co_await known.release();
        proxy(2).refuse();
        proxy(2).reset_all();
        fenced_mutex lock(*locks, std::move(name), long_lived);
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 2U);
        co_return held;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(new_clients, newcomer_fixture)

/// Nobody has seen a marker on these servers, which may just have lost one.
// rule F6
BOOST_AUTO_TEST_CASE(new_client_does_not_trust_missing_marker)
{
    run([&]() -> asio::awaitable<void> {
        client fresh = newcomer(is_old);
        fenced_mutex lock(fresh, "lock", long_lived);
        BOOST_TEST(co_await attempt_once(lock) == errc::no_quorum);
        for (node_outcome const& row : lock.last_attempt())
            BOOST_TEST((row.result == node_result::quarantined));
        mutex plain(fresh, "plain", long_lived);
        BOOST_TEST(!co_await attempt_once(plain));
    });
}

// rule F6
BOOST_AUTO_TEST_CASE(missing_marker_is_waited_out_once_for_all_clients)
{
    run([&]() -> asio::awaitable<void> {
        client first = newcomer(is_old);
        fenced_mutex lock(first, "lock", short_lived);
        co_await (co_await lock.acquire()).release();
        client second = newcomer([](config& c) { c.admission.trust_restarted_nodes = true; });
        BOOST_TEST(!co_await attempt_once(fenced_mutex(second, "other", short_lived)));
    });
}

/// A client that finds no marker after a FLUSHALL cannot lift the quarantine, nor hide it from a client that
/// has seen one.
// rule F6
BOOST_DATA_TEST_CASE(new_client_is_not_granted_lock_whose_keys_were_flushed, either, assuming_fresh)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await hold_on_two("lock");
        ask(0).command({"FLUSHALL"});
        ask(1).command({"FLUSHALL"});
        // The client that notices leaves the marker for all others.
        while (marker(0).empty() || marker(1).empty())
            (void)co_await error_of(held.extend());
        BOOST_TEST(held.valid());
        client other = newcomer([&](config& c) {
            c.admission.assume_fresh = assuming_fresh;
            c.admission.trust_restarted_nodes = true;
        });
        fenced_mutex same(other, "lock", long_lived);
        BOOST_TEST(co_await attempt_once(same) == errc::no_quorum);
        BOOST_TEST((same.last_attempt().at(0).result == node_result::quarantined));
        BOOST_TEST((same.last_attempt().at(1).result == node_result::quarantined));
    });
}

/// The new client leaves a marker on a flushed node: a client that saw the former one notices all the same.
// rule F6
BOOST_AUTO_TEST_CASE(new_clients_marker_hides_no_data_loss_from_older_clients)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await hold_on_two("lock");
        ask(0).command({"FLUSHALL"});
        client fresh = newcomer([](config& c) { c.admission.assume_fresh = true; });
        fenced_mutex elsewhere(fresh, "elsewhere", long_lived);
        while (marker(0).empty()) // it may be a moment late
            (void)co_await attempt_once(elsewhere);
        std::string const hidden = marker(0);
        while (marker(0) == hidden)
            BOOST_TEST(co_await error_of(held.extend()) == errc::no_quorum);
        BOOST_TEST(!ask(0).exists("lock")); // and set again on no node that is not certain
        BOOST_TEST(lineage_of(marker(0)) != lineage_of(hidden));
        // Now the newcomer hears of it, too.
        while (!in_state(fresh, 0, node_state::quarantined))
            (void)co_await attempt_once(elsewhere);
    });
}

/// A client that has waited out one loss knows nothing of the next.
// rule F6
BOOST_AUTO_TEST_CASE(waited_out_data_loss_does_not_excuse_later_one)
{
    cluster one(1);
    one.run([&]() -> asio::awaitable<void> {
        fenced_mutex lock(*one.locks, "lock", short_lived);
        for (int i = 0; i != 2; ++i) {
            co_await (co_await lock.acquire()).release();
            one.ask(0).command({"FLUSHALL"});
            BOOST_TEST(co_await attempt_once(lock) == errc::no_quorum);
            BOOST_TEST(co_await attempt_once(lock) == errc::no_quorum);
            BOOST_TEST((lock.last_attempt().at(0).result == node_result::quarantined));
        }
    });
}

/// No server is too young to be told that a key is not wanted any more.
BOOST_AUTO_TEST_CASE(release_is_confirmed_by_quarantined_nodes)
{
    client second = newcomer();
    run([&]() -> asio::awaitable<void> {
        lease left = co_await lock().acquire();
        co_await until([&] { return left.votes() == size(); });
        left.detach();
        lease held = mutex(second, "lock", long_lived).adopt(left.nonce());
        BOOST_TEST(!(co_await error_of(held.release())));
        co_await until([&] { return no_keys(); }); // also where a majority was waited for
    });
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// A server of an hour, as it says, and clients that meet it now.
struct old_node_fixture {
    error_code attempt(std::function<void(config&)> const& change = {})
    {
        config settings = patient({server.url()});
        settings.admission.assume_fresh = false;
        settings.admission.trust_server_clocks = true;
        if (change)
            change(settings);
        client locks(context.get_executor(), settings);
        return run(context, [&] { return attempt_once(fenced_mutex(locks, "lock", long_lived)); });
    }
    static void takes_it_for_new(config& c) { c.admission.assume_fresh = true; }

    /// The data get another name, and nothing is lost: for every client that is another life.
    void attach_first_replica()
    {
        probe(replica.port()).command({"REPLICAOF", "127.0.0.1", std::to_string(server.port())});
        run_until(context,
                  [&] { return contains(probe(server.port()).info("replication"), "connected_slaves:1"); });
    }

    redis_server server{{.own_clock = true}};
    redis_server replica;
    asio::io_context context;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(running_quarantine, old_node_fixture)

/// A client that took the node for new does not wait. Other clients wait from the marker's placing on, also in the next
/// life.
BOOST_AUTO_TEST_CASE(quarantine_in_marker_outlasts_next_incarnation)
{
    server.set_age(1h);
    BOOST_TEST(!attempt(takes_it_for_new));
    BOOST_TEST(attempt() == errc::no_quorum);
    attach_first_replica();
    BOOST_TEST(attempt() == errc::no_quorum);
    BOOST_TEST(attempt() == errc::no_quorum);
}

/// A loss that the marker records also holds for clients that take the node for new.
BOOST_AUTO_TEST_CASE(quarantine_in_marker_holds_for_client_with_assume_fresh)
{
    server.set_age(1h);
    BOOST_TEST(attempt() == errc::no_quorum);
    attach_first_replica();
    BOOST_TEST(attempt() == errc::no_quorum); // this one knows the server's age
    BOOST_TEST(attempt(takes_it_for_new) == errc::no_quorum);
}

/// The word is about what was before the client came. It has seen the restart.
BOOST_AUTO_TEST_CASE(quarantine_is_left_in_marker_after_witnessed_restart)
{
    config settings = patient({server.url()});
    client locks(context.get_executor(), settings);
    BOOST_TEST(!run(context, [&] { return attempt_once(mutex(locks, "plain", long_lived)); }));
    server.restart();
    fenced_mutex lock(locks, "lock", long_lived);
    run_until(context, [&] {
        (void)run(context, [&] { return attempt_once(lock); });
        return probe(server.port()).exists(marker_key);
    });
    BOOST_TEST(attempt(takes_it_for_new) == errc::no_quorum);
}

/// A client that declares the node durable leaves it, too, if the settings contradict it.
BOOST_AUTO_TEST_CASE(quarantine_is_left_in_marker_of_contradicted_durable_node)
{
    BOOST_TEST(attempt([](config& c) { c.admission.durable_nodes = true; }) == errc::no_quorum);
    BOOST_TEST(attempt(takes_it_for_new) == errc::no_quorum);
}

/// The marker's times are ahead of the clock, and end all the same.
BOOST_AUTO_TEST_CASE(quarantine_in_marker_ends_after_clock_was_set_back)
{
    server.set_age(1h);
    BOOST_TEST(!attempt(takes_it_for_new));
    server.set_clock_ahead(0ms);
    BOOST_TEST(!attempt(takes_it_for_new));
}

/// A quarantine that has passed in an earlier life is not repeated.
BOOST_AUTO_TEST_CASE(quarantine_is_not_started_by_old_incarnations_marker)
{
    server.set_age(1h);
    probe(server.port()).command({"SET", marker_key, masters_marker});
    BOOST_TEST(!attempt());
}

/// A client that may not run INFO cannot tell one life from another.
BOOST_AUTO_TEST_CASE(marker_is_kept_when_server_has_no_incarnation)
{
    probe eye(server.port());
    eye.command({"ACL", "SETUSER", "blind", "on", "nopass", "~*", "&*", "+@all", "-info"});
    BOOST_TEST(!attempt(takes_it_for_new));
    auto const before = eye.get(marker_key);
    BOOST_TEST(!attempt([](config& c) {
        takes_it_for_new(c);
        c.username = "blind";
        c.password = "any";
    }));
    BOOST_TEST((eye.get(marker_key) == before));
}

BOOST_AUTO_TEST_CASE(malformed_marker_starts_a_quarantine)
{
    server.set_age(1h);
    probe(server.port()).command({"SET", marker_key, masters_marker + "/1"});
    BOOST_TEST(attempt() == errc::no_quorum);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// A server that was promoted an hour ago, as far as its age tells, and lacks the last votes.
struct promoted_node_fixture {
    promoted_node_fixture()
    {
        probe(master.port()).command({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
        probe(server.port()).command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
        run_until(context, [&] {
            return contains(probe(server.port()).info("replication"), "master_link_status:up");
        });
        probe(server.port()).command({"REPLICAOF", "NO", "ONE"});
        probe(server.port())
            .command({"CONFIG", "SET", "repl-backlog-ttl", "0"}); // it forgets its promotion after that
        server.set_age(1h);
    }

    error_code attempt(lock_options options, std::function<void(config&)> const& change = {})
    {
        client locks = newcomer(change);
        auto const result = run(context, [&] { return attempt_once(mutex(locks, "lock", options)); });
        shown = locks.node_table().at(0);
        return result;
    }
    error_code attempt_fenced(std::function<void(config&)> const& change)
    {
        client locks = newcomer(change);
        return run(context, [&] { return attempt_once(fenced_mutex(locks, "fenced", long_lived)); });
    }
    client newcomer(std::function<void(config&)> const& change)
    {
        config settings = patient({server.url()});
        settings.admission.assume_fresh = false;
        settings.admission.trust_server_clocks = true;
        if (change)
            change(settings);
        return {context.get_executor(), settings};
    }

    redis_server master;
    redis_server server{{.own_clock = true}};
    asio::io_context context;
    node_status shown;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(promoted_server, promoted_node_fixture)

// rule N5
BOOST_AUTO_TEST_CASE(promoted_server_is_quarantined_when_first_met)
{
    BOOST_TEST(attempt(long_lived) == errc::no_quorum);
    BOOST_TEST((shown.state == node_state::quarantined));
    BOOST_TEST(contains(shown.detail, "was promoted"), shown.detail);
    BOOST_TEST(!probe(server.port()).exists("lock"));
}

// rule N5
BOOST_AUTO_TEST_CASE(promoted_server_is_quarantined_despite_durable_and_trusted)
{
    BOOST_TEST(attempt(long_lived, [](config& c) {
                   c.admission.durable_nodes = true;
                   c.admission.trust_restarted_nodes = true;
               }) == errc::no_quorum);
}

// rule N5
BOOST_AUTO_TEST_CASE(promoted_server_votes_if_trusted)
{
    BOOST_TEST(!attempt(long_lived, [](config& c) { c.admission.trust_promoted = true; }), shown.detail);
    BOOST_TEST(!probe(server.port()).exists(marker_key));
}

/// The first client that meets the server leaves a marker, from which later clients count: each run of the command line
/// is a new client.
// rule N5
BOOST_AUTO_TEST_CASE(promoted_server_is_waited_for_once)
{
    BOOST_TEST(attempt(short_lived) == errc::no_quorum);
    BOOST_TEST(probe(server.port()).exists(marker_key));
    run_until(context, [&] { return !attempt(short_lived); });
    BOOST_TEST(attempt(long_lived) == errc::no_quorum); // a longer lock waits longer
    probe(server.port()).command({"DEL", marker_key});
    BOOST_TEST(attempt(short_lived) == errc::no_quorum);
}

/// The marker came with the data.
BOOST_AUTO_TEST_CASE(promoted_server_is_quarantined_despite_masters_marker)
{
    probe(server.port()).command({"SET", marker_key, masters_marker});
    BOOST_TEST(attempt(short_lived) == errc::no_quorum);
    BOOST_TEST(attempt(long_lived) == errc::no_quorum);
}

/// Other clients wait from then on.
BOOST_AUTO_TEST_CASE(promoted_server_is_quarantined_after_use_with_assume_fresh)
{
    probe(server.port()).command({"SET", marker_key, masters_marker});
    BOOST_TEST(!attempt_fenced([](config& c) { c.admission.assume_fresh = true; }));
    BOOST_TEST(attempt(long_lived) == errc::no_quorum);
}

/// A client with that setting answers for itself.
BOOST_AUTO_TEST_CASE(promoted_server_is_quarantined_after_use_with_trust)
{
    probe(server.port()).command({"SET", marker_key, masters_marker});
    BOOST_TEST(!attempt_fenced([](config& c) { c.admission.trust_promoted = true; }));
    BOOST_TEST(attempt(long_lived) == errc::no_quorum);
}

// rule N5
BOOST_AUTO_TEST_CASE(promoted_server_without_marker_rights_is_always_quarantined)
{
    probe(server.port()).command({"ACL", "SETUSER", "locker", "on", "nopass", "~lock*", "&*", "+@all"});
    auto const as_locker = [](config& c) {
        c.username = "locker";
        c.password = "any";
    };
    BOOST_TEST(attempt(short_lived, as_locker) == errc::no_quorum);
    BOOST_TEST(attempt(short_lived, as_locker) == errc::no_quorum);
    BOOST_TEST(!probe(server.port()).exists(marker_key));
}

BOOST_AUTO_TEST_SUITE_END()
