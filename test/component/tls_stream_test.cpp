// SPDX-License-Identifier: BSL-1.0
// A TLS connection of this library with an end that Asio has made.
#include "kit/certificates.hpp"
#include "kit/running.hpp"
#include "net/coroutine.hpp"
#include "net/leaf/tls.hpp"
#include "net/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;
namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

namespace {

using local_socket = asio::local::stream_protocol::socket;

/// More than a socket holds, and of many records.
std::string long_text()
{
    std::string text;
    for (unsigned i = 0; text.size() < std::size_t{4} << 20U; ++i)
        text += std::to_string(i) + ' ';
    return text;
}

/// Reads with little memory.
struct reader final : net::stream_listener {
    explicit reader(std::shared_ptr<net::stream> of) : from(std::move(of)) { from->listen(*this); }
    void read() { from->start_read(asio::buffer(memory)); }
    void on_read(net::error_code ec, std::size_t bytes) override
    {
        text.append(memory.data(), bytes);
        end = ec;
        if (!ec)
            read();
    }
    void on_writable(net::error_code ec) override
    {
        end = ec;
        ++writable;
    }

    std::shared_ptr<net::stream> from;
    std::array<char, 1000> memory{};
    std::string text;
    net::error_code end;
    int writable = 0;
};

struct tls_stream_fixture {
    certificates papers;
    tls_files own;
    asio::io_context context;
    ssl::context theirs{ssl::context::tls_server};
    std::shared_ptr<net::stream> client;
    std::unique_ptr<ssl::stream<local_socket>> server;

