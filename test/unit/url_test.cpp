// SPDX-License-Identifier: BSL-1.0
#include "url_parsing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace redlock::test;

namespace {

bool same(std::string_view a, std::string_view b)
{
    return same_server(good(a), good(b)) && same_server(good(b), good(a));
}

using kind = endpoint::kind;

} // namespace

BOOST_AUTO_TEST_SUITE(url)

BOOST_AUTO_TEST_CASE(url_host_port_and_database_are_parsed)
{
    struct row {
        std::string_view url;
        kind transport;
        std::string_view host;
        int port;
        unsigned database;
        std::string_view shown;
    };
    row const rows[] = {
        {"redis://", kind::tcp, "localhost", 6379, 0, "redis://localhost:6379"},
        {"redis:///2", kind::tcp, "localhost", 6379, 2, "redis://localhost:6379/2"},
        {"redis://:7000", kind::tcp, "localhost", 7000, 0, "redis://localhost:7000"},
        {"redis://10.0.0.1", kind::tcp, "10.0.0.1", 6379, 0, "redis://10.0.0.1:6379"},
        {"redis://a_b.Example:1/", kind::tcp, "a_b.example", 1, 0, "redis://a_b.example:1"},
        {"redis://h%6fst:65535?", kind::tcp, "host", 65535, 0, "redis://host:65535"},
        {"valkey://h/2147483647", kind::tcp, "h", 6379, 2147483647, "redis://h:6379/2147483647"},
        {"rediss://h", kind::tls, "h", 6379, 0, "rediss://h:6379"},
        {"valkeys://h?db=3", kind::tls, "h", 6379, 3, "rediss://h:6379/3"},
        {"redis://[::1]", kind::tcp, "::1", 6379, 0, "redis://[::1]:6379"},
        {"redis://[FE80::1%25eth0]:7", kind::tcp, "fe80::1%eth0", 7, 0, "redis://[fe80::1%25eth0]:7"},
        {"redis://[::ffff:10.0.0.1]:7", kind::tcp, "::ffff:10.0.0.1", 7, 0, "redis://[::ffff:10.0.0.1]:7"},
    };
    for (auto const& row : rows) {
        BOOST_TEST_CONTEXT(row.url)
        {
            auto const node = good(row.url);
            BOOST_TEST((node.transport == row.transport));
            BOOST_TEST(node.host == row.host);
            BOOST_TEST(node.port == row.port);
            BOOST_TEST(node.database == row.database);
            BOOST_TEST(node.path.empty());
            BOOST_TEST(node.username.empty());
            BOOST_TEST(node.password.empty());
            BOOST_TEST(display(node) == row.shown);
        }
    }
}

BOOST_AUTO_TEST_CASE(url_of_unix_socket_is_parsed)
{
    auto const node = good("unix:///run/redis%20a/s%40.sock?db=2&client_name=x");
    BOOST_TEST((node.transport == kind::unix_socket));
    BOOST_TEST(node.path == "/run/redis a/s@.sock");
    BOOST_TEST(node.database == 2U);
    BOOST_TEST(display(node) == "unix:///run/redis%20a/s%40.sock?db=2");
    auto const guarded = good("unix://u:p@/s");
    BOOST_TEST(guarded.username == "u");
    BOOST_TEST(guarded.password == "p");
    BOOST_TEST(display(guarded) == "unix:///s");
    BOOST_TEST(good("unix:///" + std::string(106, 'a')).path.size() == 107U);
    for (auto const url :
         {"unix://", "unix:///", "unix://run/s", "unix://h:1/s", "unix:///s%00", "unix:///s?tls_ca=/c"})
        bad(url);
    bad("unix:///" + std::string(107, 'a'));
}

BOOST_AUTO_TEST_CASE(url_of_group_is_parsed)
{
    auto const node =
        good("redis+sentinel://u:p@A,10.0.0.1:7,[::1]:8/main?db=2&sentinel_username=s&sentinel_password=t");
    BOOST_TEST((node.transport == kind::tcp));
    BOOST_TEST_REQUIRE(node.sentinels.size() == 3U);
    BOOST_TEST(display(node.sentinels[0]) == "a:26379");
    BOOST_TEST(display(node.sentinels[1]) == "10.0.0.1:7");
    BOOST_TEST(display(node.sentinels[2]) == "[::1]:8");
    BOOST_TEST(node.group == "main");
    BOOST_TEST(node.username == "u");
    BOOST_TEST(node.password == "p");
    BOOST_TEST(node.sentinel_username.value_or("") == "s");
    BOOST_TEST(node.sentinel_password.value_or("") == "t");
    BOOST_TEST(node.database == 2U);
    BOOST_TEST(display(node) == "redis+sentinel://a:26379,10.0.0.1:7,[::1]:8/main?db=2");
    auto const other = good("valkeys+sentinel://h/a%2Fb");
    BOOST_TEST((other.transport == kind::tls));
    BOOST_TEST(other.group == "a/b");
    BOOST_TEST(display(other) == "rediss+sentinel://h:26379/a/b");
    BOOST_TEST(good(display(other)).group == "a/b");
}

