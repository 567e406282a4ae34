// SPDX-License-Identifier: BSL-1.0
#include "redis/info.hpp"
#include "redis/resp_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <string_view>

using namespace redlock::redis;
using namespace std::chrono_literals;

namespace {

// The answer of Redis 7.0.15, without lines that the library does not read.
constexpr std::string_view real =
    "# Server\r\nredis_version:7.0.15\r\nredis_git_sha1:00000000\r\nredis_mode:standalone\r\n"
    "run_id:42015200fd5d002af72003038bd15cbfcf4e8bf2\r\ntcp_port:0\r\nuptime_in_seconds:81\r\nuptime_in_days:"
    "0\r\n"
    "executable:/usr/bin/redis:server\r\nconfig_file:\r\n\r\n# "
    "Memory\r\nmaxmemory:0\r\nmaxmemory_human:0B\r\n"
    "maxmemory_policy:noeviction\r\n\r\n# Persistence\r\nloading:0\r\nasync_loading:0\r\naof_enabled:0\r\n"
    "\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
    "master_replid:10108217a8393ee207d2829b086ca580423918c8\r\n"
    "master_replid2:0000000000000000000000000000000000000000\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n";

constexpr std::string_view least = "run_id:a\r\nuptime_in_seconds:1\r\nrole:master\r\n";

server_info with(std::string const& line)
{
    return parse_info(std::string(least) + line + "\r\n");
}

append_settings settings(std::string_view wire)
{
    resp_parser parser;
    parser.next(wire);
    return read_append_settings(body(parser.message()));
}

} // namespace

BOOST_AUTO_TEST_SUITE(info_parsing)

// rule N2
BOOST_AUTO_TEST_CASE(info_of_real_server_is_parsed)
{
    auto const info = parse_info(real);
    BOOST_TEST(info.version == "7.0.15");
    BOOST_TEST(info.run_id == "42015200fd5d002af72003038bd15cbfcf4e8bf2");
    BOOST_TEST((info.uptime == 81s));
    BOOST_TEST(info.replid == "10108217a8393ee207d2829b086ca580423918c8");
    BOOST_TEST(!info.promoted);
    BOOST_TEST((info.replica == false));
    BOOST_TEST(!info.loading);
    BOOST_TEST((info.cluster == false));
    BOOST_TEST((info.may_evict == false));
    BOOST_TEST(!info.aof);
    BOOST_TEST(info.replicas == 0U);
}

BOOST_AUTO_TEST_CASE(info_parser_reads_every_fact)
{
    BOOST_TEST(with("loading:1").loading);
    BOOST_TEST((with("cluster_enabled:1").cluster == true));
    BOOST_TEST(with("aof_enabled:1").aof);
    BOOST_TEST(with("connected_slaves:2").replicas == 2U);
    BOOST_TEST(with("connected_slaves:many").replicas == 0U);
    BOOST_TEST((with("min_slaves_good_slaves:2").good_replicas == 2U));
    BOOST_TEST(!parse_info(least).good_replicas.has_value());
    BOOST_TEST((with("slave0:ip=10.0.0.1,port=6379,state=online,offset=42,lag=3").replica_silences ==
                std::vector{std::chrono::seconds{3}}));
    BOOST_TEST((with("slave0:ip=h,port=1,state=online,offset=42,lag=3,type=replica").replica_silences ==
                std::vector{std::chrono::seconds{3}}));
    BOOST_TEST(
        with("slave0:ip=10.0.0.1,port=6379,state=wait_bgsave,offset=0,lag=0").replica_silences.empty());
    BOOST_TEST(with("slave0:ip=10.0.0.1,port=6379,state=online,offset=42,lag=-1").replica_silences.empty());
    for (std::string const role : {"slave", "replica", "active-replica", "sentinel"})
        BOOST_TEST((parse_info("role:" + role).replica == true), role);
    BOOST_TEST((parse_info(least).replica == false));
    BOOST_TEST(parse_info(least).replid.empty());
}

