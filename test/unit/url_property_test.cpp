// SPDX-License-Identifier: BSL-1.0
#include "redis/url.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <array>
#include <string>

using namespace redlock::redis;

namespace {

std::string encoded(std::string const& text)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result;
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        (result += '%').append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    }
    return result;
}

std::string any_word(std::string_view alphabet, int longest)
{
    std::string word;
    for (int i = *rc::gen::inRange(1, longest + 1); i > 0; --i)
        word.push_back(*rc::gen::elementOf(alphabet));
    return word;
}

std::string any_host()
{
    if (*rc::gen::arbitrary<bool>())
        return any_word("abcxyz019.-_", 12);
    std::string address = any_word("0123456789abcdef", 4);
    for (int i = 1; i < 8; ++i)
        address += ':' + any_word("0123456789abcdef", 4);
    return '[' + address + ']';
}

std::string any_good_url()
{
    auto const database = std::to_string(*rc::gen::inRange(0, 20));
    auto const userinfo = *rc::gen::element<std::string>("", "@", "u@", ":p@", "u:p%40@");
    if (*rc::gen::inRange(0, 3) == 0) {
        auto const tail = *rc::gen::element<std::string>("", "?db=" + database);
        return "unix://" + userinfo + "/" + encoded(any_word("abc/ %?#@-", 20)) + tail;
    }
    auto const scheme = *rc::gen::element<std::string>("redis", "rediss", "valkey", "valkeys");
    auto const port = *rc::gen::element<std::string>("", ":" + std::to_string(*rc::gen::inRange(1, 65536)));
    auto const tail = *rc::gen::element<std::string>("", "/", "/" + database, "?db=" + database,
                                                     "/" + database + "?protocol=2&connect_timeout=1.5s");
    return scheme + "://" + userinfo + any_host() + port + tail;
}

std::string almost_a_url()
{
    std::string url = *rc::gen::element<std::string>("redis://", "rediss://", "unix://", "redis:", "");
    for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
        url += *rc::gen::element<std::string>("h", ":", "6379", "/", "?", "db=1", "&", "@", "%", "%40", "[",
                                              "::1", "]", "#", "tls_ca=/a", "keepalive=1", "=",
                                              "connect_timeout=", "1.5s", ".");
        if (*rc::gen::inRange(0, 8) == 0)
            url += *rc::gen::arbitrary<std::string>();
    }
    return url;
}

} // namespace

BOOST_AUTO_TEST_SUITE(url_property)

RC_BOOST_PROP(url_credentials_hold_any_byte_and_are_never_shown,
              (std::string const& user, std::string const& tail))
{
    auto const password = "S3CRET" + tail;
    auto const host = any_host();
    auto const url = "redis://" + encoded(user) + ":" + encoded(password) + "@" + host + ":7000/5";
    auto const parsed = parse_url(url);
    RC_ASSERT(std::holds_alternative<endpoint>(parsed));
    auto const& node = std::get<endpoint>(parsed);
    RC_ASSERT(node.username == user);
    RC_ASSERT(node.password == password);
    RC_ASSERT(display(node) == "redis://" + host + ":7000/5");
}

RC_BOOST_PROP(displayed_url_leads_to_the_same_server, ())
{
    auto const parsed = parse_url(any_good_url());
    RC_ASSERT(std::holds_alternative<endpoint>(parsed));
    auto const& node = std::get<endpoint>(parsed);
    auto const shown = display(node);
    auto const again = parse_url(shown);
    RC_ASSERT(std::holds_alternative<endpoint>(again));
    RC_ASSERT(same_server(node, std::get<endpoint>(again)));
    RC_ASSERT(std::get<endpoint>(again).database == node.database);
    RC_ASSERT(display(std::get<endpoint>(again)) == shown);
}

/// The marks are too long to be drawn by chance into what may be shown.
RC_BOOST_PROP(error_of_broken_url_never_shows_credentials, (std::string const& noise))
{
    std::string const user = "Xyzzy-of-the-user";
    std::string const begin = "Plugh-of-the-password";
    std::string const end = "Plover-of-the-password";
    auto const shows_them = [&](std::string const& text) {
        return text.find(user) != text.npos || text.find(begin) != text.npos || text.find(end) != text.npos;
    };
    auto const url = "redis://" + user + ":" + begin + noise + end + "@" + almost_a_url();
    auto const parsed = parse_url(url);
    if (auto const* const error = std::get_if<url_error>(&parsed))
        RC_ASSERT(!shows_them(error->message));
    else
        RC_ASSERT(!shows_them(display(std::get<endpoint>(parsed))));
}

/// Also where it stands by a rule of another library, in any place but those of the scheme and the host.
RC_BOOST_PROP(secret_in_any_place_is_never_shown, ())
{
    std::string const secret = "S3cret-" + any_word("abcXYZ019-._", 8);
    auto const places = std::to_array<std::string>({
        "h:6379,password=$,ssl=True",
        "h:6379,ssl=True,password=$",
        "h,password=$",
        "h:6379;password=$",
        "password=$,h:6379",
        "h:6379 password=$",
        "h:6379/$",
        "h:6379?$",
        "h:6379#$",
        "h:$",
        "h:6379:$",
        "h?password=a@$",
        "h/a@$",
        "h#a@$",
        "a@$@h",
        "$%40h",
        "$%40h:6379",
        "user:$@h",
        "user:$%40h",
        "user:$",
        ":$",
        ":$@h:x",
        "$:x@h?bogus",
        "user:$:x@h",
        "user:$/x@h",
        "user:x/$@h",
        "user:$?x@h",
        "user:$#x@h",
        "user:$@x@h",
        "user:x@$@h",
        "user:%zz$@h",
        "h?$",
        "h?$=1",
        "h?$&db=1",
        "h?db=1&$",
        "h?db=1&$=2",
        "h?db=$",
        "h?db=1&db=$",
        "h?protocol=$",
        "h?connect_timeout=$",
        "h?keepalive=$",
        "h?client_name=a%20$",
        "h?tls_$=1",
        "h?sentinel_$=1",
        "h?sentinel_password=$",
        "h?password=$",
        "h?$%zz=1",
        "h?x=%zz$",
        "[::1]:$",
        "[::1]$",
        "[$]",
        "[$",
        "[::1%25$]:x",
        "a:1,b:2/g&sentinel_password=$",
        "a:1,b:2/g,password=$",
        "a/sentinel_password=$",
        "a/password:$",
        "a/g;pass=$",
        "a/g?$",
        "a/g?bogus=$",
        "a/g?sentinel_password=$&bogus=1",
        "/path&password=$",
        "/path,password=$",
        "/path=$",
        "/path?password=$",
        "/path?$",
        "$@/path?bogus",
        ":$@",
        ":$@/",
    });
    auto const scheme = *rc::gen::element<std::string>(
        "", "redis://", "rediss://", "valkey://", "unix://", "redis+sentinel://", "valkeys+sentinel://",
        "REDIS://", "http://", "redis:/", "redis:", "redis//", "mongodb+srv://", "redis://redis://",
        "redis://h,redis://");
    std::string url = scheme + *rc::gen::elementOf(places);
    RC_PRE(!url.ends_with("sentinel://h:6379/$")); // there it is the group's name, which is shown
    url.replace(url.find('$'), 1, secret);
    RC_LOG() << url;
    auto const parsed = parse_url(url);
    auto const* const error = std::get_if<url_error>(&parsed);
    auto const shown = error ? error->message : display(std::get<endpoint>(parsed));
    RC_ASSERT(shown.find(secret) == shown.npos);
}

BOOST_AUTO_TEST_SUITE_END()
