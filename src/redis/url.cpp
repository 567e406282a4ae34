#include "redis/url.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

namespace redlock::redis {
namespace {

constexpr std::size_t longest_url = 4096;
constexpr std::size_t longest_socket_path = 107; // sockaddr_un holds 108 bytes with the closing zero
constexpr unsigned highest_database = std::numeric_limits<std::int32_t>::max();

using kind = endpoint::kind;

struct failure {
    std::string reason;
};

[[noreturn]] void fail(std::string reason)
{
    throw failure{std::move(reason)};
}

constexpr bool is_digit(char c) noexcept
{
    return c >= '0' && c <= '9';
}

constexpr bool is_name_char(char c) noexcept
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
           c == '_';
}

constexpr bool is_visible(char c) noexcept
{
    return c > ' ' && c < '\x7f';
}

bool is_name(std::string_view text) noexcept
{
    return !text.empty() && std::all_of(text.begin(), text.end(), is_name_char);
}

std::string lower(std::string_view text)
{
    std::string result{text};
    for (auto& c : result)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return result;
}

// Text up to the mark; `rest` keeps what follows the mark, or nothing where there is none.
std::string_view split(std::string_view& rest, char mark) noexcept
{
    auto const at = rest.find(mark);
    auto const head = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
    return head;
}

template <class Number>
bool read_number(std::string_view text, Number& number) noexcept
{
    auto const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stop == end;
}

std::string decode(std::string_view text, std::string_view where)
{
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            result.push_back(text[i]);
            continue;
        }
        unsigned char byte = 0;
        auto const digits = text.substr(i + 1, 2);
        auto const end = digits.data() + digits.size();
        auto const [stop, error] = std::from_chars(digits.data(), end, byte, 16);
        if (digits.size() != 2 || error != std::errc{} || stop != end)
            fail("a '%' that is no percent-encoding in " + std::string{where});
        result.push_back(static_cast<char>(byte));
        i += 2;
    }
    return result;
}

std::string decode_without_zero(std::string_view text, std::string_view where)
{
    auto result = decode(text, where);
    if (result.find('\0') != std::string::npos)
        fail("a zero byte in " + std::string{where});
    return result;
}

std::string encode_path(std::string_view path)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string result;
    for (char const c : path) {
        auto const byte = static_cast<unsigned char>(c);
        if (is_name_char(c) || c == '/')
            result.push_back(c);
        else
            (result += '%').append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    }
    return result;
}

std::optional<in6_addr> ipv6(std::string_view address)
{
    in6_addr bytes{};
    if (inet_pton(AF_INET6, std::string{address}.c_str(), &bytes) != 1)
        return std::nullopt;
    return bytes;
}

// --- options -----------------------------------------------------------------------------------------------

unsigned read_database(std::string_view text)
{
    unsigned database = 0;
    if (!read_number(text, database) || database > highest_database)
        fail("the database must be a number from 0 to 2147483647");
    return database;
}