/// A master that stood still has not looked after its replicas since, but says how long it has not heard of them.
// rule N8
BOOST_AUTO_TEST_CASE(replicas_that_were_silent_for_too_long_do_not_count)
{
    server_facts facts{.info = parse_info("role:master\r\nmin_slaves_good_slaves:2\r\n"
                                          "slave0:ip=h,port=1,state=online,offset=1,lag=2\r\n"
                                          "slave1:ip=h,port=2,state=online,offset=1,lag=60\r\n"),
                       .replication = replica_settings{1, 2s}};
    BOOST_TEST(can_write(facts));
    facts.info->replica_silences.front() = 3s;
    BOOST_TEST(!can_write(facts));
    facts.replication->longest_silence = 0s; // then it needs none
    BOOST_TEST(can_write(facts));
    facts.replica = true;
    BOOST_TEST(!can_write(facts));
}

/// Each time that a replica comes, or comes back.
// rule N8
BOOST_AUTO_TEST_CASE(life_of_a_group_ends_when_a_replica_comes)
{
    server_facts facts{
        .info = parse_info("run_id:abc\r\nmaster_replid:def\r\nsync_full:2\r\nsync_partial_ok:3\r\n")};
    BOOST_TEST(incarnation(facts) == "abc:def");
    facts.group = true;
    BOOST_TEST(incarnation(facts) == "abc:def:5");
}

// rule N5
BOOST_AUTO_TEST_CASE(info_with_second_replication_id_or_offset_means_promoted)
{
    for (std::string const line :
         {"master_replid2:8a", "master_replid2:", "second_repl_offset:0", "second_repl_offset:17"})
        BOOST_TEST(with(line).promoted, line);
    for (std::string const line :
         {"master_replid2:0000", "second_repl_offset:-1", "master_replid2:00\r\nsecond_repl_offset:-1"})
        BOOST_TEST(!with(line).promoted, line);
}

// rule N6
BOOST_AUTO_TEST_CASE(info_means_eviction_only_with_memory_limit_and_policy)
{
    struct row {
        std::string_view lines;
        std::optional<bool> may_evict;
    };
    for (auto const& [lines, may_evict] :
         {row{"maxmemory:0\r\nmaxmemory_policy:allkeys-lru", false},
          row{"maxmemory:1\r\nmaxmemory_policy:noeviction", false},
          row{"maxmemory:1\r\nmaxmemory_policy:allkeys-lru", true},
          row{"maxmemory:9\r\nmaxmemory_policy:volatile-ttl", true}, row{"maxmemory:0", false},
          row{"maxmemory_policy:noeviction", false}, row{"maxmemory:1", {}},
          row{"maxmemory_policy:allkeys-lru", {}}, row{"", {}}})
        BOOST_TEST((with(std::string(lines)).may_evict == may_evict), lines);
}

BOOST_AUTO_TEST_CASE(info_parser_tolerates_forks_and_unknown_lines)
{
    // Valkey writes its own version besides redis_version, KeyDB other lines and sections.
    for (std::string const line :
         {"server_name:valkey", "valkey_version:8.0.1", "# Keydb", "variant:pro", "no colon", ":",
          "run_id_of:x y", "ROLE:slave", "", "\r", "loading_start_time:x"}) {
        auto const info = with(line);
        BOOST_TEST((info.replica == false), line);
        BOOST_TEST(info.run_id == "a");
    }
    BOOST_TEST(parse_info("run_id:a\nuptime_in_seconds:1\nrole:master").run_id ==
               "a"); // no CR, no last line end
    BOOST_TEST(with("redis_version:6\x1b[31m" + std::string(500, '.')).version.size() <= 200U);
}

