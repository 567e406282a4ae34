// SPDX-License-Identifier: BSL-1.0
#include "attempt.hpp"
#include "kit/certificates.hpp"
#include "kit/fault_proxy.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "kit/text.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>
#include <openssl/x509.h>

#include <filesystem>
#include <string>

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace redlock::test;
using redlock::node_result;

redlock::config trusting(redis_server const& server, std::string const& authority)
{
    auto settings = settings_for({server.tls_url()});
    settings.tls.ca_file = authority;
    return settings;
}

std::string at_localhost(redis_server const& server, std::string const& query = {})
{
    return "rediss://localhost:" + std::to_string(server.tls_port()) + query;
}

void granted_by_tls(attempt const& seen)
{
    BOOST_TEST(seen.granted(), seen.message);
}

/// Nobody was told anything over this connection, and every view of the failure tells the reason.
void refused_by_tls(attempt const& seen, std::string const& reason)
{
    BOOST_TEST(seen.result == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST_REQUIRE(seen.table.size() == 1U);
    BOOST_TEST((seen.table[0].result == node_result::unreachable));
    BOOST_TEST(contains(seen.detail(), reason), seen.detail());
    BOOST_TEST(contains(seen.message, reason), seen.message);
    BOOST_TEST((seen.nodes.at(0).state != redlock::node_state::ready));
    BOOST_TEST(contains(seen.nodes[0].detail, reason), seen.nodes[0].detail);
}

/// The name that OpenSSL looks a CA up by, in a directory.
void hash_into(fs::path const& directory, std::string const& authority)
{
    asio::ssl::context reader(asio::ssl::context::tls_client);
    reader.load_verify_file(authority);
    auto* const known = X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(reader.native_handle()));
    char name[16];
    std::snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(sk_X509_value(known, 0)));
    sk_X509_pop_free(known, X509_free);
    fs::create_directories(directory);
    fs::copy_file(authority, directory / name);
}

struct tls_server_fixture {
    certificates papers;
    redis_server server{{.tls = papers.server}};
};

} // namespace

BOOST_AUTO_TEST_SUITE(tls)

BOOST_FIXTURE_TEST_CASE(authority_file_is_trusted, tls_server_fixture)
{
    granted_by_tls(try_once(trusting(server, papers.authority.file())));
    granted_by_tls(try_once(settings_for({server.tls_url() + "?tls_ca=" + papers.authority.file()})));
    auto valkeys = trusting(server, papers.authority.file());
    valkeys.nodes = {"valkeys://127.0.0.1:" + std::to_string(server.tls_port())};
    granted_by_tls(try_once(valkeys));
}

BOOST_FIXTURE_TEST_CASE(authority_directory_is_trusted, tls_server_fixture)
{
    temporary_directory const place("redlock-ca");
    hash_into(place.path() / "known", papers.authority.file());
    hash_into(place.path() / "strange", papers.stranger.file());
    auto settings = settings_for({server.tls_url()});
    settings.tls.ca_dir = place.file("known");
    granted_by_tls(try_once(settings));
    granted_by_tls(try_once(settings_for({server.tls_url() + "?tls_ca_dir=" + place.file("known")})));
    settings.tls.ca_dir = place.file("strange");
    refused_by_tls(try_once(settings), not_trusted);
}

BOOST_FIXTURE_TEST_CASE(private_authority_is_not_trusted_by_default, tls_server_fixture)
{
    refused_by_tls(try_once(settings_for({server.tls_url()})), not_trusted);
}

BOOST_FIXTURE_TEST_CASE(authority_file_replaces_system_roots, tls_server_fixture)
{
    refused_by_tls(try_once(trusting(server, papers.stranger.file())), not_trusted);
    // The URL's authority replaces the configuration's: both ways.
    auto settings = trusting(server, papers.stranger.file());
    settings.nodes = {server.tls_url() + "?tls_ca=" + papers.authority.file()};
    granted_by_tls(try_once(settings));
    settings = trusting(server, papers.authority.file());
    settings.nodes = {server.tls_url() + "?tls_ca=" + papers.stranger.file()};
    refused_by_tls(try_once(settings), not_trusted);
}

BOOST_AUTO_TEST_CASE(certificate_for_another_name_needs_that_server_name)
{
    certificates papers;
    redis_server server({.tls = papers.misnamed});
    auto settings = trusting(server, papers.authority.file());
    refused_by_tls(try_once(settings), "IP address mismatch, wanted 127.0.0.1");
    settings.nodes = {at_localhost(server)};
    refused_by_tls(try_once(settings), "hostname mismatch, wanted localhost");
    settings.tls.server_name = "elsewhere.invalid";
    granted_by_tls(try_once(settings));
    settings.tls.server_name = "else.invalid";
    refused_by_tls(try_once(settings), "hostname mismatch, wanted else.invalid");
    settings.nodes = {at_localhost(server, "?tls_sni=elsewhere.invalid")};
    granted_by_tls(try_once(settings));
}