BOOST_AUTO_TEST_CASE(url_credentials_are_parsed)
{
    struct row {
        std::string_view url;
        std::string_view username;
        std::string_view password;
    };
    row const rows[] = {
        {"redis://u:p@h", "u", "p"},
        {"redis://:p@h", "", "p"},
        {"redis://u@h", "u", ""},
        {"redis://u:@h", "u", ""},
        {"redis://@h", "", ""},
        {"redis://us%3Aer:p%40%2F%3F%23%3a%25@h", "us:er", "p@/?#:%"},
        {"redis://u:!$&'()*+,;=~-._@h", "u", "!$&'()*+,;=~-._"},
    };
    for (auto const& row : rows) {
        BOOST_TEST_CONTEXT(row.url)
        {
            auto const node = good(row.url);
            BOOST_TEST(node.username == row.username);
            BOOST_TEST(node.password == row.password);
            BOOST_TEST(node.host == "h");
            BOOST_TEST(display(node) == "redis://h:6379");
        }
    }
    BOOST_TEST(good("redis://u:a%00b@h").password == std::string("a\0b", 3));
}

BOOST_AUTO_TEST_CASE(invalid_url_is_refused_with_reason)
{
    struct row {
        std::string_view url;
        std::string_view reason; // part of the message
    };
    row const rows[] = {
        {"", "scheme"},
        {"localhost:6379", "scheme"},
        {"redis:/h", "scheme"},
        {"REDIS://h", "lower case"},
        {"http://h", "scheme"},
        {"unix+sentinel://h/g", "scheme"},
        {"redis+sentinel://h", "name that the Sentinels have"},
        {"redis+sentinel://h/", "name that the Sentinels have"},
        {"redis+sentinel:///g", "without a host"},
        {"redis+sentinel://h,/g", "without a host"},
        {"redis+sentinel://h,:1,i/g", "without a host"},
        {"redis+sentinel://h:1:2,i/g", "port"},
        {"redis+sentinel://h/g%20h", "visible ASCII"},
        {"redis+sentinel://h/g,h", "options follow a '?'"},
        {"redis+sentinel://h/g%3Dh", "options follow a '?'"},
        {"redis+sentinel://h/g&db=1", "options follow a '?'"},
        {"redis+sentinel://h/myPassword", "options follow a '?'"},
        {"unix:///a&db=1", "%26"},
        {"unix:///a,b", "%2C"},
        {"redis+sentinel://1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,h,i/g", "more than 16"},
        {"redis://h?sentinel_password=p", "redis+sentinel://"},
        {"redis://h:", "port"},
        {"redis://h:0", "port"},
        {"redis://h:65536", "port"},
        {"redis://h:99999", "port"},
        {"redis://h:+1", "port"},
        {"redis://h:1a", "port"},
        {"redis://h:1,i:2", "one URL names one node"},
        {"redis://h,redis://i", "one URL names one node"},
        {"redis://h:1,redis://i:2", "one URL names one node"},
        {"redis://h:1, redis://i:2", "one URL names one node"},
        {"redis://u:p@h:1,redis://u:p@i:2", "one URL names one node"},
        {"redis://[::1]:1,[::2]:2", "one URL names one node"},
        {"unix:///a,unix:///b", "one URL names one node"},
        {"h:1,i:2", "one URL names one node"},
        {"redis://::1:22081", "redis://[::1]:6379"},
        {"redis://h,i", "one URL names one node"},
        {"redis://::1", "port"},
        {"redis://[::1", "]"},
        {"redis://[::1]x", "]"},
        {"redis://[]", "IPv6"},
        {"redis://[h]", "IPv6"},
        {"redis://[::1%eth0]", "IPv6"},
        {"redis://[::1%25]", "zone"},
        {"redis://[::1%2500]:x", "port"},
        {"redis://u:1/2@h", "%2F"},
        {"redis://u:1?client_name=a@h", "%40"},
        {"redis://h%00", "zero byte"},
        {"redis://h%", "percent"},
        {"redis://h%4", "percent"},
        {"redis://h%4g", "percent"},
        {"redis://h%+4", "percent"},
        {"redis://h%20", "host"},
        {"redis://h/x", "database"},
        {"redis://h/-1", "database"},
        {"redis://h/1/", "database"},
        {"redis://h//", "database"},
        {"redis://h/2147483648", "database"},
        {"redis://h/4294967296", "database"},
        {"redis://h#x", "fragment"},
        {"redis://h?db=1#x", "fragment"},
        {"redis://h?databas=1", "unknown option, number 1"},
        {"redis://h?db=1&DB=1", "unknown option, number 2"},
        {"redis://h?db=1&db=1", "'db' is given twice"},
        {"redis://h/1?db=1", "'db' is given twice"},
        {"redis://h?db", "database"},
        {"redis://h?client_name=", "'client_name' has no value"},
        {"redis://h?client_name=a%20b", "client_name"},
        {"redis://h?&db=1", "without a name"},
        {"redis://h?=1", "without a name"},
        {"redis://h?protocol=4", "protocol"},
        {"redis://h?protocol=3x", "protocol"},
        {"redis://h?keepalive=yes", "keepalive"},
        {"rediss://h?tls_ca=a%00", "zero byte"},
        {"redis://h?tls_verify=true", "'tls_verify' needs a rediss://"},
        {"redis://h?connect_timeout=0ms", "longer than zero"},
        {"redis://h h", "percent-encoded"},
        {"redis://h\n", "percent-encoded"},
        {"redis://h\xc3\xa4", "percent-encoded"},
    };
    for (auto const& row : rows)
        BOOST_TEST_CONTEXT(row.url << " must name " << row.reason)
    BOOST_TEST(bad(row.url).find(row.reason) != std::string::npos);
    bad("redis://" + std::string(4089, 'h'));
    good("redis://" + std::string(4088, 'h'));
}

