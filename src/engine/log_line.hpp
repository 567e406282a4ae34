// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::detail {

/// One line of a log, which nothing that is put into it can end or turn into another.
class log_line {
public:
    /// Everything but printable ASCII as `\xNN`, a backslash doubled.
    log_line& operator<<(std::string_view words);
    log_line& operator<<(char c) { return *this << std::string_view(&c, 1); }
    template <std::unsigned_integral Number>
    log_line& operator<<(Number number)
    {
        return *this << std::to_string(number);
    }
    /// A name that anybody may have chosen: in single quotes, shortened when it is long.
    log_line& quoted(std::string_view name);
    /// ": " and the words, if there are any.
    log_line& because(std::string_view words);

    /// Returns at most `longest` bytes.
    [[nodiscard]] std::string take() &&;

    static constexpr std::size_t longest = 1024;

private:
    void append(char c, std::string_view also_escaped);

    std::string text_;
};

/// Lets one of a kind through in each second, and counts the others.
class rate_limit {
public:
    [[nodiscard]] bool pass(core::instant now);
    /// Since the one before that got through.
    [[nodiscard]] unsigned long long withheld() { return std::exchange(withheld_, 0); }

private:
    core::instant next_{};
    unsigned long long withheld_ = 0;
};

/// "2026-01-31T12:00:00.000Z"
[[nodiscard]] std::string iso_8601(std::chrono::system_clock::time_point);

} // namespace redlock::detail