// rule K8
BOOST_AUTO_TEST_CASE(native_commands_are_known_from_the_version)
{
    using form = script_form;
    struct row {
        std::string lines;
        std::optional<form> native;
    };
    constexpr auto none = std::nullopt;
    for (auto const& [lines, native] : {row{"redis_version:8.4.0", form::delex},
                                        row{"redis_version:8.6.3", form::delex},
                                        row{"redis_version:9.0", form::delex},
                                        row{"redis_version:10.1.2", form::delex},
                                        row{"redis_version:8.4.0\r\ngcc_version:15.2.0", form::delex},
                                        row{"redis_version:8.3.999", none},
                                        row{"redis_version:7.0.15", none},
                                        row{"redis_version:8", none},
                                        row{"redis_version:8.", none},
                                        row{"redis_version:8.x", none},
                                        row{"redis_version:", none},
                                        row{"redis_version:-9.4", none},
                                        row{"redis_version:unstable", none},
                                        row{"run_id:x", none},
                                        row{"redis_version:7.2.4\r\nvalkey_version:9.0.0", form::delifeq},
                                        row{"redis_version:7.2.4\r\nvalkey_version:9.1.2", form::delifeq},
                                        row{"valkey_version:10.0.0\r\nredis_version:8.4.0", form::delifeq},
                                        row{"redis_version:7.2.4\r\nvalkey_version:8.1.9", none},
                                        row{"redis_version:8.4.0\r\nvalkey_version:8.1.9", none},
                                        row{"redis_version:8.4.0\r\nvalkey_version:?", none},
                                        row{"redis_version:8.4.0\r\ndragonfly_version:df-v9.30.0", none},
                                        row{"kvrocks_version:9.9.9\r\nredis_version:8.4.0", none}})
        BOOST_TEST((parse_info(lines + "\r\n").native == native), lines);
}

// rule N6
BOOST_AUTO_TEST_CASE(info_with_missing_lines_leaves_other_facts_known)
{
    auto const nothing = parse_info("");
    BOOST_TEST(nothing.run_id.empty());
    BOOST_TEST(!nothing.uptime.has_value());
    BOOST_TEST(!nothing.replica.has_value());
    BOOST_TEST(!nothing.may_evict.has_value());
    auto const anonymous =
        parse_info("uptime_in_seconds:7\r\nrole:slave\r\nmaxmemory:1\r\nmaxmemory_policy:x\r\n");
    BOOST_TEST(anonymous.run_id.empty());
    BOOST_TEST((anonymous.uptime == 7s));
    BOOST_TEST((anonymous.replica == true));
    BOOST_TEST((anonymous.may_evict == true));
}