BOOST_AUTO_TEST_CASE(error_of_invalid_url_shows_no_secret)
{
    std::string_view const urls[] = {
        "redis://user:secret@h:x",
        "redis://user:se@secret@h",
        "redis://user:secret/more@h",
        "redis://user:secret?more@h",
        "redis://user:secret#more@h",
        "redis://user:secret:secret@h",
        "redis://user:secret%zz@h",
        "redis://user:secret@h?bogus=1",
        "redis://user:secret@h?db=1&client_name=secret@x",
        "redis://user:12secret@/x",
        "REDIS://user:secret@h",
        "redis:/user:secret@h",
        "user:secret@h",
        "user:secret@h://x",
        "redis://user:sec ret secret@h",
        "redis://:secret",
        "redis://user:secret",
        "redis://:secret%40h:6379",
        "rediss://user:secret%40h:6379/1?db=2",
        "redis://user:12secret/1",
        "unix://user:secret@/",
        "redis://h?password=secret",
        "redis://h?username=user&db=1",
        "redis://h?password%3Dsecret=secret&x=user#secret",
    };
    for (auto const url : urls) {
        BOOST_TEST_CONTEXT(url)
        {
            auto const shown = bad(url).substr(0, bad(url).find(": "));
            BOOST_TEST(shown.find("user") == std::string::npos);
            BOOST_TEST(bad(url).find("=secret") == std::string::npos);
            BOOST_TEST(shown.find("secret") == std::string::npos);
        }
    }
    BOOST_TEST(bad("redis://user:secret@h:x") ==
               "redis://***@...: the port must be a number from 1 to 65535");
    BOOST_TEST(bad("redis://h?password=secret") ==
               "redis://h...: unknown option 'password': user and password stand before the host");
    BOOST_TEST(bad("redis://:12345678").find("12345678") == std::string::npos); // not a port
}

// rule N1
BOOST_AUTO_TEST_CASE(two_spellings_of_one_url_name_the_same_server)
{
    BOOST_TEST(same("redis://h", "redis://H:6379"));
    BOOST_TEST(same("redis://h", "redis://h."));
    BOOST_TEST(same("redis://h", "rediss://u:p@h/3"));
    BOOST_TEST(same("redis://[::1]", "redis://[0:0:0:0:0:0:0:1]"));
    BOOST_TEST(same("redis://[2001:DB8::a]", "redis://[2001:0db8:0::000A]"));
    BOOST_TEST(same("redis://[::ffff:10.0.0.1]", "redis://10.0.0.1"));
    BOOST_TEST(same("redis://[fe80::1%25eth0]", "redis://[FE80:0::1%25eth0]"));
    BOOST_TEST(same("unix:///a", "unix://:p@/a?db=1"));
    BOOST_TEST(!same("redis://h", "redis://h:6380"));
    BOOST_TEST(!same("redis://h", "redis://i"));
    BOOST_TEST(!same("redis://[::1]", "redis://[::2]"));
    BOOST_TEST(!same("redis://[fe80::1%25eth0]", "redis://[fe80::1%25eth1]"));
    BOOST_TEST(!same("unix:///a", "unix:///b"));
    BOOST_TEST(!same("unix:///a", "redis://localhost"));
    BOOST_TEST(same("redis+sentinel://a,b/g", "rediss+sentinel://B:26379/g"));
    BOOST_TEST(!same("redis+sentinel://a,b/g", "redis+sentinel://a,b/h"));
    BOOST_TEST(!same("redis+sentinel://a,b/g", "redis+sentinel://c,a:1/g"));
    BOOST_TEST(!same("redis+sentinel://a/g", "redis://a:26379"));
}

BOOST_AUTO_TEST_SUITE_END()
