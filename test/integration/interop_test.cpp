// SPDX-License-Identifier: BSL-1.0
#include "attempt.hpp"
#include "cluster.hpp"
#include "interop_partner.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include <redlock/any_lock.hpp>
#include <redlock/multi_mutex.hpp>
#include <redlock/semaphore.hpp>
#include <redlock/shared_mutex.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace redlock::test;

bool present(interop_partner const& partner)
{
    if (!partner.absent().empty())
        std::printf("skipped: %s not available\n", partner.absent().c_str());
    return partner.absent().empty();
}

/// Our keys live for a shorter time than theirs may be extended by.
constexpr redlock::lock_options one_minute{.ttl = std::chrono::seconds{60}};

constexpr unsigned permits = 2;
std::vector<std::string> const shared_names{"resource", "another resource"};

/// A lock of theirs and a lock of ours are the same lock: the same key and a value that only its owner knows.
class encounter {
public:
    encounter(interop_partner& partner, server_group& servers) : partner_(partner), servers_(servers) {}

    asio::awaitable<void> they_exclude_us()
    {
        co_await they_hold();
        auto const meanwhile = co_await our_attempt();
        BOOST_TEST(meanwhile == make_error_code(redlock::errc::contended));
        for (auto const& row : lock_.last_attempt())
            BOOST_TEST((row.result == redlock::node_result::held_by_other ||
                        row.result == redlock::node_result::pending));
        BOOST_TEST(partner_.ask("extend 60000") == "extended"); // our attempt has taken nothing from them
        co_await they_release();
        auto const after = co_await our_attempt();
        BOOST_TEST(!after, after.message() << ": " << to_string(lock_.last_attempt()));
    }

    asio::awaitable<void> we_exclude_them()
    {
        redlock::lease held = co_await we_hold();
        BOOST_TEST(partner_.ask("acquire resource 60000") == "busy");
        co_await held.extend(); // their attempt has taken nothing from us
        co_await held.release();
        co_await they_can_have_it();
    }

