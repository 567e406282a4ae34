// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/observer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

/// TLS for every `rediss://` and `valkeys://` node; `tls_*` keys in a node's URL win over these.
struct tls_settings {
    std::string ca_file{};     ///< PEM file of trusted authorities; default, without `ca_dir`: the system's
    std::string ca_dir{};      ///< directory of trusted authorities, hashed names
    std::string cert_file{};   ///< client certificate chain, PEM
    std::string key_file{};    ///< client key, PEM
    std::string server_name{}; ///< name to send (SNI) and to verify; default: the URL's host
    bool insecure = false;     ///< accept any certificate: anyone on the path can read and forge votes
};

/// When the client connects again after a connection was lost. The pause is random between half the bound and the bound.
/// The bound doubles from `min_delay` to `max_delay`. While a lease cannot be renewed, or an operation waits without a
/// majority, the pause and the attempt are as short as that lease needs (docs/protocol.md, rule H10).
struct reconnect_settings {
    std::chrono::milliseconds min_delay{50};          ///< first bound
    std::chrono::milliseconds max_delay{5'000};       ///< last bound
    std::chrono::milliseconds connect_timeout{1'000}; ///< resolve, connect, TLS and handshake together
};

/// When a connection counts as dead, and how often an idle one is checked.
struct health_settings {
    /// A connection on which a command is unanswered for this long is closed and made again, or sooner if a lease cannot
    /// be renewed meanwhile.
    std::chrono::milliseconds response_timeout{1'000};
    /// While leases or waiters exist, a connection is sent TIME this often. It shows whether the connection is alive, and
    /// whether the server's clock was set forward (see `admission_settings`). `std::nullopt` disables the check. A Sentinel
    /// group needs it, and at most 10 s; otherwise there is no upper limit.
    std::optional<std::chrono::milliseconds> check_interval{2'000};
};

/// Which nodes may vote. On each new connection the client asks a node for its identity, its uptime and its
/// configuration. A replica, a node that is still loading, and a second name of a node that votes already are always
/// refused.
///
/// A node that may have lost keys is *quarantined*: it stays connected, but it neither votes for a lock nor extends the
/// lock's leases until every key of that lock that it may have lost has expired. A node whose clock jumped forward by
/// more than the smallest slack of any lock made on this client is quarantined, too: keys on it may expire while their
/// locks are held. The client relies on what it has seen itself, on what the node's data prove, and on these options.
/// Otherwise it waits (docs/protocol.md, rules N3 to N7 and F6).
struct admission_settings {
    /// The largest ttl + slack of any lock that *any* client has on these nodes. A quarantine then lasts 1.01 times as
    /// long, for every lock of this client. Making a longer lock on this client is `errc::misconfigured`.
    /// Unset: a lock waits 1.01 times the largest ttl + slack of this client's own locks of its name. Set it if other
    /// clients lock the same name with a longer ttl. If it is too small, a second owner can win a majority after a
    /// restart.
    std::optional<std::chrono::milliseconds> longest_ttl{};
    /// No quarantine after a restart: these servers never forget an acknowledged write, and no other server uses their
    /// volumes. The URL key `durable` declares the same for one node. Set it for an append-only file with `appendfsync
    /// always` and `no-appendfsync-on-rewrite no` from the first start on, and for services such as MemoryDB.
    /// Risk: if a server was ever started without these settings, or comes back with another volume, or is a promoted
    /// replica without the last votes, a second owner can win a majority while the first still holds the lock. If CONFIG
    /// shows settings that contradict the option, the node waits nevertheless, and `client::node_table()` says why. The same
    /// happens if this client has seen data on the node that are gone after the restart.
    bool durable_nodes = false;
    /// Nodes in cluster mode may vote. Risk: a failover replaces the node by a replica without the last locks; votes
    /// fail while a lock's slot moves; the nodes of one cluster are not independent of each other. Fenced locks and
    /// elections need a hash tag in `key_prefix`, as in "{locks}:". Sets of names need one in the prefix or in all
    /// names.
    bool allow_cluster_node = false;
    /// Nodes with `maxmemory` and a policy other than `noeviction` may vote. Risk: a server that is short of memory
    /// removes keys of locks that are held, and two owners hold one lock.
    bool allow_eviction = false;
    /// No quarantine after a restart: a node may vote as soon as it is back. Risk: it has forgotten its votes, so a
    /// second owner can win a majority while the first still holds the lock. Set it only if a restart cannot lose
    /// acknowledged writes, or always takes longer than the longest ttl + slack. It covers neither a promotion
    /// (`trust_promoted`) nor lost data that a fenced lock notices.
    bool trust_restarted_nodes = false;
    /// No quarantine for a node whose data set belonged to another server, or to an earlier run, before: a promoted
    /// replica, or a former replica that was restarted. Risk: replication is asynchronous, so a promoted replica can
    /// lack the last votes, and a second owner can win a majority while the first still holds the lock. Set it only if
    /// neither a promotion nor a restart from an RDB file with replication data, which looks the same, loses
    /// acknowledged writes.
    bool trust_promoted = false;
    /// No quarantine for a server whose clock was set forward. Risk: its keys expire that much too early, and a second
    /// owner can win a majority while the first still holds the lock. Set it only if clocks are never set while servers
    /// run, and the jump is one of the client's own clock, as after a pause of its virtual machine.
    bool trust_server_clocks = false;
    /// A Sentinel group may vote whatever its `min-replicas-to-write` and `min-replicas-max-lag` are, also where CONFIG
    /// GET is not permitted. Risk: while its servers are cut off from each other, two of them are masters, and clients
    /// on either side count the vote of the group. Set it only if another means stops the former master within
    /// `min-replicas-max-lag` (10 seconds if it cannot be read) and two seconds (docs/protocol.md, rule N8).
    bool trust_replication = false;
    /// The nodes are known to be new (tests, demos, brand-new clusters): no node has lost keys before this client first
    /// connects to it, nor fenced locks before this client's first fenced lock. A node then votes at once, even if it is
    /// young, was promoted, or has no marker yet. A restart that the client witnesses leads to a quarantine nevertheless.
    /// False: a node that is younger than the largest key TTL may have lost locks and does not vote yet.
    bool assume_fresh = false;
};

/// Credentials presented to a server.
struct credentials {
    std::string username{}; ///< empty: the default user
    std::string password{}; ///< empty: none is given
};

/// A client's settings. Everything has a default except `nodes`. Write designated initializers in the order of the
/// members. The client's constructor reads the settings once. A child made by fork may use them for a client of its own
/// (see `client`).
///
/// Limits: times are more than zero and at most 24 h, but `health.check_interval` has its own limits, and
/// `admission.longest_ttl` is at most 48 h. `key_prefix` and `client_name` have at most 512 bytes.
struct config {
    /// The independent masters, 1 to 63 of them, one URL each:
    ///
    ///     redis://[[user]:password@][host][:port][/db][?key=value&...]        valkey:// is the same
    ///     rediss://...                                                        the same with TLS; so is valkeys://
    ///     redis+sentinel://[[user]:password@]host[:port][,host[:port]...]/group[?db=n&key=value&...]
    ///                              one of a group of servers, which Sentinels at these hosts call by this name; also
    ///                              rediss+sentinel://, with TLS to all of them, and valkey+sentinel://, valkeys+sentinel://
    ///     unix://[[user]:password@]/path/to/socket[?db=n&key=value&...]
    ///
    /// The default host is localhost, the default port 6379 (of Sentinels 26379), the default db 0. Write IPv6 addresses in
    /// brackets. In user and password write `@ : / ? # %` as `%40 %3A %2F %3F %23 %25`. A URL without a user or a password
    /// uses `username` or `password` below. Each key may be given once. It overrides a setting for that node:
    ///
    /// | Key | Value | Instead of |
    /// |---|---|---|
    /// | `db` | number, if the path names none | |
    /// | `protocol` | `2` (RESP2: no invalidations, waiters poll in the queue) or `3` | |
    /// | `client_name` | visible ASCII without spaces | `client_name` |
    /// | `connect_timeout` | duration | `reconnect.connect_timeout` |
    /// | `command_timeout` | duration | `health.response_timeout` |
    /// | `health_check_interval` | duration; `0ms` disables it | `health.check_interval` |
    /// | `keepalive` | `true` or `false`: TCP keep-alive, which is on by default | |
    /// | `durable` | `true` or `false` | `admission.durable_nodes` |
    /// | `sentinel_username`, `sentinel_password` | of the Sentinels; user and password before the hosts are the servers' | |
    /// | `tls_ca`, `tls_ca_dir` | path; either replaces both | `tls.ca_file`, `tls.ca_dir` |
    /// | `tls_cert`, `tls_key` | path; only together | `tls.cert_file`, `tls.key_file` |
    /// | `tls_sni` | host name | `tls.server_name` |
    /// | `tls_verify` | `true` or `false` | `tls.insecure`, negated |
    ///
    /// Durations are whole milliseconds, written with a unit: `500ms`, `1.5s`, `1m`. Keys that begin with `tls_` need a
    /// TLS scheme. Anything else is `errc::misconfigured`.
    std::vector<std::string> nodes{};
    /// How long one node may take to answer. Default: clamp(ttl / 20, 20 ms, 500 ms), computed for each lock.
    std::optional<std::chrono::milliseconds> node_timeout{};
    std::string username{}; ///< for nodes whose URL names no user
    std::string password{}; ///< for nodes whose URL has no password
    /// For passwords that change while the client runs: called with the node's URL (in the form of `node_status::node`)
    /// before each connection to a node whose URL names neither user nor password. Open connections are not affected.
    /// Given together with `username` or `password`, it is `errc::misconfigured`.
    ///
    /// It is called on the client's executor, and must return at once: fetch passwords elsewhere, and return a stored
    /// one. If it throws, or gives a user without a password, the connection fails, and `node_status::detail` contains
    /// `what()`. A later connection calls it again, also after a refused password: a waiting operation goes on until
    /// `retry_policy::outage_patience`.
    std::function<credentials(std::string_view node)> credentials_provider{};
    std::string client_name = "redlock"; ///< shown by CLIENT LIST
    /// Added before every lock's name. Empty, so that other Redlock clients lock the same keys.
    std::string key_prefix{};
    tls_settings tls{};                            ///< for `rediss://` and `valkeys://`
    reconnect_settings reconnect{};                ///< connecting and reconnecting
    health_settings health{};                      ///< checking connections
    admission_settings admission{};                ///< which nodes may vote
    std::shared_ptr<redlock::observer> observer{}; ///< called for every event; see `redlock::observer`
};

} // namespace redlock
