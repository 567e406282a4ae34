// SPDX-License-Identifier: BSL-1.0
#include "redis/url.hpp"

#include "redis/ipv6.hpp"
#include "redis/text_number.hpp"
#include "redis/url_options.hpp"
#include "redis/url_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace redlock::redis {
namespace {

using namespace url_parts;

constexpr std::size_t longest_url = 4096;
constexpr std::size_t longest_socket_path = 107; // sockaddr_un holds 108 bytes with the closing zero

using kind = endpoint::kind;

constexpr std::string_view one_node =
    "one URL names one node: give each its own string, instead of commas between them";
constexpr std::uint16_t sentinel_port = 26379;
constexpr std::size_t most_sentinels = 16;
constexpr std::size_t longest_group = 255;

struct scheme {
    std::string_view name;
    kind transport;
    bool asks_sentinels = false;
};

constexpr std::array schemes{
    scheme{"redis", kind::tcp},
    scheme{"valkey", kind::tcp},
    scheme{"rediss", kind::tls},
    scheme{"valkeys", kind::tls},
    scheme{"unix", kind::unix_socket},
    scheme{"redis+sentinel", kind::tcp, true},
    scheme{"valkey+sentinel", kind::tcp, true},
    scheme{"rediss+sentinel", kind::tls, true},
    scheme{"valkeys+sentinel", kind::tls, true},
};

scheme const& read_scheme(std::string_view name)
{
    if (auto const found = std::ranges::find(schemes, name, &scheme::name); found != schemes.end())
        return *found;
    if (name.find(',') != std::string_view::npos)
        fail(std::string(one_node));
    fail("the scheme must be redis, rediss, valkey, valkeys or unix, or one of the first four with "
         "+sentinel, in "
         "lower case, followed by ://");
}

void read_userinfo(endpoint& node, std::string_view userinfo)
{
    node.username = decode(split(userinfo, ':'), "the user name");
    if (userinfo.find(':') != std::string_view::npos)
        fail("a ':' in a password must be written %3A");
    node.password = decode(userinfo, "the password");
}

// RFC 6874: a zone follows the address after an encoded '%'.
std::string read_ipv6(std::string_view literal)
{
    auto const zone_at = literal.find("%25");
    auto const address = literal.substr(0, zone_at);
    if (!parse_ipv6(address))
        fail("the host in brackets is no IPv6 address");
    if (zone_at == std::string_view::npos)
        return lower(address);
    auto const zone = literal.substr(zone_at + 3);
    if (!is_name(zone))
        fail("the zone of the IPv6 address is empty or holds a strange character");
    return lower(address).append("%").append(zone);
}

address read_address(std::string_view authority, std::uint16_t default_port)
{
    address read{"localhost", default_port};
    if (authority.starts_with('[')) {
        auto const close = authority.find(']');
        if (close == std::string_view::npos)
            fail("a '[' without its ']'");
        read.host = read_ipv6(authority.substr(1, close - 1));
        authority.remove_prefix(close + 1);
        if (!authority.empty() && authority[0] != ':')
            fail("only ':' and a port may follow ']'");
    } else {
        auto const name = authority.substr(0, authority.find(':'));
        authority.remove_prefix(name.size());
        if (std::ranges::count(authority, ':') > 1)
            fail("the port must be a number from 1 to 65535; an IPv6 address must be in brackets, as in "
                 "redis://[::1]:6379");
        auto const host = decode_without_zero(name, "the host");
        if (!host.empty() && !is_name(host))
            fail("the host may hold letters, digits, '-', '.' and '_' only");
        if (!host.empty())
            read.host = lower(host);
    }
    if (!authority.empty() && (!read_number(authority.substr(1), read.port) || read.port == 0))
        fail("the port must be a number from 1 to 65535");
    return read;
}

void read_host(endpoint& node, std::string_view authority)
{
    if (authority.find(',') != std::string_view::npos)
        fail(std::string(one_node));
    auto [host, port] = read_address(authority, node.port);
    node.host = std::move(host);
    node.port = port;
}

void read_sentinels(endpoint& node, std::string_view authority)
{
    bool more = true;
    while (more) {
        more = authority.find(',') != std::string_view::npos;
        auto const next = split(authority, ',');
        if (next.empty() || next.starts_with(':'))
            fail("a Sentinel without a host");
        if (node.sentinels.size() == most_sentinels)
            fail("more than 16 Sentinels");
        node.sentinels.push_back(read_address(next, sentinel_port));
    }
}

/// Reads the name that the Sentinels have for the node's servers: "/name".
void read_group(endpoint& node, std::string_view path)
{
    path.remove_prefix(std::min<std::size_t>(path.size(), 1)); // the '/'
    node.group = decode_without_zero(path, "the group's name");
    if (node.group.empty())
        fail("the name that the Sentinels have for the group must follow them: "
             "redis+sentinel://host1,host2,host3/name");
    if (node.group.size() > longest_group || !std::ranges::all_of(node.group, is_visible))
        fail("the group's name must be visible ASCII of at most 255 bytes");
    // These are probably misplaced options. They may hold a password, and messages show the group's name.
    if (node.group.find_first_of("=&,") != std::string::npos ||
        lower(node.group).find("password") != std::string::npos)
        fail("the group's name may hold no '=', '&' or ',', nor the word password: options follow a '?'");
}

void read_socket_path(endpoint& node, std::string_view authority, std::string_view path)
{
    if (!authority.empty() || path.size() < 2)
        fail("a unix URL needs an absolute path: unix:///path/to/socket");
    if (path.find_first_of("=&,") != std::string_view::npos)
        fail("'=', '&' and ',' in a path are written %3D, %26 and %2C: options follow a '?'");
    node.path = decode_without_zero(path, "the path");
    if (node.path.size() > longest_socket_path)
        fail("the socket's path is longer than 107 bytes");
}

/// A second scheme behind a comma.
bool is_list(std::string_view url)
{
    auto const first = url.find("://");
    auto const second = first == std::string_view::npos ? first : url.find("://", first + 3);
    return second != std::string_view::npos &&
           url.substr(first, second - first).find(',') != std::string_view::npos;
}

void check_characters(std::string_view url)
{
    if (is_list(url))
        fail(std::string(one_node));
    if (url.size() > longest_url)
        fail("longer than 4096 bytes");
    if (!std::ranges::all_of(url, is_visible))
        fail("spaces, control characters and non-ASCII must be percent-encoded");
    if (std::ranges::count(url, '@') > 1)
        fail("only one '@' may stand in a URL, after the user and the password: write any other as %40");
}

endpoint parse(std::string_view url)
{
    check_characters(url);
    endpoint node;
    auto const scheme_end = std::min(url.find("://"), url.size());
    scheme const& named = read_scheme(url.substr(0, scheme_end));
    node.transport = named.transport;
    auto rest = url.substr(std::min(scheme_end + 3, url.size()));

    auto const authority_end = std::min(rest.find_first_of("/?#"), rest.size());
    auto authority = rest.substr(0, authority_end);
    rest.remove_prefix(authority_end);
    // Otherwise the head of a password with a raw '/', '?' or '#' would pass for a host.
    if (rest.find('@') != std::string_view::npos)
        fail("an '@' after the host must be written %40; in a password '/' is %2F, '?' is %3F, '#' is %23");
    if (rest.find('#') != std::string_view::npos)
        fail("a fragment ('#…') has no meaning here");
    if (auto const at = authority.find('@'); at != std::string_view::npos) {
        read_userinfo(node, authority.substr(0, at));
        authority.remove_prefix(at + 1);
    }

    auto const path = split(rest, '?');
    if (node.transport == kind::unix_socket) {
        read_socket_path(node, authority, path);
        read_options(node, rest, false);
        return node;
    }
    if (named.asks_sentinels) {
        read_sentinels(node, authority);
        read_group(node, path);
        read_options(node, rest, false);
        return node;
    }
    read_host(node, authority);
    bool const database_in_path = path.size() > 1;
    if (database_in_path)
        node.database = read_database(path.substr(1));
    read_options(node, rest, database_in_path);
    return node;
}

/// "h", "[::1]:7000": host and port as far as they certainly are no part of a password; the rest is left.
/// Nothing: what follows may continue a password, as in "user:secret" or "secret%40h".
std::string_view take_address(std::string_view& rest)
{
    constexpr std::size_t longest_name = 253;
    constexpr std::size_t longest_port = 5;
    constexpr std::string_view ends = "/?#,";
    auto const whole = rest;
    bool const in_brackets = rest.starts_with('[');
    auto const close = rest.find(']');
    if (in_brackets && (close == std::string_view::npos || !parse_ipv6(rest.substr(1, close - 1))))
        return {};
    std::size_t end = in_brackets ? close + 1 : 0;
    while (!in_brackets && end != rest.size() && is_name_char(rest[end]))
        ++end;
    if (end > longest_name)
        return {};
    if (end != rest.size() && rest[end] == ':') {
        auto const port_at = ++end;
        while (end != rest.size() && is_digit(rest[end]))
            ++end;
        if (end - port_at > longest_port || end == port_at)
            return {};
    }
    if (end != rest.size() && ends.find(rest[end]) == std::string_view::npos)
        return {};
    rest.remove_prefix(end);
    return whole.substr(0, end);
}

/// A scheme that is known, in any case of letters, or that of a mistake which is.
bool may_be_shown(std::string_view name)
{
    constexpr std::array mistaken{"http", "https", "tcp", "tls", "redis-sentinel"};
    return std::ranges::find(schemes, lower(name), &scheme::name) != schemes.end() ||
           std::ranges::find(mistaken, name) != mistaken.end();
}

/// A URL that is refused, as far as it may be shown: its scheme and host. Everything else may hold a password, be it that
/// of another library's notation. An "@" that stands behind a '/', a '?' or a '#', or is not the only one, may belong to
/// a password, and what follows it with it.
std::string redacted(std::string_view url)
{
    std::string result;
    auto rest = url;
    if (auto const end = url.find("://"); end != std::string_view::npos) {
        if (!may_be_shown(url.substr(0, end)))
            return "...";
        result.append(url.substr(0, end + 3));
        rest.remove_prefix(end + 3);
    }
    bool certain = true;
    if (auto const at = rest.find('@'); at != std::string_view::npos) {
        result.append("***@");
        certain = rest.substr(0, at).find_first_of("/?#") == std::string_view::npos &&
                  rest.find('@', at + 1) == std::string_view::npos;
        rest.remove_prefix(at + 1);
    }
    if (certain)
        result.append(take_address(rest));
    return result + (rest.empty() ? "" : "...");
}

// One spelling per server. Names cannot be compared with addresses here; equal run ids are found on
// connecting.
std::string canonical_host(std::string_view host)
{
    auto const zone_at = std::min(host.find('%'), host.size());
    if (auto const bytes = parse_ipv6(host.substr(0, zone_at)))
        return canonical(*bytes).append(host.substr(zone_at));
    if (host.ends_with('.'))
        host.remove_suffix(1);
    return lower(host);
}

bool same_address(address const& a, address const& b)
{
    return a.port == b.port && canonical_host(a.host) == canonical_host(b.host);
}

} // namespace

