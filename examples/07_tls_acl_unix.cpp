// SPDX-License-Identifier: BSL-1.0
// How a client is told about its servers: TLS, an ACL user with few rights, a unix socket; once by URLs, once
// by a struct; and what a wrong value or a wrong password looks like.
// Run: 07_tls_acl_unix. It starts three servers of its own and makes a certificate with the openssl command.
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr char const* user = "locker";
constexpr char const* password = "p@ss";

/// The default user is off, and `locker` may do what plain locks need, on keys that begin with "lock:". A
/// fenced_mutex needs +mget, +pttl and +time as well (docs/server-checklist.md, "Rights").
std::vector<std::string> few_rights(std::vector<std::string> more = {})
{
    std::vector<std::string> arguments{
        "--user", "default", "off", "--user", user, "on", ">" + std::string(password), "~lock:*",
        // every lock needs these
        "+set", "+get", "+del", "+pexpire", "+eval", "+evalsha",
        // restarts, durable servers, steps of clocks; and, of waiters, to be woken
        "+info", "+config|get", "+time", "+client|tracking", "+pttl",
        // the fair queue needs these
        "+subscribe", "+publish", "+exists", "+type", "+zadd", "+zrange", "+zrem", "+zrank", "+zscore",
        "+zcard", "&redlock-to:*"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

/// A certificate for 127.0.0.1 that vouches for itself, as a private authority's would.
bool make_certificate(fs::path const& where)
{
    std::string const command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost "
                                "-addext subjectAltName=IP:127.0.0.1 -keyout '" +
                                (where / "key.pem").string() + "' -out '" + (where / "cert.pem").string() +
                                "' 2>'" + (where / "openssl.log").string() + "'";
    return std::system(command.c_str()) == 0;
}

std::string free_port()
{
    asio::io_context context;
    asio::ip::tcp::acceptor any(context, {asio::ip::address_v4::loopback(), 0});
    return std::to_string(any.local_endpoint().port());
}

/// Takes and frees a lock; the error's text, or how many nodes voted.
std::string try_out(redlock::config settings)
{
    settings.admission.assume_fresh =
        true; // servers started a moment ago: nothing can have been lost by a restart
    asio::io_context context;
    try {
        redlock::client locks{context.get_executor(), settings};
        auto use = [](redlock::client& owner) -> asio::awaitable<unsigned> {
            redlock::mutex printer(owner, "printer", {.node_timeout = 2s});
            redlock::lease lease = co_await printer.try_acquire();
            // The late votes arrive one by one, too: all three nodes work.
            asio::steady_timer pause(co_await asio::this_coro::executor);
            for (int tries = 0; lease.votes() != 3 && tries != 500; ++tries) {
                pause.expires_after(10ms);
                co_await pause.async_wait(asio::use_awaitable);
            }
            unsigned const votes = lease.votes();
            co_await lease.release();
            co_return votes;
        };
        auto votes = asio::co_spawn(context, use(locks), asio::use_future);
        context.run();
        return std::to_string(votes.get()) + " votes";
    } catch (redlock::lock_error const& e) {
        return e.what();
    }
}

void expect(example::promises& promises, std::string const& what, std::string const& got,
            std::string const& wanted)
{
    auto const shows = [&](std::string_view text) { return got.find(text) != std::string::npos; };
    promises.keep(shows(wanted) && !shows(password) && !shows("p%40ss"), what + ": " + got);
}

int main()
{
    example::promises promises;
    example::local_redis const plain(few_rights());
    fs::path const& place = plain.directory();
    if (!make_certificate(place)) {
        std::cerr << "no certificate: is the openssl command installed?\n";
        return EXIT_FAILURE;
    }
    std::string const socket = (place / "redis.sock").string();
    std::string const certificate = (place / "cert.pem").string();
    std::string const tls_port = free_port();
    example::local_redis const local(few_rights({"--unixsocket", socket}));
    example::local_redis const secure(few_rights(
        {"--tls-port", tls_port, "--tls-cert-file", certificate, "--tls-key-file",
         (place / "key.pem").string(), "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no"}));

    // Each URL describes its server completely. An @ in a password is written %40.
    redlock::config by_url;
    by_url.nodes = {"redis://locker:p%40ss@127.0.0.1:" + std::to_string(plain.port()),
                    "unix://locker:p%40ss@" + socket,
                    "rediss://locker:p%40ss@127.0.0.1:" + tls_port + "?tls_ca=" + certificate};
    by_url.key_prefix = "lock:";
    expect(promises, "by URL", try_out(by_url), "3 votes");

    // Or the struct holds the common settings, and no URL shows a secret.
    redlock::config by_struct{
        .nodes = {plain.url(), "unix://" + socket, "rediss://127.0.0.1:" + tls_port},
        .username = user,
        .password = password,
        .client_name = "billing",
        .key_prefix = "lock:",
        .tls = {.ca_file = certificate},
        .reconnect = {.connect_timeout = 5s},
    };
    expect(promises, "by struct", try_out(by_struct), "3 votes");

    // Or a function is asked for the password at each connection.
    redlock::config by_provider = by_struct;
    by_provider.username.clear();
    by_provider.password.clear();
    std::string current_password = password;
    by_provider.credentials_provider = [&](std::string_view) {
        return redlock::credentials{.username = user, .password = current_password};
    };
    expect(promises, "by provider", try_out(by_provider), "3 votes");

    std::cout << "What goes wrong says why, and shows no password:\n";
    redlock::config changed = by_struct;
    changed.password = "wrong";
    expect(promises, "wrong password", try_out(changed), "WRONGPASS");
    changed = by_struct;
    changed.key_prefix = "other:";
    expect(promises, "no right to the key", try_out(changed), "NOPERM");
    changed = by_struct;
    changed.nodes = {"rediss://127.0.0.1:" + tls_port};
    changed.tls = {};
    expect(promises, "unknown authority", try_out(changed), "certificate");
    changed.nodes = {"redis://locker:p%40ss@127.0.0.1:70000"};
    expect(promises, "not a port", try_out(changed), "port");
    return promises.exit_code();
}
