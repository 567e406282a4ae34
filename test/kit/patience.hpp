// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>

namespace redlock::test {

/// The limit of every wait: one that no machine reaches.
inline constexpr std::chrono::milliseconds patience{60'000};

inline std::string position(std::source_location const& where)
{
    return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

/// Pauses until the condition holds.
template <class Condition, class Pause>
void repeat_until(Condition& holds, Pause pause, std::source_location const& where)
{
    auto const end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error("waited in vain at " + position(where));
        pause();
    }
}

/// For what happens in other processes or threads.
template <class Condition>
void wait_until(Condition holds, std::source_location where = std::source_location::current())
{
    repeat_until(
        holds, [] { std::this_thread::sleep_for(std::chrono::milliseconds{2}); }, where);
}

} // namespace redlock::test
