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
    std::chrono::milliseconds min_delay{50};          ///< first bound
    std::chrono::milliseconds max_delay{5'000};       ///< last bound
    std::chrono::milliseconds connect_timeout{1'000}; ///< resolve, connect, TLS and handshake together
};

/// When a connection counts as dead, and how often a quiet one is asked.
struct health_settings {
    /// A connection with an unanswered command for this long is given up and made again.
    std::chrono::milliseconds response_timeout{1'000};
    /// While leases or waiters exist, a connection is asked TIME this often: is it alive, and has the server's clock
    /// been set forward (see `admission_settings`)? Zero: never.
    std::chrono::milliseconds check_interval{2'000};
    bool keep_alive = true; ///< TCP keep-alive
};

/// Which nodes may vote. Whenever a connection is made, a node is asked who it is, how old and how it is set up. A
/// replica, a node that is still loading, and a second name of a node that votes already are always refused. A node
/// that may have lost keys is *quarantined*: it stays connected, but neither votes for a lock nor extends its leases
/// until a key of that lock which it lost could not live any more. A node whose wall clock was set forward by more
/// than the smallest slack of any lock made on this client is quarantined too: the keys on it may expire while their
/// locks are held. A client believes what it has seen itself, what the node's data prove, and what these options say;
/// the rest it waits out (docs/protocol.md, rules N3 to N7 and F6).
struct admission_settings {
    /// The largest ttl + slack of any lock that *any* client has on these nodes. A quarantine lasts 1.01 times as
    /// long, for every lock of this client, and a longer lock cannot be made on it: it is `errc::misconfigured`.
    /// Zero: a lock waits 1.01 times the largest ttl + slack of this client's own locks of its name. Set it if other
    /// clients lock the same name for longer: if it is too small, a second owner can win a majority after a restart.
    std::chrono::milliseconds longest_ttl{0};
    /// No quarantine after a restart: these servers never forget an acknowledged write, and their volumes are their
    /// own. The URL key `durable` says so of one node. Right for an append-only file with `appendfsync always` and
    /// `no-appendfsync-on-rewrite no` from the first start on, and for services such as MemoryDB. Risk: if a server
    /// was ever started without these settings, or comes back with another volume, a second owner can win a majority
    /// while the first still holds the lock. A promoted replica
    /// that lacks the last votes breaks the word. If CONFIG tells settings that contradict it, the node waits all the same
    /// and says why; so it does if this client has seen data on it that are gone after the restart.
    bool durable_nodes = false;
    /// Nodes in cluster mode may vote. Risk: a failover puts a replica without the last locks in the node's place,
    /// under a slot that moves a lock's key is refused, and one cluster's nodes are not independent of each other.
    bool allow_cluster_node = false;
    /// Nodes with `maxmemory` and another policy than `noeviction` may vote. Risk: a server short of memory removes
    /// keys of locks that are held, and two owners hold one lock.
    bool allow_eviction = false;
    /// No quarantine after a restart: a node may vote as soon as it is back. Risk: it has forgotten its votes, so that
    /// a second owner can win a majority while the first still holds the lock. Right only where a restart cannot lose
    /// what was answered, or never takes less time than the longest ttl + slack. It excuses neither a promotion
    /// (`trust_promoted`) nor lost data that a fenced lock notices.
    bool trust_restarted_nodes = false;
    /// No quarantine for a node whose data set was another server's, or another life's, before: a promoted replica, or
    /// a former one that was restarted. Risk: replication is asynchronous, so a promoted replica can lack the last
    /// votes, and a second owner can win a majority while the first still holds the lock. Right only if neither a
    /// promotion nor a restart from an RDB file with replication data, which looks the same, loses acknowledged writes.
    bool trust_promoted = false;
    /// No quarantine for a server whose clock was set forward. Risk: the keys on it expire early by as much, and a
    /// second owner can win a majority while the first still holds the lock. Right only where clocks are never set
    /// while servers run, and what looks like it is the client's own clock, as after a pause of its virtual machine.
    bool trust_server_clocks = false;
};

/// A client's settings. Everything has a default but `nodes`. Read once, by the client's constructor. A child made by
/// fork uses the settings again, for a client of its own: the parent's is not its (see `client`).
///
/// Limits: times are more than zero and at most 24 h. `node_timeout` may be zero; `health.check_interval` may be
/// zero, and has no upper limit; `admission.longest_ttl` may be zero, and up to 48 h. `key_prefix` has at most 512
/// bytes.
struct config {
    /// The independent masters, 1 to 63 of them, one URL each:
    ///
    ///     redis://[[user]:password@][host][:port][/db][?key=value&...]        valkey:// is the same
    ///     rediss://...                                                        the same with TLS; so is valkeys://
    ///     unix://[[user]:password@]/path/to/socket[?db=n&key=value&...]
    ///
    /// Without a host it is localhost, without a port 6379, without a db 0. IPv6 addresses stand in brackets. In user
    /// and password `@ : / ? # %` are written `%40 %3A %2F %3F %23 %25`. A URL without a user or a password has
    /// `username` or `password` from here. Each key may stand once; it overrides a setting for that node:
    ///
    /// | Key | Value | Instead of |
    /// |---|---|---|
    /// | `db` | number, where the path names none | |
    /// | `protocol` | `2` (RESP2: waiters are not woken) or `3` | |
    /// | `client_name` | visible ASCII without spaces | `client_name` |
    /// | `connect_timeout` | duration | `reconnect.connect_timeout` |
    /// | `command_timeout` | duration | `health.response_timeout` |
    /// | `health_check_interval` | duration; `0ms`: never | `health.check_interval` |
    /// | `keepalive` | `true` or `false` | `health.keep_alive` |
    /// | `durable` | `true` or `false` | `admission.durable_nodes` |
    /// | `tls_ca`, `tls_ca_dir` | path; either replaces both | `tls.ca_file`, `tls.ca_dir` |
    /// | `tls_cert`, `tls_key` | path; only together | `tls.cert_file`, `tls.key_file` |
    /// | `tls_sni` | host name | `tls.server_name` |
    /// | `tls_verify` | `true` or `false` | `tls.insecure`, negated |
    ///
    /// Durations are whole milliseconds, written with a unit: `500ms`, `1.5s`, `1m`. Keys of `tls_` need a TLS
    /// scheme. Anything else is `errc::misconfigured`.
    std::vector<std::string> nodes{};
    /// How long one node may take to answer; zero means clamp(ttl / 20, 20 ms, 500 ms), reckoned per lock. In
    /// `lock_options::node_timeout` zero is an error.
    std::chrono::milliseconds node_timeout{0};
    std::string username{};              ///< for nodes whose URL names no user
    std::string password{};              ///< for nodes whose URL has no password
    std::string client_name = "redlock"; ///< shown by CLIENT LIST
    std::string key_prefix{}; ///< put before every lock's name; empty, so that other Redlock clients meet us
    tls_settings tls{};       ///< for `rediss://` and `valkeys://`
    reconnect_settings reconnect{}; ///< connecting, and connecting again
    health_settings health{};       ///< watching connections
    admission_settings admission{}; ///< which nodes may vote
    /// The nodes are known to be new (tests, demos, brand-new clusters): none can have lost keys before this client
    /// first met it, nor fenced locks before its first fenced lock. However young a node is, and also if it was
    /// promoted or has no marker yet, it votes at once. A restart that the client witnesses is quarantined all the same
    /// (see `admission_settings`).
    bool assume_fresh = false;
    std::shared_ptr<redlock::observer> observer{}; ///< told of what happens; see `redlock::observer`
};

} // namespace redlock
