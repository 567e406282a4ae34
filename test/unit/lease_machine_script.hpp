// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/lease_machine.hpp"
#include "core/validity.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

namespace redlock::core {

inline std::ostream& boost_test_print_type(std::ostream& out, lease_phase phase)
{
    return out << std::array{"held", "suspect", "lost", "released"}[static_cast<std::size_t>(phase)];
}

} // namespace redlock::core

namespace redlock::test {

using namespace core;
using namespace std::chrono_literals;

/// Since the first byte of the winning attempt. The two clocks have origins of their own.
constexpr instant at(duration since)
{
    return {1000000s + since, 77s + since};
}

constexpr std::int64_t us(duration d)
{
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

inline node_set nodes_of(std::string_view digits)
{
    node_set nodes;
    for (char digit : digits)
        nodes.insert(static_cast<unsigned>(digit - '0'));
    return nodes;
}

inline extension_answer parse_answer(char letter)
{
    return letter == 'm'   ? extension_answer::mine
           : letter == 'r' ? extension_answer::repaired
           : letter == 'n' ? extension_answer::not_mine
                           : extension_answer::failed;
}

/// Nine seconds: valid for 9000 - 90 - 2 = 8908 ms, renewed at 3000 ms; with its slack of 900 ms, a tolerated suspect
/// until 9900 - 99 - 2 = 9799 ms.
inline constexpr lease_terms nine_seconds{.ttl = 9s, .slack = 900ms};

constexpr lease_terms with(duration max_hold, bool renew = true, bool tolerate = false)
{
    return {.ttl = 9s, .slack = 900ms, .max_hold = max_hold, .renew = renew, .tolerate_suspect = tolerate};
}
inline constexpr lease_terms unrenewed = with(duration::max(), false);
inline constexpr lease_terms tolerant = with(duration::max(), true, true);
inline constexpr lease_terms tolerant_unrenewed = with(duration::max(), false, true);

/// A machine spoken to in milliseconds and letters.
struct lease {
    explicit lease(lease_terms t = nine_seconds, unsigned nodes = 3, std::string_view holders = "01234")
        : terms(t), machine(terms, nodes, at(0s), nodes_of(holders.substr(0, nodes)))
    {}
    lease(lease const&) = delete;
    lease& operator=(lease const&) = delete;

    char due(duration now) { return due(at(now)); }
    char due(instant now) { return "-RSL"[static_cast<std::size_t>(machine.due(now))]; }

    void begin(instant sent) { machine.extension_started(open, sent); }
    lease_machine::outcome answer(unsigned node, extension_answer said, instant now)
    {
        return machine.answer(open, node, said, now);
    }
    lease_machine::outcome time_out(instant now) { return machine.time_out(open, now); }

    /// "0m 1n 2f 3r": mine, not mine, failed, repaired. For each: pending, Extended, Failed or Lost.
    std::string answers(std::string const& script, duration now)
    {
        std::string told;
        std::istringstream words(script);
        for (std::string word; words >> word;)
            told += ".EFL"[static_cast<std::size_t>(
                answer(static_cast<unsigned>(word[0] - '0'), parse_answer(word[1]), at(now)))];
        return told;
    }

    std::string round(duration sent, std::string const& script, duration now)
    {
        begin(at(sent));
        return answers(script, now);
    }
    std::string round(duration sent, std::string const& script) { return round(sent, script, sent); }

    [[nodiscard]] std::int64_t deadline_us() const
    {
        BOOST_TEST(us(machine.deadline().boot - at(0s).boot) == us(machine.deadline().raw - at(0s).raw));
        return us(machine.deadline().boot - at(0s).boot);
    }
    /// Minus one: never again.
    [[nodiscard]] std::int64_t next_us() const
    {
        auto const next = machine.next_due();
        return next ? us(next->boot - at(0s).boot) : -1;
    }

    lease_terms const terms;
    lease_machine machine;
    lease_round open{};
};

} // namespace redlock::test