std::string display(address const& where)
{
    std::string text = where.host;
    if (where.host.find(':') != std::string::npos) {
        auto const zone_at = std::min(where.host.find('%'), where.host.size());
        text = '[' + where.host.substr(0, zone_at);
        if (zone_at != where.host.size())
            (text += "%25") += where.host.substr(zone_at + 1);
        text += ']';
    }
    return text + ':' + std::to_string(where.port);
}

std::string display(endpoint const& node)
{
    auto const database = node.database == 0 ? std::string() : std::to_string(node.database);
    auto const option = database.empty() ? database : "?db=" + database;
    if (node.transport == kind::unix_socket)
        return "unix://" + encode_path(node.path) + option;
    std::string const scheme = node.transport == kind::tls ? "rediss" : "redis";
    if (node.group.empty())
        return scheme + "://" + display(address{node.host, node.port}) +
               (database.empty() ? "" : '/' + database);
    std::string url = scheme + "+sentinel://";
    for (address const& sentinel : node.sentinels)
        url.append(&sentinel == &node.sentinels.front() ? "" : ",").append(display(sentinel));
    return url + '/' + encode_path(node.group) + option;
}

// rule N1
bool same_server(endpoint const& a, endpoint const& b)
{
    bool const local = a.transport == kind::unix_socket;
    if (local != (b.transport == kind::unix_socket) || a.group != b.group)
        return false;
    if (local)
        return a.path == b.path;
    if (a.group.empty())
        return same_address({a.host, a.port}, {b.host, b.port});
    return std::ranges::any_of(a.sentinels, [&](address const& one) {
        return std::ranges::any_of(b.sentinels,
                                   [&](address const& other) { return same_address(one, other); });
    });
}

std::variant<endpoint, url_error> parse_url(std::string_view url)
{
    try {
        return parse(url);
    } catch (failure const& problem) {
        return url_error{redacted(url) + ": " + problem.reason};
    }
}

} // namespace redlock::redis
