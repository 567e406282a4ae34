// SPDX-License-Identifier: BSL-1.0
#include "kit/certificates.hpp"
#include "refusal.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <functional>
#include <string>

using namespace redlock::test;
using redlock::config;

namespace {

struct certificate_files_fixture {
    certificates papers;
    temporary_directory place{"redlock-config"};

    std::string written(std::string const& name, std::string const& content) const
    {
        std::ofstream(place.file(name)) << content;
        return place.file(name);
    }

    static std::string of_tls(std::function<void(redlock::tls_settings&)> const& change)
    {
        config settings;
        settings.nodes = {"rediss://127.0.0.1:6379"};
        change(settings.tls);
        return of_client(settings);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(tls_configuration)

BOOST_FIXTURE_TEST_CASE(tls_config_names_unreadable_file, certificate_files_fixture)
{
    auto const absent = place.file("absent");
    auto const empty = written("empty", "");
    auto const junk = written("junk", "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
    for (auto const& file : {absent, empty, junk}) {
        names(of_tls([&](auto& tls) { tls.ca_file = file; }),
              {"rediss://127.0.0.1:6379", "CA file " + file + ": "});
        names(of_tls([&](auto& tls) { tls.cert_file = file, tls.key_file = papers.client.key; }),
              {"client certificate " + file + ": "});
        names(of_tls([&](auto& tls) { tls.cert_file = papers.client.certificate, tls.key_file = file; }),
              {"client key " + file + ": "});
        names(of_tls([&](auto& tls) { tls.ca_dir = file; }), {"CA directory " + file + ": "});
        names(of_nodes({"rediss://a?tls_ca=" + file}), {"rediss://a:6379", file});
    }
    BOOST_TEST(of_tls([&](auto& tls) { tls.ca_file = papers.authority.file(); }) == "");
    BOOST_TEST(of_tls([&](auto& tls) { tls.ca_dir = place.path().string(); }) == "");
}

BOOST_AUTO_TEST_CASE(tls_config_without_tls_node_is_refused)
{
    config settings;
    settings.tls.insecure = true;
    settings.nodes = {"redis://a"};
    names(of_client(settings), {"tls settings", "rediss://"});
    settings.nodes = {"redis://a", "rediss://b"};
    BOOST_TEST(of_client(settings) == "");
}

BOOST_FIXTURE_TEST_CASE(tls_config_needs_matching_certificate_and_key, certificate_files_fixture)
{
    names(of_tls([&](auto& tls) { tls.cert_file = papers.client.certificate; }), {"go together"});
    names(of_tls([&](auto& tls) { tls.key_file = papers.client.key; }), {"go together"});
    names(of_tls([&](auto& tls) {
              tls.cert_file = papers.client.certificate;
              tls.key_file = papers.strange_client.key;
          }),
          {"client key " + papers.strange_client.key, "mismatch"});
    names(of_nodes({"rediss://a?tls_cert=" + papers.client.certificate}), {"go together"});
}

BOOST_AUTO_TEST_SUITE_END()