/// Some servers report every error that they have ever answered, before what is needed.
// rule N6
BOOST_AUTO_TEST_CASE(end_of_long_info_is_read)
{
    std::string text(least);
    while (text.size() <= 100'000)
        text += "errorstat_X:count=1\r\n";
    server_info const read = parse_info(text + "cluster_enabled:1\r\n");
    BOOST_TEST(!read.run_id.empty());
    BOOST_TEST((read.cluster == true));
}

// rule N6
BOOST_AUTO_TEST_CASE(info_with_invalid_values_is_ignored)
{
    for (std::string const line : {"run_id:", "run_id:a b", "run_id:a:b", "run_id:a/b", "run_id:\x01"})
        BOOST_TEST(with(line).run_id.empty(), line);
    for (std::string const line : {"uptime_in_seconds:", "uptime_in_seconds:-1", "uptime_in_seconds: 1",
                                   "uptime_in_seconds:1s", "uptime_in_seconds:99999999999999999999"})
        BOOST_TEST(!with(line).uptime.has_value(), line);
    BOOST_TEST(!parse_info("role:").replica.has_value());
    BOOST_TEST(!with("cluster_enabled:yes").cluster.has_value());
    BOOST_TEST(!with("aof_enabled:on").aof);
    BOOST_TEST(!with("maxmemory:1gb\r\nmaxmemory_policy:x").may_evict.has_value());
    BOOST_TEST(with("run_id:" + std::string(65, 'a')).run_id.empty());
    BOOST_TEST(!with("run_id:" + std::string(64, 'a')).run_id.empty());
}

BOOST_AUTO_TEST_CASE(info_with_largest_uptime_does_not_overflow)
{
    for (std::string const seconds : {"9223372036854775807", "18446744073709551615"}) {
        auto const uptime = with("uptime_in_seconds:" + seconds).uptime;
        BOOST_TEST((uptime > 99 * 365 * 24h && uptime < 101 * 366 * 24h));
    }
}

// rule N2
BOOST_AUTO_TEST_CASE(append_settings_are_read_from_maps_and_arrays)
{
    BOOST_TEST((settings("%1\r\n+appendfsync\r\n+always\r\n").fsync_always == true));
    BOOST_TEST((settings("*2\r\n+appendfsync\r\n+always\r\n").fsync_always == true));
    BOOST_TEST((settings("*2\r\n+appendfsync\r\n+everysec\r\n").fsync_always == false));
    BOOST_TEST((settings("*2\r\n+appendonly\r\n+yes\r\n").append_only == true));
    BOOST_TEST((settings("*2\r\n+no-appendfsync-on-rewrite\r\n+no\r\n").pauses_on_rewrite == false));
    BOOST_TEST((settings("*2\r\n+no-appendfsync-on-rewrite\r\n+yes\r\n").pauses_on_rewrite == true));
    BOOST_TEST((settings("|1\r\n+a\r\n+b\r\n%2\r\n:1\r\n_\r\n+no-appendfsync-on-rewrite\r\n+no\r\n")
                    .pauses_on_rewrite == false));
}

// rule N4
BOOST_AUTO_TEST_CASE(append_settings_that_are_missing_are_unknown)
{
    for (std::string_view const wire : {"*0\r\n", "+OK\r\n", "_\r\n", "*1\r\n+appendfsync\r\n",
                                        "*1\r\n*2\r\n+appendfsync\r\n+always\r\n"}) {
        BOOST_TEST(!settings(wire).fsync_always.has_value());
        BOOST_TEST(forgetful_setting(settings(wire)) == "");
    }
    BOOST_TEST(forgetful_setting({true, true, false}) == "");
    BOOST_TEST(forgetful_setting({false, true, false}) == "appendonly is no");
    BOOST_TEST(forgetful_setting({true, false, {}}) == "appendfsync is not always");
    BOOST_TEST(forgetful_setting({{}, {}, true}) == "no-appendfsync-on-rewrite is yes");
}

BOOST_AUTO_TEST_CASE(time_reply_is_read_only_if_well_formed)
{
    auto const time = [](std::string_view wire) {
        resp_parser parser;
        BOOST_TEST_REQUIRE((parser.next(wire).status == parse_status::complete));
        return read_time(body(parser.message()));
    };
    BOOST_TEST((time("*2\r\n$10\r\n1700000000\r\n$2\r\n42\r\n") == 1'700'000'000'000'042us));
    BOOST_TEST((time("*2\r\n$10\r\n8589934591\r\n$6\r\n999999\r\n") == 8'589'934'591'999'999us));
    for (std::string_view const wire :
         {"*2\r\n$10\r\n8589934592\r\n$1\r\n0\r\n", "*2\r\n$1\r\n1\r\n$7\r\n1000000\r\n",
          "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n", "*2\r\n$1\r\n1\r\n$2\r\n-1\r\n", "*1\r\n$1\r\n1\r\n",
          "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n", "%1\r\n$1\r\n1\r\n$1\r\n1\r\n", "+OK\r\n", "_\r\n",
          "-NOPERM no\r\n"})
        BOOST_TEST(!time(wire).has_value(), wire);
}

// rule F6
BOOST_AUTO_TEST_CASE(incarnation_consists_of_run_id_and_replication_id)
{
    server_facts facts;
    BOOST_TEST(incarnation(facts).empty());
    facts.info = parse_info(real);
    BOOST_TEST(incarnation(facts) == "42015200fd5d002a:10108217a8393ee2");
    facts.info->run_id.clear();
    BOOST_TEST(incarnation(facts) == ":10108217a8393ee2");
    facts.info->replid.clear();
    BOOST_TEST(incarnation(facts).empty());
}

BOOST_AUTO_TEST_SUITE_END()
