#pragma once

#include <redlock/observer.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace redlock {

/// TLS for every `rediss://` and `valkeys://` node; `tls_*` keys in a node's URL win over these.
struct tls_settings {
    bool system_roots =
        true; ///< trust the system's certificate authorities when no `ca_file` or `ca_dir` is given
    std::string ca_file{};     ///< PEM file of trusted authorities
    std::string ca_dir{};      ///< directory of trusted authorities, hashed names
    std::string cert_file{};   ///< client certificate chain, PEM
    std::string key_file{};    ///< client key, PEM
    std::string server_name{}; ///< name to send (SNI) and to verify; default: the URL's host
    bool insecure = false;     ///< accept any certificate: anybody in between can read and forge votes
};

/// When a lost connection is made again. The pause is random between half the bound and the bound, which doubles
/// from `min_delay` to `max_delay`.
struct reconnect_settings {
    std::chrono::milliseconds min_delay{50};
    std::chrono::milliseconds max_delay{5'000};
    std::chrono::milliseconds connect_timeout{1'000}; ///< resolve, connect, TLS and handshake together
};

struct health_settings {
    /// A connection with an unanswered command for this long is given up and made again.
    std::chrono::milliseconds response_timeout{1'000};
    /// While leases or waiters exist, a connection idle for this long is asked PING; zero: never.
    std::chrono::milliseconds check_interval{2'000};
    bool keep_alive = true; ///< TCP keep-alive
};

/// A client's settings. Everything has a default but `nodes`. Read once, by the client's constructor.
struct config {
    /// The independent masters, one URL each: `redis://`, `rediss://`, `valkey://`, `valkeys://`, `unix://`.
    std::vector<std::string> nodes{};
    /// How long one node may take to answer; zero means clamp(ttl / 20, 20 ms, 500 ms), reckoned per lock.
    std::chrono::milliseconds node_timeout{0};
    std::string username{};              ///< for nodes whose URL names no user
    std::string password{};              ///< for nodes whose URL has no password
    std::string client_name = "redlock"; ///< shown by CLIENT LIST
    std::string key_prefix{}; ///< put before every lock's name; empty, so that other Redlock clients meet us
    tls_settings tls{};
    reconnect_settings reconnect{};
    health_settings health{};
    /// The nodes are known to be new (tests, demos, brand-new clusters): none can have lost locks in a restart. Accepted
    /// and without effect as long as every node may vote at once.
    bool assume_fresh = false;
    std::shared_ptr<redlock::observer> observer{}; ///< told of what happens; see `redlock::observer`
};

} // namespace redlock
