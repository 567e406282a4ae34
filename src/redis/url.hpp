// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace redlock::redis {

struct address {
    std::string host; ///< a name or a numeric address without brackets, in lower case
    std::uint16_t port = 0;
};

/// The address of a node, and its URL's options. Empty optionals leave the choice to the configuration.
struct endpoint {
    enum class kind : std::uint8_t { tcp, tls, unix_socket };

    kind transport = kind::tcp;
    std::string host = "localhost"; ///< tcp, tls: a name or a numeric address without brackets, in lower case
    std::uint16_t port = 6379;      ///< tcp, tls
    std::string path;               ///< unix_socket
    std::string group;              ///< the Sentinels' name of the node's servers; empty: it is one server
    std::vector<address>
        sentinels; ///< the servers that know the group's master; then host and port are unused
    std::string username;
    std::string password;
    unsigned database = 0;
    std::optional<int> protocol; ///< 2 or 3
    std::optional<std::string> client_name;
    std::optional<std::chrono::milliseconds> connect_timeout;
    std::optional<std::chrono::milliseconds> command_timeout;
    std::optional<std::chrono::milliseconds> health_check_interval; ///< zero: never
    std::optional<bool> keepalive;
    std::optional<bool> durable;
    std::optional<std::string> sentinel_username;
    std::optional<std::string> sentinel_password;
    std::optional<std::string> tls_ca;
    std::optional<std::string> tls_ca_dir;
    std::optional<std::string> tls_cert;
    std::optional<std::string> tls_key;
    std::optional<std::string> tls_sni;
    std::optional<bool> tls_verify;
};

/// "host:port", brackets around an IPv6 address.
std::string display(address const& where);

/// The endpoint as a URL without credentials and options, fit for logs; parsing it gives the same server
/// again.
std::string display(endpoint const& node);

/// True if both lead to one server, whatever the credentials, the database and the transport are: a database or a TLS
/// port does not make a second vote out of one machine. Groups are the same if one Sentinel knows both by one name.
bool same_server(endpoint const& a, endpoint const& b);
/// True if they also use the same database: each finds the locks of the other.
[[nodiscard]] inline bool same_keys(endpoint const& a, endpoint const& b)
{
    return a.database == b.database && same_server(a, b);
}

/// A description of the error in a URL. Shows neither user nor password nor the values of options.
struct url_error {
    std::string message;
};

/// `redis[s]://[[user][:pass]@]host[:port][/db][?key=value&…]`, `valkey[s]://` alike,
/// `redis[s]+sentinel://[[user][:pass]@]host[:port][,host[:port]…]/group[?db=n&…]`, and
/// `unix://[[user][:pass]@]/path[?db=n&…]`. Everything except the grammar's own marks may be percent-encoded, and an
/// `@` in a password must be.
std::variant<endpoint, url_error> parse_url(std::string_view url);

} // namespace redlock::redis
