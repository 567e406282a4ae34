// SPDX-License-Identifier: BSL-1.0
#include "redis/marker.hpp"

#include "redis/command.hpp"
#include "redis/scripts.hpp"
#include "redis/text_number.hpp"

#include <cstddef>
#include <cstdint>

namespace redlock::redis {
namespace {

/// The year 2248. Far below 2^53, up to which the scripts' numbers are exact.
constexpr std::int64_t too_late = std::int64_t{1} << 43;

std::optional<std::chrono::milliseconds> read_milliseconds(std::string_view text)
{
    std::int64_t value = 0;
    if (!read_number(text, value) || value < 0 || value >= too_late)
        return {};
    return std::chrono::milliseconds{value};
}

/// Returns the text before the mark, and removes both from `text`.
std::string_view take_until(char mark, std::string_view& text)
{
    auto const end = text.find(mark);
    auto const part = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return part;
}

} // namespace

std::string_view lineage(std::string_view text)
{
    (void)take_until('/', text);
    return take_until('/', text);
}

// rule F6
std::optional<marker> read_marker(std::string_view reply)
{
    constexpr std::size_t longest_marker = 256;
    auto const now = read_milliseconds(take_until(' ', reply));
    marker found{.text = std::string(reply.substr(0, longest_marker))};
    (void)take_until('/', reply);
    (void)take_until('/', reply);
    auto const since = read_milliseconds(take_until('/', reply));
    auto const placed = read_milliseconds(reply);
    if (!now || !since || !placed || *since > *now || *placed > *now || found.text.size() == longest_marker)
        return {};
    found.now = *now;
    found.since = *since;
    found.placed = *placed;
    return found;
}

void append_mark(std::string& out, mark_call const& call)
{
    append_command(
        out, {"EVAL", scripts::mark.text, "1", joined_name(call.key_prefix, marker_name), call.incarnation,
              call.lineage, call.certain_for ? std::to_string(call.certain_for->count()) : std::string(),
              call.absence_is_excused ? "1" : "0", call.seen.text, std::to_string(call.seen.now.count())});
}

} // namespace redlock::redis
