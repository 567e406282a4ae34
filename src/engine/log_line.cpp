// SPDX-License-Identifier: BSL-1.0
#include "engine/log_line.hpp"

#include <cstdio>

namespace redlock::detail {

void log_line::append(char c, std::string_view also_escaped)
{
    static constexpr char digits[] = "0123456789abcdef";
    auto const byte = static_cast<unsigned char>(c);
    bool const printable = byte >= 0x20 && byte < 0x7f;
    if (!printable)
        text_.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 0xfU]);
    else if (also_escaped.find(c) != std::string_view::npos)
        text_.append(1, '\\').append(1, c);
    else
        text_.append(1, c);
}

log_line& log_line::operator<<(std::string_view words)
{
    for (char const c : words.substr(0, longest))
        append(c, "\\");
    return *this;
}

log_line& log_line::quoted(std::string_view name)
{
    constexpr std::size_t longest_name = 128; // half of the longest line, even if each byte becomes \xNN
    text_ += '\'';
    for (char const c : name.substr(0, longest_name))
        append(c, "\\'");
    text_ += name.size() > longest_name ? "...'" : "'";
    return *this;
}

log_line& log_line::because(std::string_view words)
{
    return words.empty() ? *this : *this << ": " << words;
}

std::string log_line::take() &&
{
    constexpr std::string_view ellipsis = "...";
    if (text_.size() > longest)
        text_.replace(longest - ellipsis.size(), std::string::npos, ellipsis);
    return std::move(text_);
}

bool rate_limit::pass(core::instant now)
{
    constexpr core::duration period = std::chrono::seconds{1};
    if (!core::reached(next_, now)) {
        ++withheld_;
        return false;
    }
    next_ = now + period;
    return true;
}

std::string iso_8601(std::chrono::system_clock::time_point when)
{
    using namespace std::chrono;
    auto const day = floor<days>(when);
    year_month_day const date(day);
    hh_mm_ss const time(floor<milliseconds>(when - day));
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                  static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
    return text;
}

} // namespace redlock::detail
