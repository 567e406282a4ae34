// SPDX-License-Identifier: BSL-1.0
#include "url_parsing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <variant>

using namespace redlock::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(url)

BOOST_AUTO_TEST_CASE(url_options_are_parsed)
{
    auto const node =
        good("rediss://h?db=1&protocol=2&client_name=app%2d1&connect_timeout=1.5s&command_timeout=250ms"
             "&health_check_interval=2m&keepalive=false&tls_ca=/ca.pem&tls_ca_dir=/ca&tls_cert=/c.pem"
             "&tls_key=/k.pem&tls_sni=name&tls_verify=true");
    BOOST_TEST(node.database == 1U);
    BOOST_TEST(node.protocol.value() == 2);
    BOOST_TEST(node.client_name.value() == "app-1");
    BOOST_TEST((node.connect_timeout == 1500ms));
    BOOST_TEST((node.command_timeout == 250ms));
    BOOST_TEST((node.health_check_interval == 2min));
    BOOST_TEST(!node.keepalive.value());
    BOOST_TEST(node.tls_ca.value() == "/ca.pem");
    BOOST_TEST(node.tls_ca_dir.value() == "/ca");
    BOOST_TEST(node.tls_cert.value() == "/c.pem");
    BOOST_TEST(node.tls_key.value() == "/k.pem");
    BOOST_TEST(node.tls_sni.value() == "name");
    BOOST_TEST(node.tls_verify.value());

    auto const plain = good("redis://h");
    BOOST_TEST(!plain.protocol);
    BOOST_TEST(!plain.client_name);
    BOOST_TEST(!plain.connect_timeout);
    BOOST_TEST(!plain.keepalive);
    BOOST_TEST(!plain.tls_verify);
    BOOST_TEST((good("redis://h?health_check_interval=0s").health_check_interval == 0ms));
    BOOST_TEST(good("redis://h?keepalive=1").keepalive.value());
}

BOOST_AUTO_TEST_CASE(url_durations_are_parsed_exactly)
{
    struct row {
        std::string_view text;
        long long milliseconds; // -1: refused
    };
    row const rows[] = {
        {"1ms", 1},
        {"500ms", 500},
        {"2s", 2000},
        {"1.5s", 1500},
        {"0.001s", 1},
        {"1.25m", 75000},
        {"1.5000s", 1500},
        {"0.00005m", 3},
        {"2.0ms", 2},
        {"999999999m", 59999999940000},
        {"", -1},
        {"5", -1},
        {"ms", -1},
        {"s", -1},
        {"1 s", -1},
        {"1h", -1},
        {"-1s", -1},
        {"+1s", -1},
        {"1.s", -1},
        {".5s", -1},
        {"1..5s", -1},
        {"1.5.1s", -1},
        {"0.5ms", -1},
        {"1.0005s", -1},
        {"1.00005s", -1},
        {"1e3ms", -1},
        {"1000000000s", -1},
        {"0s", -1},
        {"1.000005m", -1},
        {"0.0000000001m", -1},
        {"1ms ", -1},
        {"1MS", -1},
        {"1.05ms", -1},
        {"0.0ms", -1},
    };
    for (auto const& row : rows) {
        BOOST_TEST_CONTEXT(row.text)
        {
            auto const parsed = parse_url("redis://h?connect_timeout=" + std::string{row.text});
            auto const* const node = std::get_if<endpoint>(&parsed);
            BOOST_TEST((node != nullptr ? node->connect_timeout.value().count() : -1) == row.milliseconds);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