    tls_stream_fixture() : tls_stream_fixture("DNS:localhost", "localhost") {}
    tls_stream_fixture(std::string const& certified, std::string const& wanted)
        : own(papers.authority.issue_server({certified}))
    {
        theirs.use_certificate_chain_file(own.certificate);
        theirs.use_private_key_file(own.key, ssl::context::pem);
        local_socket near(context);
        local_socket far(context);
        asio::local::connect_pair(near, far);
        server = std::make_unique<ssl::stream<local_socket>>(std::move(far), theirs);
        net::error_code ec;
        client = net::make_tls_stream(
            std::move(near), net::make_tls_context({.ca_file = papers.authority.file()}), wanted, true, ec);
        BOOST_REQUIRE(!ec);
        shake_hands();
    }
    void shake_hands()
    {
        net::completion ours;
        net::error_code their_end = asio::error::would_block;
        client->handshake({ours, nullptr});
        server->async_handshake(ssl::stream_base::server, [&](net::error_code ec) { their_end = ec; });
        run_until(context, [&] { return ours.done && their_end != asio::error::would_block; });
        BOOST_REQUIRE(!ours.ec);
        BOOST_REQUIRE(!their_end);
    }
    std::string read_by_server(std::size_t size)
    {
        std::string text(size, ' ');
        bool done = false;
        asio::async_read(*server, asio::buffer(text), [&](net::error_code, std::size_t) { done = true; });
        run_until(context, [&] { return done; });
        return text;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(tls_stream, tls_stream_fixture)

// rule R1
BOOST_AUTO_TEST_CASE(what_a_full_socket_does_not_take_follows)
{
    reader ours(client);
    std::string const text = long_text();
    std::string out = text;
    client->flush(out);
    BOOST_TEST(out.empty());
    std::string behind = "behind";
    client->flush(behind);
    BOOST_TEST(behind == "behind"); // waits
    BOOST_TEST((read_by_server(text.size()) == text));
    run_until(context, [&] { return ours.writable != 0; });
    BOOST_TEST(ours.writable == 1);
    BOOST_TEST(ours.end == net::error_code());
    client->flush(behind);
    BOOST_TEST(read_by_server(6) == "behind");
    client->close();
}

BOOST_AUTO_TEST_CASE(records_are_read_with_less_memory_than_they_need)
{
    reader ours(client);
    ours.read();
    std::string const text = long_text();
    asio::async_write(*server, asio::buffer(text), [](net::error_code, std::size_t) {});
    run_until(context, [&] { return ours.text.size() == text.size(); });
    BOOST_TEST((ours.text == text));
    client->close();
}

BOOST_AUTO_TEST_CASE(text_that_came_with_the_handshake_is_read)
{
    bool sent = false;
    asio::async_write(*server, asio::buffer("hello", 5), [&](net::error_code, std::size_t) { sent = true; });
    run_until(context, [&] { return sent; });
    std::array<char, 2> some{};
    net::completion told;
    client->read(asio::buffer(some), {told, nullptr});
    run_until(context, [&] { return told.done; });
    BOOST_TEST(std::string(some.data(), told.bytes) == "he");
    reader ours(client);
    ours.read();
    run_until(context, [&] { return ours.text == "llo"; });
    client->close();
}

BOOST_AUTO_TEST_CASE(end_without_farewell_is_an_error_and_one_with_it_is_the_end)
{
    for (bool const farewell : {false, true}) {
        tls_stream_fixture fresh;
        reader ours(fresh.client);
        ours.read();
        if (farewell)
            fresh.server->async_shutdown([](net::error_code) {});
        else
            fresh.server->lowest_layer().close();
        run_until(fresh.context, [&] { return !!ours.end; });
        BOOST_TEST(ours.end == (farewell ? net::error_code(asio::error::eof) : ssl::error::stream_truncated));
        fresh.client->close();
        while (fresh.context.poll() != 0)
            ;
    }
    client->close();
}

// rule R1
BOOST_AUTO_TEST_CASE(last_words_follow_what_waits)
{
    reader ours(client);
    std::string const text = long_text();
    std::string out = text;
    client->flush(out);
    client->finish("farewell");
    BOOST_TEST((read_by_server(text.size() + 8) == text + "farewell"));
    BOOST_TEST(ours.writable == 0);
}

// rule A3
BOOST_AUTO_TEST_CASE(forked_child_leaves_last_words_to_the_parent)
{
    std::string const text = long_text();
    client->finish(text); // more than a socket holds
    context.notify_fork(asio::io_context::fork_prepare);
    pid_t const child = ::fork();
    if (child == 0) {
        context.notify_fork(asio::io_context::fork_child);
        context.restart();
        context.run_for(std::chrono::seconds{1});
        ::_exit(0);
    }
    context.notify_fork(asio::io_context::fork_parent);
    BOOST_TEST_REQUIRE(child > 0);
    std::string into(text.size(), ' ');
    std::size_t bytes = 0;
    server->next_layer().non_blocking(true);
    for (bool over = false; !over;) {
        over = ::waitpid(child, nullptr, WNOHANG) != 0;
        net::error_code ec;
        while (!ec)
            bytes += server->next_layer().read_some(asio::buffer(into), ec);
    }
    BOOST_TEST(bytes != 0U);
    BOOST_TEST(bytes < text.size());
}

/// A Sentinel may name servers so. Neither a dot at the end nor a zone is part of a certificate's name.
// rule N8
BOOST_AUTO_TEST_CASE(name_in_certificate_has_no_final_dot_and_no_zone)
{
    for (std::string const wanted : {"localhost.", "fe80::1%1"}) {
        BOOST_TEST_CONTEXT(wanted)
        {
            std::string const certified = wanted == "localhost." ? "DNS:localhost" : "IP:fe80::1";
            tls_stream_fixture const fresh(certified, wanted); // shakes hands
            fresh.client->close();
        }
    }
    client->close();
}

/// The bytes are there already, but the listener does not hear of them any more.
// rule R1
BOOST_AUTO_TEST_CASE(read_leaves_the_memory_of_a_former_listener_alone)
{
    bool sent = false;
    asio::async_write(*server, asio::buffer("hello", 5), [&](net::error_code, std::size_t) { sent = true; });
    run_until(context, [&] { return sent; });
    reader ours(client);
    ours.read();
    client->finish({});
    server->lowest_layer().close();
    run_until(context, [&] { return context.stopped(); });
    BOOST_TEST(ours.memory[0] == '\0');
}

BOOST_AUTO_TEST_SUITE_END()