    asio::awaitable<void> they_understand_our_value()
    {
        redlock::lease held = co_await we_hold();
        BOOST_TEST(partner_.ask("adopt resource " + std::string(held.nonce())) == "adopted");
        BOOST_TEST(partner_.ask("extend 120000") == "extended");
        co_await everywhere([](probe& server) { return server.pttl("resource") > 70'000; });
        co_await they_release();
        boost::system::error_code ec;
        co_await held.extend(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(ec == make_error_code(redlock::errc::lease_lost));
    }

    asio::awaitable<void> we_respect_their_value()
    {
        redlock::lease held = co_await we_hold();
        for (auto const& server : servers_) // as if it had expired
            probe(server->port()).command({"DEL", "resource"});
        auto const theirs = partner_.ask("acquire resource 60000");
        BOOST_TEST_REQUIRE(theirs.starts_with("held "), theirs);
        boost::system::error_code ec;
        co_await held.release(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(ec == make_error_code(redlock::errc::lease_lost));
        BOOST_TEST(partner_.ask("extend 60000") == "extended");
        co_await they_release();
    }

    /// Only the partner's release can wake us: our own attempts are hours apart.
    // rule W2
    asio::awaitable<void> their_release_wakes_us()
    {
        auto patient = one_minute;
        patient.retry.min_delay = patient.retry.max_delay = std::chrono::hours{1};
        co_await their_release_wakes(redlock::mutex(locks_, "resource", patient));
        co_await their_release_wakes(redlock::multi_mutex(locks_, shared_names, patient));
    }

    /// Readers, too, are in the way of a lock that knows no readers, and it of them.
    asio::awaitable<void> they_exclude_readers_and_writers()
    {
        co_await they_hold();
        auto const contended = make_error_code(redlock::errc::contended);
        BOOST_TEST(co_await our_attempt(shared_) == contended);
        BOOST_TEST(co_await our_attempt(shared_.shared()) == contended);
        BOOST_TEST(partner_.ask("extend 60000") == "extended");
        co_await they_release();
        BOOST_TEST(!co_await our_attempt(shared_.shared()));
        BOOST_TEST(!co_await our_attempt(shared_));
    }

    asio::awaitable<void> readers_and_writers_exclude_them()
    {
        co_await all_are_free();
        redlock::lease writes = co_await shared_.acquire();
        co_await until([&] { return writes.votes() == servers_.size(); });
        BOOST_TEST(partner_.ask("acquire resource 60000") == "busy");
        writes.downgrade();
        BOOST_TEST(partner_.ask("acquire resource 60000") == "busy");
        co_await writes.extend(); // their attempts have taken nothing from us
        co_await writes.release();
        co_await they_can_have_it();
    }

    /// The partner has one name of a set.
    // rule M2
    asio::awaitable<void> they_exclude_a_set()
    {
        co_await they_hold();
        BOOST_TEST(co_await our_attempt(set_) == make_error_code(redlock::errc::contended));
        co_await everywhere([](probe& server) { return !server.exists("another resource"); });
        BOOST_TEST(partner_.ask("extend 60000") == "extended");
        co_await they_release();
        auto const after = co_await our_attempt(set_);
        BOOST_TEST(!after, after.message() << ": " << to_string(set_.last_attempt()));
    }

    // rule M2
    asio::awaitable<void> a_set_excludes_them()
    {
        co_await all_are_free();
        redlock::lease held = co_await set_.acquire();
        co_await until([&] { return held.votes() == servers_.size(); });
        BOOST_TEST(partner_.ask("acquire resource 60000") == "busy");
        co_await held.extend(); // their attempt has taken nothing from us
        co_await held.release();
        co_await they_can_have_it();
    }

    /// Theirs is a string, and permits are a hash: the type alone keeps them apart.
    // rule P1
    asio::awaitable<void> they_exclude_permits()
    {
        co_await they_hold();
        BOOST_TEST(co_await our_attempt(pool_) == make_error_code(redlock::errc::contended));
        BOOST_TEST(partner_.ask("extend 60000") == "extended");
        co_await they_release();
        auto const after = co_await our_attempt(pool_);
        BOOST_TEST(!after, after.message() << ": " << to_string(pool_.last_attempt()));
    }

    // rule P1
    asio::awaitable<void> permits_exclude_them()
    {
        co_await all_are_free();
        redlock::lease first = co_await pool_.acquire();
        redlock::lease second = co_await pool_.acquire();
        co_await until([&] { return first.votes() + second.votes() == 2 * servers_.size(); });
        BOOST_TEST(partner_.ask("acquire resource 60000") == "busy");
        co_await first.release();
        BOOST_TEST(partner_.ask("acquire resource 60000") == "busy"); // one permit is enough
        co_await second.extend(); // their attempts have taken nothing from us
        co_await second.release();
        co_await they_can_have_it();
    }

    /// The result is the same as if the lock had expired meanwhile.
    // rule P1
    asio::awaitable<void> their_late_release_leaves_permits()
    {
        co_await all_are_free();
        redlock::lease held = co_await pool_.acquire();
        co_await until([&] { return held.votes() == servers_.size(); });
        BOOST_TEST(partner_.ask("adopt resource " + std::string(held.nonce())) == "adopted");
        auto const extended = partner_.ask("extend 120000");
        BOOST_TEST(extended.starts_with("failed"), extended);
        auto const released = partner_.ask("release");
        BOOST_TEST(released.starts_with("failed"), released);
        co_await held.extend();
        co_await held.release();
    }

    void play()
    {
        run(context_, [this] { return they_exclude_us(); });
        run(context_, [this] { return we_exclude_them(); });
        run(context_, [this] { return they_understand_our_value(); });
        run(context_, [this] { return we_respect_their_value(); });
        run(context_, [this] { return their_release_wakes_us(); });
        run(context_, [this] { return they_exclude_readers_and_writers(); });
        run(context_, [this] { return readers_and_writers_exclude_them(); });
        run(context_, [this] { return they_exclude_a_set(); });
        run(context_, [this] { return a_set_excludes_them(); });
        run(context_, [this] { return they_exclude_permits(); });
        run(context_, [this] { return permits_exclude_them(); });
        run(context_, [this] { return their_late_release_leaves_permits(); });
    }

private:
    /// A majority is all that most answers wait for, theirs and ours.
    template <class Condition>
    asio::awaitable<void> everywhere(Condition holds)
    {
        for (auto const& server : servers_) {
            probe eye(server->port());
            co_await until([&] { return holds(eye); });
        }
    }
    asio::awaitable<void> all_are_free()
    {
        return everywhere([](probe& server) { return !server.exists("resource"); });
    }
    asio::awaitable<void> they_hold()
    {
        auto const held = partner_.ask("acquire resource 60000");
        BOOST_TEST_REQUIRE(held.starts_with("held "), held);
        co_await everywhere([&](probe& server) { return server.get("resource") == held.substr(5); });
    }
    asio::awaitable<void> they_release()
    {
        BOOST_TEST(partner_.ask("release") == "released");
        co_await all_are_free();
    }
    asio::awaitable<void> they_can_have_it()
    {
        co_await all_are_free();
        auto const theirs = partner_.ask("acquire resource 60000");
        BOOST_TEST(theirs.starts_with("held "), theirs);
        co_await they_release();
    }
    asio::awaitable<void> their_release_wakes(redlock::any_lock patient)
    {
        co_await they_hold();
        redlock::lease got;
        patient.acquire([&](boost::system::error_code, redlock::lease granted) { got = std::move(granted); });
        co_await until([&] { // the queue node was asked for the time, and will report the end
            return std::ranges::any_of(patient.last_attempt(),
                                       [](auto const& row) { return row.remaining.has_value(); });
        });
        BOOST_TEST(partner_.ask("release") == "released");
        co_await until([&] { return !got.empty(); });
        BOOST_TEST(got.valid());
        co_await got.release();
    }
    asio::awaitable<redlock::lease> we_hold()
    {
        co_await all_are_free();
        redlock::lease held = co_await lock_.acquire();
        co_await until([&] { return held.votes() == servers_.size(); });
        co_return held;
    }
    asio::awaitable<boost::system::error_code> our_attempt() { return our_attempt(lock_); }
    asio::awaitable<boost::system::error_code> our_attempt(redlock::any_lock lock)
    {
        boost::system::error_code ec;
        redlock::lease held = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
        if (!ec)
            co_await held.release();
        co_return ec;
    }

    interop_partner& partner_;
    server_group& servers_;
    asio::io_context context_;
    redlock::client locks_{context_.get_executor(), settings_for(servers_.urls())};
    redlock::mutex lock_{locks_, "resource", one_minute};
    redlock::shared_mutex shared_{locks_, "resource", one_minute};
    redlock::multi_mutex set_{locks_, shared_names, one_minute};
    redlock::semaphore pool_{locks_, "resource", permits, one_minute};
};

void meet_redlock_js(std::string const& version)
{
    auto const modules = node_modules();
    if (modules.empty())
        return;
    server_group servers(3);
    std::vector<std::string> command{"node", interop_program("redlock_js.js"), modules, version};
    for (auto const& server : servers)
        command.push_back(std::to_string(server->port()));
    interop_partner partner(command);
    if (present(partner))
        encounter(partner, servers).play();
}

} // namespace

BOOST_AUTO_TEST_SUITE(interoperability)

BOOST_AUTO_TEST_CASE(lock_is_shared_with_redis_py)
{
    server_group servers(1);
    interop_partner partner(
        {"/usr/bin/python3", interop_program("redis_py.py"), std::to_string(servers[0].port())});
    if (present(partner))
        encounter(partner, servers).play();
}

BOOST_AUTO_TEST_CASE(lock_is_shared_with_redlock_4_for_node)
{
    meet_redlock_js("4");
}

BOOST_AUTO_TEST_CASE(lock_is_shared_with_redlock_5_for_node)
{
    meet_redlock_js("5");
}

BOOST_AUTO_TEST_SUITE_END()
