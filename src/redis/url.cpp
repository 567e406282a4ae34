#include "redis/url.hpp"

#include "redis/text_number.hpp"
#include "redis/url_options.hpp"
#include "redis/url_text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace redlock::redis {
namespace {

using namespace url_parts;

constexpr std::size_t longest_url = 4096;
constexpr std::size_t longest_socket_path = 107; // sockaddr_un holds 108 bytes with the closing zero

using kind = endpoint::kind;

std::optional<in6_addr> ipv6(std::string_view address)
{
    in6_addr bytes{};
    if (inet_pton(AF_INET6, std::string{address}.c_str(), &bytes) != 1)
        return std::nullopt;
    return bytes;
}

constexpr std::string_view one_node =
    "one URL names one node: give each its own string, instead of commas between them";

void read_scheme(endpoint& node, std::string_view scheme)
{
    if (scheme == "redis" || scheme == "valkey")
        node.transport = kind::tcp;
    else if (scheme == "rediss" || scheme == "valkeys")
        node.transport = kind::tls;
    else if (scheme == "unix")
        node.transport = kind::unix_socket;
    else if (scheme.find(',') != std::string_view::npos)
        fail(std::string(one_node));
    else
        fail("the scheme must be redis, rediss, valkey, valkeys or unix, in lower case, followed by ://");
}

void read_userinfo(endpoint& node, std::string_view userinfo)
{
    node.username = decode(split(userinfo, ':'), "the user name");
    if (userinfo.find(':') != std::string_view::npos)
        fail("a ':' in a password must be written %3A");
    node.password = decode(userinfo, "the password");
}

// RFC 6874: a zone follows the address after an encoded '%'.
void read_ipv6(endpoint& node, std::string_view literal)
{
    auto const zone_at = literal.find("%25");
    auto const address = literal.substr(0, zone_at);
    if (!ipv6(address))
        fail("the host in brackets is no IPv6 address");
    node.host = lower(address);
    if (zone_at == std::string_view::npos)
        return;
    auto const zone = literal.substr(zone_at + 3);
    if (!is_name(zone))
        fail("the zone of the IPv6 address is empty or holds a strange character");
    (node.host += '%') += zone;
}

void read_host(endpoint& node, std::string_view authority)
{
    if (authority.find(',') != std::string_view::npos)
        fail(std::string(one_node));
    if (authority.starts_with('[')) {
        auto const close = authority.find(']');
        if (close == std::string_view::npos)
            fail("a '[' without its ']'");
        read_ipv6(node, authority.substr(1, close - 1));
        authority.remove_prefix(close + 1);
        if (!authority.empty() && authority[0] != ':')
            fail("only ':' and a port may follow ']'");
    } else {
        auto const name = authority.substr(0, authority.find(':'));
        authority.remove_prefix(name.size());
        if (std::ranges::count(authority, ':') > 1)
            fail("the port must be a number from 1 to 65535; an IPv6 address stands in brackets, as in "
                 "redis://[::1]:6379");
        auto const host = decode_without_zero(name, "the host");
        if (!host.empty() && !is_name(host))
            fail("the host may hold letters, digits, '-', '.' and '_' only");
        if (!host.empty())
            node.host = lower(host);
    }
    if (!authority.empty() && (!read_number(authority.substr(1), node.port) || node.port == 0))
        fail("the port must be a number from 1 to 65535");
}

void read_socket_path(endpoint& node, std::string_view authority, std::string_view path)
{
    if (!authority.empty() || path.size() < 2)
        fail("a unix URL needs an absolute path: unix:///path/to/socket");
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
    read_scheme(node, url.substr(0, scheme_end));
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
    read_host(node, authority);
    bool const database_in_path = path.size() > 1;
    if (database_in_path)
        node.database = read_database(path.substr(1));
    read_options(node, rest, database_in_path);
    return node;
}

/// "redis://:secret" and the like: what stands where the port belongs is no number, and may be a password whose host was
/// forgotten or whose "@" is escaped.
bool begins_with_secret(std::string_view url)
{
    constexpr std::size_t longest_port = 5;
    auto const begin = url.find("://");
    if (begin == std::string_view::npos)
        return false;
    auto authority = url.substr(begin + 3);
    authority = authority.substr(0, authority.find_first_of("/?#"));
    if (auto const bracket = authority.rfind(']'); bracket != std::string_view::npos)
        authority.remove_prefix(bracket + 1);
    auto const colon = authority.find(':');
    if (colon == std::string_view::npos)
        return false;
    auto const port = authority.substr(colon + 1);
    return port.size() > longest_port || !std::ranges::all_of(port, is_digit);
}

// The URL as far as it may be shown. Everything up to the last '@' counts as credentials even where the URL
// is too broken to tell, and options are left out because a program may have put a password there by mistake.
std::string redacted(std::string_view url)
{
    constexpr std::size_t shown = 128;
    std::string result;
    if (auto const at = url.rfind('@'); at != std::string_view::npos) {
        auto const scheme = url.substr(0, url.find("://"));
        auto const known = {"redis", "rediss", "valkey", "valkeys", "unix"};
        if (std::ranges::find(known, scheme) != known.end())
            result.append(scheme).append("://");
        result.append("***@");
        url.remove_prefix(at + 1);
    }
    auto const plain = url.substr(0, begins_with_secret(url) ? 0 : url.find_first_of("?#"));
    result.append(plain.substr(0, shown));
    if (plain.size() < url.size() || plain.size() > shown)
        result.append("...");
    std::ranges::replace_if(
        result, [](char c) { return !is_visible(c); }, '?');
    return result;
}

// One spelling per server. Names cannot be compared with addresses here; equal run ids are found on
// connecting.
std::string canonical_host(std::string_view host)
{
    auto const zone_at = std::min(host.find('%'), host.size());
    if (auto const bytes = ipv6(host.substr(0, zone_at))) {
        std::array<char, INET6_ADDRSTRLEN> text{};
        if (IN6_IS_ADDR_V4MAPPED(&*bytes))
            return inet_ntop(AF_INET, &bytes->s6_addr[12], text.data(), text.size());
        return inet_ntop(AF_INET6, &*bytes, text.data(), text.size()) + std::string{host.substr(zone_at)};
    }
    if (host.ends_with('.'))
        host.remove_suffix(1);
    return lower(host);
}

} // namespace

std::string display(endpoint const& node)
{
    if (node.transport == kind::unix_socket) {
        auto const database = node.database == 0 ? std::string{} : "?db=" + std::to_string(node.database);
        return "unix://" + encode_path(node.path) + database;
    }
    std::string url = node.transport == kind::tls ? "rediss://" : "redis://";
    if (node.host.find(':') == std::string::npos) {
        url += node.host;
    } else {
        auto const zone_at = std::min(node.host.find('%'), node.host.size());
        (url += '[') += node.host.substr(0, zone_at);
        if (zone_at != node.host.size())
            (url += "%25") += node.host.substr(zone_at + 1);
        url += ']';
    }
    (url += ':') += std::to_string(node.port);
    if (node.database != 0)
        (url += '/') += std::to_string(node.database);
    return url;
}

bool same_server(endpoint const& a, endpoint const& b)
{
    bool const local = a.transport == kind::unix_socket;
    if (local != (b.transport == kind::unix_socket))
        return false;
    if (local)
        return a.path == b.path;
    return a.port == b.port && canonical_host(a.host) == canonical_host(b.host);
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
