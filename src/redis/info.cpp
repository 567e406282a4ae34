// SPDX-License-Identifier: BSL-1.0
#include "redis/info.hpp"

#include "redis/server_words.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace redlock::redis {
namespace {

/// A server draws 40 hexadecimal digits; forks and services draw other lengths and letters. Empty: not an identifier.
std::string read_id(std::string_view value)
{
    constexpr std::size_t longest_id = 64;
    bool const plain = std::ranges::all_of(value, [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    });
    return value.size() <= longest_id && plain ? std::string(value) : std::string();
}

/// Zeros, or no offset, mean that there was no earlier data set. Any other value means that there may have been one.
// rule N5
bool is_some_id(std::string_view value)
{
    return value.empty() || !std::ranges::all_of(value, [](char c) { return c == '0'; });
}

std::optional<bool> read_flag(std::string_view value)
{
    return value == "0" || value == "1" ? std::optional(value == "1") : std::nullopt;
}

std::optional<std::chrono::seconds> read_seconds(std::string_view value)
{
    constexpr std::uint32_t century =
        3'155'760'000; // a value from a broken clock must not overflow a duration
    std::uint64_t seconds = 0;
    if (!read_number(value, seconds))
        return {};
    return std::chrono::seconds{std::min<std::uint64_t>(seconds, century)};
}

/// "9.1.2": is that `major.minor`, or a later release? False if it is no number.
bool reaches(std::string_view version, std::uint64_t major, std::uint64_t minor)
{
    auto const next = [&version] {
        auto const dot = version.find('.');
        auto const part = version.substr(0, dot);
        version.remove_prefix(dot == version.npos ? version.size() : dot + 1);
        return part;
    };
    std::uint64_t told_major = 0;
    std::uint64_t told_minor = 0;
    return read_number(next(), told_major) && read_number(next(), told_minor) &&
           (told_major > major || (told_major == major && told_minor >= minor));
}

struct reading {
    server_info info;
    std::optional<bool> memory_is_limited;
    std::optional<bool> keeps_everything;
    std::string valkey;
    bool is_other = false; ///< neither Redis nor Valkey

    void line(std::string_view name, std::string_view value)
    {
        if (name == "run_id")
            info.run_id = read_id(value);
        else if (name == "uptime_in_seconds")
            info.uptime = read_seconds(value);
        else if (name == "role" && !value.empty())
            info.replica = value != "master"; // "slave", and any other value that is not "master"
        else if (name == "loading")
            info.loading = value == "1";
        else if (name == "cluster_enabled")
            info.cluster = read_flag(value);
        else if (name == "aof_enabled")
            info.aof = value == "1";
        else if (name == "master_replid")
            info.replid = read_id(value);
        else if (name == "master_replid2")
            info.promoted = info.promoted || is_some_id(value);
        else if (name == "second_repl_offset")
            info.promoted = info.promoted || !value.starts_with('-');
        else if (std::uint64_t limit = 0; name == "maxmemory" && read_number(value, limit))
            memory_is_limited = limit != 0;
        else if (name == "maxmemory_policy")
            keeps_everything = value == "noeviction";
        else if (name == "redis_version")
            info.version = quote(value);
        else if (name == "valkey_version")
            valkey = quote(value);
        else if (name.ends_with("_version") && name != "gcc_version")
            is_other = true;
        else
            line_of_replicas(name, value);
    }

    void line_of_replicas(std::string_view name, std::string_view value)
    {
        unsigned count = 0;
        if (name.starts_with("slave") && value.find("state=online") != value.npos)
            read_silence(value);
        else if (!read_number(value, count))
            return;
        else if (name == "connected_slaves")
            info.replicas = count;
        else if (name == "min_slaves_good_slaves")
            info.good_replicas = count;
        else if (name == "sync_full" || name == "sync_partial_ok")
            info.attachments += count;
    }

    /// "ip=10.0.0.1,port=6379,state=online,offset=42,lag=0"; Valkey 9.1 appends ",type=replica"
    void read_silence(std::string_view value)
    {
        constexpr std::string_view key = ",lag=";
        auto const at = value.find(key);
        if (at == value.npos)
            return;
        std::string_view const lag = value.substr(at + key.size());
        std::uint32_t seconds = 0;
        if (read_number(lag.substr(0, lag.find(',')), seconds))
            info.replica_silences.emplace_back(seconds);
    }

