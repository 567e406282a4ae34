// SPDX-License-Identifier: BSL-1.0
#include "attempt.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

namespace {

namespace asio = boost::asio;
using namespace redlock::test;

constexpr std::string_view name_of_two = "two-addresses.invalid";
/// The addresses of the name, in the order in which the resolver gives them.
std::string first_address;
std::string second_address;

using getaddrinfo_t = int(char const*, char const*, addrinfo const*, addrinfo**);

getaddrinfo_t* systems_getaddrinfo()
{
    static auto* const real = reinterpret_cast<getaddrinfo_t*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real;
}

} // namespace

/// Replaces the C library's function, so that a name has the addresses that a test wants, whatever this machine's hosts
/// file says.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int getaddrinfo(char const* host, char const* service, addrinfo const* hints, addrinfo** found)
{
    if (host == nullptr || host != name_of_two)
        return systems_getaddrinfo()(host, service, hints, found);
    addrinfo* more = nullptr;
    addrinfo numeric = *hints;
    numeric.ai_flags = AI_NUMERICHOST; // AI_ADDRCONFIG leaves out addresses of families without a network
    if (int const failed = systems_getaddrinfo()(first_address.c_str(), service, &numeric, found);
        failed != 0)
        return failed;
    if (int const failed = systems_getaddrinfo()(second_address.c_str(), service, &numeric, &more);
        failed != 0) {
        ::freeaddrinfo(*found);
        return failed;
    }
    addrinfo* last = *found;
    while (last->ai_next != nullptr)
        last = last->ai_next;
    last->ai_next = more;
    return 0;
}

namespace {

bool this_machine_has_ipv6()
{
    asio::io_context context;
    asio::ip::tcp::acceptor taken(context);
    boost::system::error_code ec;
    taken.open(asio::ip::tcp::v6(), ec);
    if (!ec)
        taken.bind({asio::ip::address_v6::loopback(), 0}, ec);
    if (ec)
        BOOST_TEST_MESSAGE("skipped: no IPv6 on this machine");
    return !ec;
}

void granted(std::string const& url)
{
    auto const seen = try_once(settings_for({url}));
    BOOST_TEST(seen.granted(), url << ": " << seen.message);
}

std::string by_name(redis_server const& server)
{
    return "redis://" + std::string(name_of_two) + ":" + std::to_string(server.port());
}

} // namespace

BOOST_AUTO_TEST_SUITE(addresses)

BOOST_AUTO_TEST_CASE(address_of_every_kind_is_connected)
{
    redis_server server;
    auto const port = ":" + std::to_string(server.port());
    for (char const* const host : {"127.0.0.1", "localhost", "LocalHost", ""})
        granted(std::string("redis://") + host + port);
    granted("valkey://127.0.0.1" + port);
    granted("unix://" + server.unix_path());
}

BOOST_AUTO_TEST_CASE(unix_socket_path_with_escapes_is_connected)
{
    temporary_directory const place("redlock socket");
    redis_server server({.unix_path = place.file("a b%c")});
    std::string encoded = "unix://";
    for (char const c : server.unix_path())
        encoded += c == ' ' ? "%20" : c == '%' ? "%25" : std::string(1, c);
    granted(encoded);
}

BOOST_AUTO_TEST_CASE(ipv6_address_is_connected)
{
    if (!this_machine_has_ipv6())
        return;
    redis_server server({.arguments = {"--bind", "::1"}});
    granted("redis://[::1]:" + std::to_string(server.port()));
}

BOOST_AUTO_TEST_CASE(addresses_of_a_name_are_tried_one_after_the_other)
{
    redis_server server;
    first_address = "127.0.0.2"; // nobody listens there
    second_address = "127.0.0.1";
    granted(by_name(server));
    std::swap(first_address, second_address);
    granted(by_name(server));
    first_address = second_address;
    auto const seen = try_once(settings_for({by_name(server)}));
    BOOST_TEST(seen.result == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST(seen.detail() == "Connection refused");
}

BOOST_AUTO_TEST_CASE(addresses_of_both_families_are_tried)
{
    if (!this_machine_has_ipv6())
        return;
    redis_server server;
    first_address = "::1";
    second_address = "127.0.0.1";
    granted(by_name(server));
    redis_server newer({.arguments = {"--bind", "::1"}});
    std::swap(first_address, second_address);
    granted(by_name(newer));
}

BOOST_AUTO_TEST_CASE(unknown_address_is_named_in_the_outcome)
{
    auto const seen = try_once(settings_for({"redis://nowhere.invalid:1"}));
    BOOST_TEST((seen.table.at(0).result == redlock::node_result::unreachable));
    BOOST_TEST(seen.detail().starts_with("cannot resolve the host name: "), seen.detail());
    auto const absent = try_once(settings_for({"unix:///nonexistent/socket"}));
    BOOST_TEST(absent.detail() == "No such file or directory");
}

BOOST_AUTO_TEST_CASE(lock_name_may_hold_any_byte)
{
    redis_server server;
    std::string const name("a\0b\xff\r\n*1\r\n", 10);
    asio::io_context context;
    redlock::client locks(context.get_executor(), settings_for({server.url()}));
    redlock::mutex lock(locks, name, long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await lock.acquire();
        BOOST_TEST(probe(server.port()).get(name).value_or("") == std::string(held.nonce()));
        BOOST_TEST(std::string(held.resource()) == name);
        co_await held.release();
        BOOST_TEST(!probe(server.port()).exists(name));
    });
}

BOOST_AUTO_TEST_CASE(started_program_does_not_inherit_connections)
{
    redis_server server;
    asio::io_context context;
    redlock::client locks(context.get_executor(), settings_for({server.url()}));
    redlock::mutex lock(locks, "lock", long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await lock.acquire();
        int connections = 0;
        for (int file = 3; file != 1024; ++file) {
            sockaddr_in there{};
            socklen_t size = sizeof there;
            if (::getpeername(file, reinterpret_cast<sockaddr*>(&there), &size) != 0 ||
                ntohs(there.sin_port) != server.port())
                continue;
            ++connections;
            BOOST_TEST((::fcntl(file, F_GETFD) & FD_CLOEXEC) != 0);
        }
        BOOST_TEST(connections == 1);
        co_await held.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()
