// SPDX-License-Identifier: BSL-1.0
#include "kind/queue.hpp"

#include "kind/semaphore.hpp"
#include "redis/command.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace redlock::kind {

namespace {

/// Scripts read a position by its columns.
void append_digits(std::string& text, std::chrono::milliseconds::rep number, std::size_t count)
{
    std::string const digits = std::to_string(number);
    assert(digits.size() <= count);
    text.append(count - digits.size(), '0').append(digits);
}

/// A longer time counts as this.
constexpr std::chrono::hours longest_time{48};

template <class Unit>
std::optional<std::chrono::microseconds> take_time(std::string_view& text)
{
    constexpr Unit longest = longest_time;
    std::uint64_t time = 0;
    if (!redis::read_number(redis::take_word(text), time))
        return std::nullopt;
    return Unit{std::min(time, static_cast<std::uint64_t>(longest.count()))};
}

} // namespace

// rules Q1 and Q16
std::string position(std::string_view nonce, waiter_kind kind, std::chrono::milliseconds window,
                     std::string_view terms, std::string_view channel)
{
    assert(nonce.size() == redis::nonce_length && window.count() > 0);
    permits const wanted = kind == waiter_kind::permits ? permits_of(terms) : permits();
    std::string text(nonce);
    text += static_cast<char>(kind);
    append_digits(text, window.count(), 7);
    append_digits(text, wanted.count, 4);
    append_digits(text, wanted.limit, 4);
    return text.append(channel);
}

std::optional<waiter> read_position(std::string_view position)
{
    constexpr std::size_t kind_at = redis::nonce_length, wanted_at = kind_at + 8, channel_at = wanted_at + 8;
    std::uint64_t wanted = 0, limit = 0;
    if (position.size() <= channel_at || !redis::read_number(position.substr(wanted_at, 4), wanted) ||
        !redis::read_number(position.substr(wanted_at + 4, 4), limit))
        return std::nullopt;
    auto const kind = static_cast<waiter_kind>(position[kind_at]);
    if (kind != waiter_kind::exclusive && kind != waiter_kind::shared && kind != waiter_kind::permits)
        return std::nullopt;
    return waiter{kind,
                  {.limit = static_cast<std::uint16_t>(limit), .count = static_cast<std::uint16_t>(wanted)}};
}

// rule Q3
std::optional<call> read_call(std::string_view text)
{
    auto const word = redis::take_word(text);
    call found;
    found.nonce = redis::take_word(text);
    if (found.nonce.size() != redis::nonce_length)
        return std::nullopt;
    bool const moved = word == "first";
    if (!moved && word != "take" && word != "free")
        return std::nullopt;
    auto const time =
        moved ? take_time<std::chrono::milliseconds>(text) : take_time<std::chrono::microseconds>(text);
    auto const previous_owner = redis::take_word(text);
    if (!time || (!previous_owner.empty() && (moved || previous_owner.size() != redis::nonce_length)) ||
        (!text.empty() && word != "take"))
        return std::nullopt;
    found.what = moved ? call::word::first : word == "take" ? call::word::take : call::word::free;
    found.previous_owner = previous_owner;
    found.permits = text;
    found.time = *time;
    return found;
}

} // namespace redlock::kind