    /// A server with a version of its own gives Redis' version only for compatibility.
    // rule K8
    [[nodiscard]] std::optional<script_form> native() const
    {
        if (is_other)
            return std::nullopt;
        if (!valkey.empty())
            return reaches(valkey, 9, 0) ? std::optional(script_form::delifeq) : std::nullopt;
        return reaches(info.version, 8, 4) ? std::optional(script_form::delex) : std::nullopt;
    }

    [[nodiscard]] std::optional<bool> may_evict() const
    {
        if (memory_is_limited == false || keeps_everything == true)
            return false;
        return memory_is_limited && keeps_everything ? std::optional(true) : std::nullopt;
    }
};

} // namespace

// rules N2 and N6
server_info parse_info(std::string_view text)
{
    reading read;
    while (!text.empty()) {
        auto const end = text.find('\n');
        auto line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        auto const colon = line.find(':');
        if (!line.starts_with('#') && colon != std::string_view::npos)
            read.line(line.substr(0, colon), line.substr(colon + 1));
    }
    read.info.may_evict = read.may_evict();
    read.info.native = read.native();
    return std::move(read.info);
}

append_settings read_append_settings(std::span<resp_node const> reply)
{
    append_settings settings;
    for_each_pair(reply, [&](resp_node const& name, resp_node const& told) {
        if (name.text == "appendonly")
            settings.append_only = told.text == "yes";
        else if (name.text == "appendfsync")
            settings.fsync_always = told.text == "always";
        else if (name.text == "no-appendfsync-on-rewrite")
            settings.pauses_on_rewrite = told.text != "no";
    });
    return settings;
}

std::string_view forgetful_setting(append_settings const& told)
{
    if (told.append_only == false)
        return "appendonly is no";
    if (told.fsync_always == false)
        return "appendfsync is not always";
    return told.pauses_on_rewrite == true ? "no-appendfsync-on-rewrite is yes" : "";
}

std::optional<replica_settings> read_replica_settings(std::span<resp_node const> reply)
{
    replica_settings settings;
    bool counts = false;
    std::optional<std::chrono::seconds> silence;
    for_each_pair(reply, [&](resp_node const& name, resp_node const& told) {
        if (name.text == "min-replicas-to-write")
            counts = read_number(told.text, settings.needed);
        else if (name.text == "min-replicas-max-lag")
            silence = read_seconds(told.text);
    });
    if (!counts || !silence)
        return {};
    settings.longest_silence = *silence;
    return settings;
}

std::optional<std::chrono::microseconds> read_time(std::span<resp_node const> reply)
{
    constexpr auto too_late = std::uint64_t{1} << 33; // the year 2242: 64 bits still hold it in nanoseconds
    constexpr std::uint64_t microseconds_per_second = 1'000'000;
    std::uint64_t seconds = 0;
    std::uint64_t rest = 0;
    // The array, and its two elements.
    if (reply.size() != 3 || reply[0].type != resp_type::array || !read_number(reply[1].text, seconds) ||
        !read_number(reply[2].text, rest) || seconds >= too_late || rest >= microseconds_per_second)
        return {};
    return std::chrono::microseconds{static_cast<std::int64_t>(seconds * microseconds_per_second + rest)};
}

std::string incarnation(server_facts const& facts)
{
    constexpr std::size_t enough = 16; // hexadecimal digits: it goes along with every fenced command
    if (!facts.info || (facts.info->run_id.empty() && facts.info->replid.empty()))
        return {};
    std::string const life =
        facts.info->run_id.substr(0, enough) + ':' + facts.info->replid.substr(0, enough);
    return facts.group ? life + ':' + std::to_string(facts.info->attachments) : life;
}

/// The master's count of good replicas may be as old as a pause of its process. The time since it heard of a replica is
/// computed when it is asked.
bool can_write(server_facts const& facts)
{
    server_info const info = facts.info.value_or(server_info{});
    if (facts.replica || info.loading)
        return false;
    if (!facts.replication || facts.replication->longest_silence == std::chrono::seconds::zero())
        return true; // it needs none
    auto const heard = std::ranges::count_if(info.replica_silences, [&](std::chrono::seconds silence) {
        return silence <= facts.replication->longest_silence;
    });
    unsigned const needed = facts.replication->needed;
    return info.good_replicas.value_or(0) >= needed && static_cast<std::size_t>(heard) >= needed;
}

} // namespace redlock::redis
