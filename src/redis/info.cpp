#include "redis/info.hpp"

#include "redis/server_words.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace redlock::redis {
namespace {

/// A server draws 40 hexadecimal digits; forks and services draw other lengths and letters.
bool read_id(std::string_view value, std::string& id)
{
    constexpr std::size_t longest_id = 64;
    bool const plain = std::ranges::all_of(value, [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    });
    if (value.empty() || value.size() > longest_id || !plain)
        return false;
    id = value;
    return true;
}

/// All zeros say that there was no earlier data set.
bool read_former_id(std::string_view value, std::string& id)
{
    if (!read_id(value, id))
        return false;
    if (std::ranges::all_of(id, [](char c) { return c == '0'; }))
        id.clear();
    return true;
}

bool read_flag(std::string_view value, bool& flag)
{
    flag = value == "1";
    return value == "0" || value == "1";
}

bool read_uptime(std::string_view value, std::chrono::seconds& uptime)
{
    constexpr std::uint32_t century =
        3'155'760'000; // what a broken clock claims must not overflow a duration
    std::uint64_t seconds = 0;
    if (!read_number(value, seconds))
        return false;
    uptime = std::chrono::seconds{std::min<std::uint64_t>(seconds, century)};
    return true;
}

struct reading {
    server_info info;
    std::uint64_t memory_limit = 0;
    bool keeps_everything = true;
    bool has_run_id = false;
    bool has_uptime = false;
    bool has_role = false;

    /// False where a line that we read is malformed.
    bool line(std::string_view name, std::string_view value)
    {
        if (name == "run_id")
            return has_run_id = read_id(value, info.run_id);
        if (name == "uptime_in_seconds")
            return has_uptime = read_uptime(value, info.uptime);
        if (name == "role") {
            info.replica = value != "master"; // "slave", and whatever else is no master
            return has_role = !value.empty();
        }
        if (name == "loading")
            return read_flag(value, info.loading);
        if (name == "cluster_enabled")
            return read_flag(value, info.cluster);
        if (name == "aof_enabled")
            return read_flag(value, info.aof);
        if (name == "master_replid")
            return read_id(value, info.replid);
        if (name == "master_replid2")
            return read_former_id(value, info.replid2);
        if (name == "maxmemory")
            return read_number(value, memory_limit);
        if (name == "maxmemory_policy")
            keeps_everything = value == "noeviction";
        else if (name == "redis_version")
            info.version = quote(value);
        return true;
    }
};

} // namespace

std::optional<server_info> parse_info(std::string_view text)
{
    if (text.size() > longest_info)
        return {};
    reading read;
    while (!text.empty()) {
        auto const end = text.find('\n');
        auto line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        auto const colon = line.find(':');
        if (line.starts_with('#') || colon == std::string_view::npos)
            continue;
        if (!read.line(line.substr(0, colon), line.substr(colon + 1)))
            return {};
    }
    if (!read.has_run_id || !read.has_uptime || !read.has_role)
        return {};
    read.info.may_evict = read.memory_limit != 0 && !read.keeps_everything;
    return read.info;
}

append_settings read_append_settings(std::span<resp_node const> reply)
{
    append_settings settings;
    for_each_pair(reply, [&](resp_node const& name, resp_node const& told) {
        if (name.text == "appendfsync")
            settings.fsync_always = told.text == "always";
        else if (name.text == "no-appendfsync-on-rewrite")
            settings.pauses_on_rewrite = told.text != "no";
    });
    return settings;
}

std::optional<std::chrono::microseconds> read_time(std::span<resp_node const> reply)
{
    constexpr std::uint64_t last_second = std::uint64_t{1}
                                          << 33; // in the year 2242, within the range of nanoseconds
    constexpr std::uint64_t microseconds_per_second = 1'000'000;
    std::uint64_t seconds = 0;
    std::uint64_t rest = 0;
    if (reply.size() != 3 || reply[0].type != resp_type::array || !read_number(reply[1].text, seconds) ||
        !read_number(reply[2].text, rest) || seconds >= last_second || rest >= microseconds_per_second)
        return {};
    return std::chrono::microseconds{static_cast<std::int64_t>(seconds * microseconds_per_second + rest)};
}

std::string incarnation(server_facts const& facts)
{
    constexpr std::size_t enough = 16; // hexadecimal digits: it goes along with every fenced command
    if (!facts.info)
        return {};
    return facts.info->run_id.substr(0, enough) + ':' + facts.info->replid.substr(0, enough);
}

} // namespace redlock::redis
