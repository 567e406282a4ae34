// SPDX-License-Identifier: BSL-1.0
#include "attempt.hpp"
#include "cluster.hpp"
#include "kit/certificates.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "kit/text.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <string>

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace redlock::test;
using std::chrono_literals::operator""s;

struct tls_servers_fixture {
    certificates papers;
    server_group servers{3, {.tls = papers.server}};

    redlock::config settings() const
    {
        std::vector<std::string> urls;
        for (auto const& server : servers)
            urls.push_back(server->tls_url());
        auto made = settings_for(urls);
        made.tls.ca_file = papers.authority.file();
        return made;
    }

    unsigned holding(std::string const& name) const
    {
        unsigned count = 0;
        for (auto const& server : servers)
            count += probe(server->port()).exists(name) ? 1U : 0U;
        return count;
    }
};

/// Tells when a lease has renewed itself.
class renewals final : public redlock::observer {
public:
    explicit renewals(asio::io_context& context) : seen_(context, asio::steady_timer::time_point::max()) {}
    void on_lease(redlock::lease_event const& e) noexcept override
    {
        if (e.what == redlock::lease_event::kind::renewed)
            seen_.cancel();
    }
    asio::awaitable<void> next() { co_await seen_.async_wait(asio::as_tuple(asio::use_awaitable)); }

private:
    asio::steady_timer seen_;
};

/// The server as an attacker or a forgetful administrator would have it come back: same port, other papers.
void restart_with(redis_server& server, tls_files const& in_use, tls_files const& papers)
{
    server.terminate();
    fs::copy_file(papers.certificate, in_use.certificate, fs::copy_options::overwrite_existing);
    fs::copy_file(papers.key, in_use.key, fs::copy_options::overwrite_existing);
    server.restart();
}

} // namespace

BOOST_AUTO_TEST_SUITE(tls_lease)

BOOST_FIXTURE_TEST_CASE(lease_is_acquired_renewed_and_released_over_tls, tls_servers_fixture)
{
    asio::io_context context;
    auto settings = this->settings();
    auto const watcher = std::make_shared<renewals>(context);
    settings.observer = watcher;
    redlock::client locks(context.get_executor(), settings);
    redlock::lock_options options;
    options.ttl = 3s;
    options.node_timeout = 1s;
    redlock::mutex lock(locks, "resource", options);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await lock.acquire();
        co_await watcher->next();
        BOOST_TEST(held.valid());
        co_await until([&] { return held.votes() == 3; });
        co_await held.extend();
        for (auto const& server : servers)
            BOOST_TEST(probe(server->port()).get("resource").value_or("") == std::string(held.nonce()));
        co_await held.release();
        BOOST_TEST(holding("resource") <= 1U); // the third may be a moment behind
        redlock::lease again = co_await lock.acquire();
        BOOST_TEST(again.valid());
        co_await locks.shutdown();
    });
    context.restart();
    context.run();
    run_until(context, [&] { return holding("resource") == 0; }); // the shutdown waited for a majority
}

BOOST_FIXTURE_TEST_CASE(node_with_bad_certificate_gets_no_vote, tls_servers_fixture)
{
    redis_server impostor({.tls = papers.expired});
    auto settings = this->settings();
    settings.nodes[1] = impostor.tls_url();
    auto const seen = try_once(settings);
    BOOST_TEST(seen.granted(), seen.message);
    BOOST_TEST(probe(impostor.port()).command_calls("set") == 0);
}

BOOST_AUTO_TEST_CASE(certificate_is_verified_at_every_connection)
{
    certificates papers;
    tls_files const original = papers.authority.issue_server({"DNS:localhost", "IP:127.0.0.1"});
    tls_files const in_use = papers.authority.issue_server({"DNS:localhost", "IP:127.0.0.1"});
    tls_files const forged = papers.stranger.issue_server({"DNS:localhost", "IP:127.0.0.1"});
    redis_server server({.tls = in_use});
    auto settings = settings_for({server.tls_url()});
    settings.tls.ca_file = papers.authority.file();
    settings.admission.trust_restarted_nodes = true; // it restarts with other papers, four times
    asio::io_context context;
    redlock::client locks(context.get_executor(), settings);
    redlock::mutex lock(locks, "resource", long_lived);
    auto const try_it = [&] {
        return run(context, [&]() -> asio::awaitable<std::string> {
            std::string trouble;
            try {
                redlock::lease held = co_await lock.try_acquire();
                co_await held.release();
            } catch (redlock::lock_error const& e) {
                trouble = e.what();
            }
            co_return trouble;
        });
    };
    // An attempt may still meet the pause after an earlier failure, and repeat its reason.
    auto const refused_for = [&](std::string const& reason) {
        for (auto said = try_it(); !contains(said, reason); said = try_it())
            BOOST_TEST_REQUIRE(said != "");
        BOOST_TEST(probe(server.port()).command_calls("set") == 0);
    };
    BOOST_TEST(try_it() == "");
    restart_with(server, in_use, forged);
    refused_for("unable to get local issuer certificate");
    restart_with(server, in_use, papers.misnamed);
    refused_for("mismatch");
    restart_with(server, in_use, papers.expired);
    refused_for("certificate has expired");

    restart_with(server, in_use, original);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await lock.acquire_for(30s);
        BOOST_TEST(held.valid());
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(tls_and_acl_work_together)
{
    certificates papers;
    redis_server server(
        {.tls = papers.server,
         .acl = {"user default off",
                 "user locker on >between-us ~* -@all +set +get +del +pexpire +eval +evalsha"}});
    auto settings =
        settings_for({"rediss://locker:between-us@127.0.0.1:" + std::to_string(server.tls_port())});
    settings.tls.ca_file = papers.authority.file();
    auto const seen = try_once(settings);
    BOOST_TEST(seen.granted(), seen.message);
    settings.nodes = {"rediss://locker:between-you@127.0.0.1:" + std::to_string(server.tls_port())};
    auto const wrong = try_once(settings);
    BOOST_TEST(wrong.result == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST((wrong.table.at(0).error == redlock::server_error::wrongpass));
}

BOOST_AUTO_TEST_SUITE_END()
