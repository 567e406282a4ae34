// SPDX-License-Identifier: BSL-1.0
#include "kind/line.hpp"

#include "redis/command.hpp"
#include "redis/text_number.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace redlock::kind {

namespace {

constexpr std::size_t window_digits = 7;
/// Two days: whoever says more is not believed.
constexpr std::chrono::hours longest_time{48};

template <class Unit>
std::optional<std::chrono::microseconds> take_time(std::string_view& text)
{
    constexpr Unit longest = longest_time;
    std::uint64_t time = 0;
    if (!redis::read_number(redis::take_word(text), time) ||
        time > static_cast<std::uint64_t>(longest.count()))
        return std::nullopt;
    return Unit{time};
}

} // namespace

std::string place(std::chrono::milliseconds window, std::string_view channel)
{
    assert(window <= longest_window);
    std::string const number = std::to_string(window.count());
    std::string text(window_digits - number.size(), '0');
    return text.append(number).append(channel);
}

std::optional<call> read_call(std::string_view text)
{
    auto const word = redis::take_word(text);
    call said;
    said.nonce = redis::take_word(text);
    if (said.nonce.size() != redis::nonce_length)
        return std::nullopt;
    bool const moved = word == "first";
    if (!moved && word != "take" && word != "free")
        return std::nullopt;
    auto const time =
        moved ? take_time<std::chrono::milliseconds>(text) : take_time<std::chrono::microseconds>(text);
    auto const giver = redis::take_word(text);
    if (!time || (!giver.empty() && (moved || giver.size() != redis::nonce_length)) ||
        (!text.empty() && word != "take"))
        return std::nullopt;
    said.what = moved ? call::word::first : word == "take" ? call::word::take : call::word::free;
    said.giver = giver;
    said.slots = text;
    said.time = *time;
    return said;
}

} // namespace redlock::kind
