// SPDX-License-Identifier: BSL-1.0
#include "redis/url_options.hpp"

#include "redis/text_number.hpp"
#include "redis/url_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::redis::url_parts {
namespace {

constexpr unsigned highest_database = std::numeric_limits<std::int32_t>::max();

template <class Value>
struct option {
    std::string_view key;
    std::optional<Value> endpoint::*member;
};

constexpr std::array text_options{
    option<std::string>{"client_name", &endpoint::client_name},
    option<std::string>{"sentinel_password", &endpoint::sentinel_password},
    option<std::string>{"sentinel_username", &endpoint::sentinel_username},
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
    option<bool>{"durable", &endpoint::durable},
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
    if (wanted.key == "client_name" && !std::ranges::all_of(value, is_visible))
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

bool is_known(std::string_view key)
{
    return key == "db" || key == "protocol" || find(text_options, key) || find(duration_options, key) ||
           find(bool_options, key);
}

/// The name is not repeated: it may be part of a password, of which a '?' or a '&' was not encoded.
[[noreturn]] void refuse_unknown(std::string_view key, std::size_t number)
{
    constexpr std::array credentials{"password", "username", "pass", "user", "auth"};
    if (std::ranges::find(credentials, key) != credentials.end())
        fail("unknown option '" + std::string(key) + "': user and password stand before the host");
    fail("unknown option, number " + std::to_string(number) +
         " after the '?' (the documentation of config::nodes has all of them)");
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
    }
}

} // namespace

unsigned read_database(std::string_view text)
{
    unsigned database = 0;
    if (!read_number(text, database) || database > highest_database)
        fail("the database must be a number from 0 to 2147483647");
    return database;
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
        if (!is_known(key))
            refuse_unknown(key, seen.size() + 1);
        if (std::ranges::find(seen, key) != seen.end() || (key == "db" && database_in_path))
            fail("option '" + name + "' is given twice");
        if (key.starts_with("tls_") && node.transport != endpoint::kind::tls)
            fail("option '" + name + "' needs a rediss:// or valkeys:// URL");
        if (key.starts_with("sentinel_") && node.group.empty())
            fail("option '" + name + "' needs a redis+sentinel:// URL");
        seen.push_back(key);
        auto decoded = decode_without_zero(value, "option '" + name + "'");
        set_option(node, key, std::move(decoded));
        if (value.empty())
            fail("option '" + name + "' has no value");
    }
}

} // namespace redlock::redis::url_parts