// A number with at most nine digits on either side of the point, and a unit: "500ms", "2s", "1.5s", "1m".
std::optional<std::chrono::milliseconds> read_duration(std::string_view text)
{
    auto const unit_at =
        std::find_if_not(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.'; });
    auto const unit = text.substr(static_cast<std::size_t>(unit_at - text.begin()));
    auto fraction = text.substr(0, text.size() - unit.size());
    bool const has_point = fraction.find('.') != std::string_view::npos;
    auto const whole = split(fraction, '.');
    std::int64_t const scale = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : 0;
    std::int64_t count = 0;
    if (scale == 0 || whole.size() > 9 || fraction.size() > 9 || !read_number(whole, count))
        return std::nullopt;
    std::int64_t part = 0;
    if (has_point && !read_number(fraction, part))
        return std::nullopt;
    part *= scale;
    for (std::size_t i = 0; i < fraction.size(); ++i) {
        if (part % 10 != 0)
            return std::nullopt;
        part /= 10;
    }
    return std::chrono::milliseconds{count * scale + part};
}

std::optional<bool> read_bool(std::string_view text)
{
    if (text == "true" || text == "1")
        return true;
    if (text == "false" || text == "0")
        return false;
    return std::nullopt;
}

template <class Value>
struct option {
    std::string_view key;
    std::optional<Value> endpoint::*member;
};

constexpr std::array text_options{
    option<std::string>{"client_name", &endpoint::client_name},
    option<std::string>{"tls_ca", &endpoint::tls_ca},
    option<std::string>{"tls_ca_dir", &endpoint::tls_ca_dir},
    option<std::string>{"tls_cert", &endpoint::tls_cert},
    option<std::string>{"tls_key", &endpoint::tls_key},
    option<std::string>{"tls_sni", &endpoint::tls_sni},
};
constexpr std::array duration_options{
    option<std::chrono::milliseconds>{"connect_timeout", &endpoint::connect_timeout},
    option<std::chrono::milliseconds>{"command_timeout", &endpoint::command_timeout},
    option<std::chrono::milliseconds>{"health_check_interval", &endpoint::health_check_interval},
};
constexpr std::array bool_options{
    option<bool>{"keepalive", &endpoint::keepalive},
    option<bool>{"tls_verify", &endpoint::tls_verify},
};

template <class Options>
auto find(Options const& options, std::string_view key)
{
    auto const found =
        std::find_if(options.begin(), options.end(), [key](auto const& o) { return o.key == key; });
    return found == options.end() ? nullptr : &*found;
}

void set_text(endpoint& node, option<std::string> const& wanted, std::string value)
{
    // The server refuses such names, and refusing HELLO for it would cost the connection its protocol.
    if (wanted.key == "client_name" && !std::all_of(value.begin(), value.end(), is_visible))
        fail("client_name must be visible ASCII without spaces");
    node.*wanted.member = std::move(value);
}

void set_duration(endpoint& node, option<std::chrono::milliseconds> const& wanted, std::string_view value)
{
    auto const duration = read_duration(value);
    std::string const key{wanted.key};
    if (!duration)
        fail(key + " must be a duration in whole milliseconds with its unit, such as 500ms, 1.5s or 1m");
    if (duration->count() == 0 && wanted.member != &endpoint::health_check_interval)
        fail(key + " must be longer than zero");
    node.*wanted.member = duration;
}

void set_option(endpoint& node, std::string_view key, std::string value)
{
    if (key == "db") {
        node.database = read_database(value);
    } else if (key == "protocol") {
        if (value != "2" && value != "3")
            fail("protocol must be 2 or 3");
        node.protocol = value[0] - '0';
    } else if (auto const* const text = find(text_options, key)) {
        set_text(node, *text, std::move(value));
    } else if (auto const* const duration = find(duration_options, key)) {
        set_duration(node, *duration, value);
    } else if (auto const* const flag = find(bool_options, key)) {
        node.*(flag->member) = read_bool(value);
        if (!(node.*(flag->member)))
            fail(std::string{key} + " must be true or false");
    } else {
        fail("unknown option '" + std::string{key} + "'");
    }
}

void read_options(endpoint& node, std::string_view query, bool database_in_path)
{
    std::vector<std::string_view> seen;
    while (!query.empty()) {
        auto value = split(query, '&');
        auto const key = split(value, '=');
        std::string const name{key};
        if (key.empty())
            fail("an option without a name");
        if (std::find(seen.begin(), seen.end(), key) != seen.end() || (key == "db" && database_in_path))
            fail("option '" + name + "' is given twice");
        if (key.starts_with("tls_") && node.transport != kind::tls)
            fail("option '" + name + "' needs a rediss:// or valkeys:// URL");
        seen.push_back(key);
        auto decoded = decode_without_zero(value, "option '" + name + "'");
        set_option(node, key, std::move(decoded));
        if (value.empty())
            fail("option '" + name + "' has no value");
    }
}

// --- the parts before the options --------------------------------------------------------------------------

void read_scheme(endpoint& node, std::string_view scheme)
{
    if (scheme == "redis" || scheme == "valkey")
        node.transport = kind::tcp;
    else if (scheme == "rediss" || scheme == "valkeys")
        node.transport = kind::tls;
    else if (scheme == "unix")
        node.transport = kind::unix_socket;
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
        auto const host = decode_without_zero(name, "the host");
        if (!host.empty() && !is_name(host))
            fail("the host may hold letters, digits, '-', '.' and '_' only; one URL names one node");
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

void check_characters(std::string_view url)
{
    if (url.size() > longest_url)
        fail("longer than 4096 bytes");
    if (!std::all_of(url.begin(), url.end(), is_visible))
        fail("spaces, control characters and non-ASCII must be percent-encoded");
    if (std::count(url.begin(), url.end(), '@') > 1)
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

// The URL as far as it may be shown. Everything up to the last '@' counts as credentials even where the URL
// is too broken to tell, and options are left out because a program may have put a password there by mistake.
std::string redacted(std::string_view url)
{
    constexpr std::size_t shown = 128;
    std::string result;
    if (auto const at = url.rfind('@'); at != std::string_view::npos) {
        auto const scheme = url.substr(0, url.find("://"));
        auto const known = {"redis", "rediss", "valkey", "valkeys", "unix"};
        if (std::find(known.begin(), known.end(), scheme) != known.end())
            result.append(scheme).append("://");
        result.append("***@");
        url.remove_prefix(at + 1);
    }
    auto const plain = url.substr(0, url.find_first_of("?#"));
    result.append(plain.substr(0, shown));
    if (plain.size() < url.size() || plain.size() > shown)
        result.append("...");
    std::replace_if(
        result.begin(), result.end(), [](char c) { return !is_visible(c); }, '?');
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
