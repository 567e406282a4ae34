// SPDX-License-Identifier: BSL-1.0
#include "kit/certificates.hpp"
#include "kit/redis_server.hpp"
#include "kit/running.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using redlock::test::certificates;
using redlock::test::redis_server;
using redlock::test::tls_files;

/// Returns a server's answer to PING over TLS, or the exception that stopped the attempt.
std::string ping(std::uint16_t port, std::string const& authority, std::string const& host,
                 std::optional<tls_files> const& own = {})
{
    ssl::context settings(ssl::context::tls_client);
    settings.load_verify_file(authority);
    settings.set_verify_mode(ssl::verify_peer);
    if (own) {
        settings.use_certificate_chain_file(own->certificate);
        settings.use_private_key_file(own->key, ssl::context::pem);
    }
    asio::io_context context;
    return redlock::test::run(context, [&]() -> asio::awaitable<std::string> {
        ssl::stream<tcp::socket> stream(context, settings);
        stream.set_verify_callback(ssl::host_name_verification(host));
        tcp::endpoint const server(asio::ip::address_v4::loopback(), port);
        co_await stream.next_layer().async_connect(server, asio::use_awaitable);
        co_await stream.async_handshake(ssl::stream_base::client, asio::use_awaitable);
        std::string const request = "PING\r\n";
        co_await asio::async_write(stream, asio::buffer(request), asio::use_awaitable);
        std::string answer;
        co_await asio::async_read_until(stream, asio::dynamic_buffer(answer), "\r\n", asio::use_awaitable);
        co_return answer;
    });
}

bool not_verified(boost::system::system_error const& failure)
{
    return std::string(failure.what()).find("certificate verify failed") != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tls)

BOOST_AUTO_TEST_CASE(client_trusts_only_the_given_authority)
{
    certificates const papers;
    redis_server server({.tls = papers.server});
    BOOST_TEST(ping(server.tls_port(), papers.authority.file(), "127.0.0.1") == "+PONG\r\n");
    BOOST_TEST(ping(server.tls_port(), papers.authority.file(), "localhost") == "+PONG\r\n");
    BOOST_CHECK_EXCEPTION(ping(server.tls_port(), papers.stranger.file(), "localhost"),
                          boost::system::system_error, not_verified);
    BOOST_CHECK_EXCEPTION(ping(server.tls_port(), papers.authority.file(), "other.invalid"),
                          boost::system::system_error, not_verified);
}

BOOST_AUTO_TEST_CASE(expired_certificate_is_refused)
{
    certificates const papers;
    redis_server server({.tls = papers.expired});
    BOOST_CHECK_EXCEPTION(ping(server.tls_port(), papers.authority.file(), "localhost"),
                          boost::system::system_error, not_verified);
}

BOOST_AUTO_TEST_CASE(certificate_for_another_name_is_refused)
{
    certificates const papers;
    redis_server server({.tls = papers.misnamed});
    BOOST_CHECK_EXCEPTION(ping(server.tls_port(), papers.authority.file(), "localhost"),
                          boost::system::system_error, not_verified);
    BOOST_TEST(ping(server.tls_port(), papers.authority.file(), "elsewhere.invalid") == "+PONG\r\n");
}

BOOST_AUTO_TEST_CASE(server_accepts_client_certificate_of_its_authority_only)
{
    certificates const papers;
    redis_server server({.tls = papers.server, .require_client_certificate = true});
    auto const port = server.tls_port();
    auto const& authority = papers.authority.file();
    BOOST_TEST(ping(port, authority, "localhost", papers.client) == "+PONG\r\n");
    BOOST_CHECK_THROW(ping(port, authority, "localhost", papers.strange_client), boost::system::system_error);
    BOOST_CHECK_THROW(ping(port, authority, "localhost"), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(restarted_server_keeps_its_tls_port)
{
    certificates const papers;
    redis_server server({.tls = papers.server});
    auto const port = server.tls_port();
    server.kill();
    server.restart();
    BOOST_TEST(server.tls_port() == port);
    BOOST_TEST(ping(port, papers.authority.file(), "localhost") == "+PONG\r\n");
}

BOOST_AUTO_TEST_CASE(certificate_files_are_removed_with_their_owner)
{
    std::string file;
    {
        certificates const papers;
        file = papers.server.key;
        BOOST_TEST(std::filesystem::exists(file));
    }
    BOOST_TEST(!std::filesystem::exists(file));
}

BOOST_AUTO_TEST_SUITE_END()
