// SPDX-License-Identifier: BSL-1.0
#include "cli/answer.hpp"

#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/server_words.hpp"
#include <redlock/server_error.hpp>

namespace redlock::cli {

void questions::ask(std::vector<std::string_view> const& command)
{
    redis::append_command(bytes, command);
    ++count;
}

bool is_wrong_type(answer const& a)
{
    return a.refused() && redis::classify(a.text) == server_error::wrongtype;
}

std::string_view why_no_lock(answer const& value, answer const& left)
{
    constexpr std::int64_t without_expiry = -1;
    if (is_wrong_type(value))
        return "it is no string";
    return left.is(answer::kind::number) && left.number == without_expiry ? "it has no expiry" : "";
}

holder_kind holder_of(answer const& value, answer const& left, answer const& whose)
{
    bool const text = value.is(answer::kind::text);
    if (!text && !is_wrong_type(value))
        return holder_kind::unknown;
    if (!why_no_lock({}, left).empty())
        return holder_kind::no_lock;
    if (text)
        return holder_kind::owner;
    if (whose.is(answer::kind::text) && whose.text == "READERS")
        return holder_kind::readers;
    if (whose.is(answer::kind::text) && whose.text == "PERMITS")
        return holder_kind::permits;
    if (whose.is(answer::kind::text) && whose.text == "NONE")
        return holder_kind::unknown;
    return is_wrong_type(whose) ? holder_kind::no_lock : holder_kind::maybe_readers;
}

std::string other_holder(holder_kind who)
{
    switch (who) {
    case holder_kind::readers: return "readers";
    case holder_kind::permits: return "holders of permits";
    case holder_kind::maybe_readers: return "(readers, permits, or not a lock)";
    default: return "(not a lock)";
    }
}

std::string beginning_of(std::string const& owner)
{
    constexpr std::size_t shown = 8;
    return redis::printable(owner.substr(0, shown)) + "...";
}

} // namespace redlock::cli
