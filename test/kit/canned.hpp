// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string_view>

namespace redlock::test {

/// The words of a real server (Redis 7.0). scripted_node_test.cpp asks one and compares.
namespace canned {
inline constexpr std::string_view ok = "+OK\r\n";
inline constexpr std::string_view pong = "+PONG\r\n";
inline constexpr std::string_view nil = "_\r\n";
inline constexpr std::string_view nil_resp2 = "$-1\r\n";
inline constexpr std::string_view one = ":1\r\n";
inline constexpr std::string_view zero = ":0\r\n";
inline constexpr std::string_view hello =
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:"
    "5\r\n"
    "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";
/// The lines of INFO that admission reads, in their order; the server says many more.
inline constexpr std::string_view info =
    "# Server\r\nredis_version:7.0.15\r\n"
    "run_id:0000000000000000000000000000000000000001\r\nuptime_in_seconds:86400\r\n"
    "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
    "# Persistence\r\nloading:0\r\naof_enabled:0\r\n"
    "# "
    "Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:"
    "000000000000000000000000000000000000000a\r\n"
    "master_replid2:0000000000000000000000000000000000000000\r\n# Cluster\r\ncluster_enabled:0\r\n";
inline constexpr std::string_view append_settings =
    "%5\r\n$14\r\nappendfilename\r\n$14\r\nappendonly.aof\r\n$11\r\nappendfsync\r\n$8\r\neverysec\r\n"
    "$25\r\nno-appendfsync-on-rewrite\r\n$2\r\nno\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"
    "$13\r\nappenddirname\r\n$13\r\nappendonlydir\r\n";
/// On a node whose memory is certain.
inline constexpr std::string_view marker = "+1700000000000 run:data/0a1b2c3d/0/0\r\n";
/// A clock that stands still is none that was set forward.
inline constexpr std::string_view time = "*2\r\n$10\r\n1700000000\r\n$6\r\n000042\r\n";
/// Word of a change that was asked for.
inline constexpr std::string_view invalidation = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$8\r\nresource\r\n";
inline constexpr std::string_view noscript = "-NOSCRIPT No matching script. Please use EVAL.\r\n";
inline constexpr std::string_view noauth = "-NOAUTH Authentication required.\r\n";
inline constexpr std::string_view wrongpass =
    "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
inline constexpr std::string_view noperm =
    "-NOPERM this user has no permissions to run the 'set' command\r\n";
inline constexpr std::string_view noperm_subscribe =
    "-NOPERM this user has no permissions to run the 'subscribe' command\r\n";
inline constexpr std::string_view readonly = "-READONLY You can't write against a read only replica.\r\n";
inline constexpr std::string_view wrongtype =
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
inline constexpr std::string_view oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
inline constexpr std::string_view noreplicas = "-NOREPLICAS Not enough good replicas to write.\r\n";
inline constexpr std::string_view masterdown =
    "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n";
inline constexpr std::string_view unknown_setinfo = "-ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.\r\n";
// Words of the server's source (server.c, cluster.c) that need a cluster, a slow disk or an old version to be heard.
inline constexpr std::string_view loading = "-LOADING Redis is loading the dataset in memory\r\n";
inline constexpr std::string_view busy =
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n";
inline constexpr std::string_view misconf =
    "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.\r\n";
inline constexpr std::string_view clusterdown = "-CLUSTERDOWN Hash slot not served\r\n";
inline constexpr std::string_view tryagain = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
inline constexpr std::string_view moved = "-MOVED 866 127.0.0.1:7002\r\n";
inline constexpr std::string_view ask = "-ASK 866 127.0.0.1:7002\r\n";
inline constexpr std::string_view unknown_hello =
    "-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n";
} // namespace canned

} // namespace redlock::test