BOOST_AUTO_TEST_CASE(wildcard_certificate_matches_whole_name)
{
    certificates papers;
    redis_server server({.tls = papers.authority.issue_server({"DNS:*.redis.invalid"})});
    auto settings = trusting(server, papers.authority.file());
    for (char const* const wrong : {"redis.invalid", "a.b.redis.invalid", "a.redis.invalid.example", "*"}) {
        settings.tls.server_name = wrong;
        refused_by_tls(try_once(settings), "hostname mismatch");
    }
    settings.tls.server_name = "a.redis.invalid";
    granted_by_tls(try_once(settings));
}

BOOST_AUTO_TEST_CASE(ip_address_is_matched_only_against_addresses)
{
    certificates papers;
    redis_server by_address({.tls = papers.authority.issue_server({"IP:127.0.0.1"})});
    granted_by_tls(try_once(trusting(by_address, papers.authority.file())));
    auto named = trusting(by_address, papers.authority.file());
    named.nodes = {at_localhost(by_address)};
    refused_by_tls(try_once(named), "hostname mismatch");
    redis_server by_name({.tls = papers.authority.issue_server({"DNS:127.0.0.1", "DNS:localhost"})});
    refused_by_tls(try_once(trusting(by_name, papers.authority.file())), "IP address mismatch");
    redis_server elsewhere({.tls = papers.authority.issue_server({"IP:127.0.0.2"})});
    refused_by_tls(try_once(trusting(elsewhere, papers.authority.file())), "IP address mismatch");
}

BOOST_FIXTURE_TEST_CASE(trailing_dot_of_server_name_is_ignored, tls_server_fixture)
{
    auto settings = trusting(server, papers.authority.file());
    settings.tls.server_name = "localhost.";
    granted_by_tls(try_once(settings));
}

BOOST_AUTO_TEST_CASE(expired_certificate_is_refused)
{
    certificates papers;
    redis_server server({.tls = papers.expired});
    refused_by_tls(try_once(trusting(server, papers.authority.file())), "certificate has expired");
}

BOOST_AUTO_TEST_CASE(client_certificate_is_refused_as_server_certificate)
{
    certificates papers;
    redis_server server({.tls = papers.client});
    auto settings = trusting(server, papers.authority.file());
    settings.tls.server_name = "redlock-client";
    refused_by_tls(try_once(settings), "certificate verify failed");
}

BOOST_AUTO_TEST_CASE(unverifiable_certificate_is_accepted_only_if_insecure)
{
    certificates papers;
    redis_server server({.tls = papers.expired});
    auto settings = settings_for({at_localhost(server)});
    settings.tls.insecure = true;
    granted_by_tls(try_once(settings));
    granted_by_tls(try_once(settings_for({server.tls_url() + "?tls_verify=false"})));
    settings.nodes = {at_localhost(server, "?tls_verify=true&tls_ca=" + papers.authority.file())};
    refused_by_tls(try_once(settings), "certificate has expired");
}

BOOST_FIXTURE_TEST_CASE(plain_and_tls_ports_do_not_mix, tls_server_fixture)
{
    auto const plain_on_tls =
        try_once(settings_for({"redis://127.0.0.1:" + std::to_string(server.tls_port())}));
    BOOST_TEST(plain_on_tls.result == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST((plain_on_tls.table.at(0).result == node_result::unreachable));
    BOOST_TEST(contains(plain_on_tls.detail(), "a TLS port"), plain_on_tls.detail());
    auto settings = settings_for({"rediss://127.0.0.1:" + std::to_string(server.port())});
    settings.tls.insecure = true;
    settings.reconnect.connect_timeout =
        std::chrono::seconds{1}; // either side may wait for the other to speak
    auto const tls_on_plain = try_once(settings);
    BOOST_TEST(tls_on_plain.result == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST((tls_on_plain.table.at(0).result != node_result::granted));
    BOOST_TEST(contains(tls_on_plain.detail(), "is this a TLS port?"), tls_on_plain.detail());
}

BOOST_AUTO_TEST_CASE(silent_port_is_reported_with_what_it_was_asked)
{
    redis_server server;
    fault_proxy proxy(server.port());
    proxy.black_hole();
    auto settings = settings_for({"rediss://127.0.0.1:" + std::to_string(proxy.port())});
    settings.tls.insecure = true;
    settings.reconnect.connect_timeout = std::chrono::seconds{1};
    auto const in_tls = try_once(settings);
    BOOST_TEST((in_tls.table.at(0).result == node_result::timed_out));
    BOOST_TEST(contains(in_tls.detail(), "no answer to the TLS handshake"), in_tls.detail());
    settings.tls.insecure = false;
    settings.nodes = {proxy.url()};
    auto const plain = try_once(settings);
    BOOST_TEST((plain.table.at(0).result == node_result::timed_out));
    BOOST_TEST(contains(plain.detail(), "no answer to HELLO"), plain.detail());
}

BOOST_AUTO_TEST_SUITE_END()
