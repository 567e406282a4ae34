// SPDX-License-Identifier: BSL-1.0
#include "attempt.hpp"
#include "kit/certificates.hpp"
#include "kit/redis_server.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>

#include <string>

namespace {

namespace asio = boost::asio;
using namespace redlock::test;
using redlock::node_result;

/// A server that lets in only clients that its authority has signed for.
struct mutual_tls_fixture {
    certificates papers;
    redis_server server{{.tls = papers.server, .require_client_certificate = true}};

    redlock::config settings(tls_files const* own, std::string const& query = {}) const
    {
        auto made = settings_for({server.tls_url() + query});
        made.tls.ca_file = papers.authority.file();
        if (own) {
            made.tls.cert_file = own->certificate;
            made.tls.key_file = own->key;
        }
        return made;
    }
};

void refused(attempt const& seen, std::string const& reason)
{
    BOOST_TEST(seen.result == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST_REQUIRE(seen.table.size() == 1U);
    BOOST_TEST((seen.table[0].result == node_result::unreachable));
    BOOST_TEST((seen.detail().find(reason) != std::string::npos), seen.detail());
    BOOST_TEST((seen.message.find(reason) != std::string::npos), seen.message);
    BOOST_TEST((seen.nodes.at(0).detail.find(reason) != std::string::npos), seen.nodes[0].detail);
}

/// Whether a client without our rules gets through with this version: the server offers it.
bool offers(redis_server const& server, int version)
{
    asio::ssl::context rules(asio::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(rules.native_handle(), version);
    SSL_CTX_set_max_proto_version(rules.native_handle(), version);
    SSL_CTX_set_cipher_list(rules.native_handle(), "DEFAULT@SECLEVEL=0");
    asio::io_context context;
    asio::ssl::stream<asio::ip::tcp::socket> stream(context, rules);
    stream.next_layer().connect({asio::ip::address_v4::loopback(), server.tls_port()});
    boost::system::error_code ec;
    stream.handshake(asio::ssl::stream_base::client, ec);
    return !ec;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tls_client_certificate)

BOOST_FIXTURE_TEST_CASE(client_certificate_is_accepted_if_configured, mutual_tls_fixture)
{
    auto const seen = try_once(settings(&papers.client));
    BOOST_TEST(seen.granted(), seen.message);
    auto const in_url = "?tls_cert=" + papers.client.certificate + "&tls_key=" + papers.client.key;
    auto const by_url = try_once(settings(nullptr, in_url));
    BOOST_TEST(by_url.granted(), by_url.message);
    auto const url_wins = try_once(settings(&papers.strange_client, in_url));
    BOOST_TEST(url_wins.granted(), url_wins.message);
}

BOOST_FIXTURE_TEST_CASE(client_certificate_missing_is_reported, mutual_tls_fixture)
{
    refused(try_once(settings(nullptr)), "the server asked for a client certificate, and none is configured");
}

BOOST_FIXTURE_TEST_CASE(client_certificate_of_unknown_authority_is_reported, mutual_tls_fixture)
{
    refused(try_once(settings(&papers.strange_client)),
            "the server asked for a client certificate, and may not accept ours");
}

BOOST_FIXTURE_TEST_CASE(client_certificate_does_not_make_server_trusted, mutual_tls_fixture)
{
    auto wary = settings(&papers.client);
    wary.tls.ca_file = papers.stranger.file();
    refused(try_once(wary), not_trusted);
}

BOOST_AUTO_TEST_CASE(client_certificate_is_accepted_with_tls_1_2)
{
    certificates papers;
    redis_server server({.tls = papers.server,
                         .require_client_certificate = true,
                         .arguments = {"--tls-protocols", "TLSv1.2"}});
    auto settings = settings_for({server.tls_url()});
    settings.tls.ca_file = papers.authority.file();
    refused(try_once(settings), "the server asked for a client certificate, and none is configured");
    settings.tls.cert_file = papers.client.certificate;
    settings.tls.key_file = papers.client.key;
    auto const seen = try_once(settings);
    BOOST_TEST(seen.granted(), seen.message);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(tls_versions)

BOOST_AUTO_TEST_CASE(tls_version_older_than_1_2_is_refused)
{
    certificates papers;
    redis_server server({.tls = papers.server,
                         .arguments = {"--tls-protocols", "TLSv1.1", "--tls-ciphers", "DEFAULT@SECLEVEL=0"}});
    BOOST_TEST_REQUIRE(offers(server, TLS1_1_VERSION));
    auto settings = settings_for({server.tls_url()});
    settings.tls.insecure = true; // also then
    refused(try_once(settings), "TLS: ");
}

BOOST_AUTO_TEST_SUITE_END()
