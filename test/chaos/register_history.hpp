// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::chaos {

using std::chrono::nanoseconds;

/// One operation on a register, as its caller saw it.
struct register_use {
    bool is_write = false;
    std::uint64_t value = 0;          ///< no two writes have the same; 0 stands there at the beginning
    nanoseconds begin{};              ///< it has not taken effect before
    std::optional<nanoseconds> end{}; ///< but before this. Nothing: nobody knows whether and when it did
};

/// Could a register have done that: does each operation take effect at some instant between its begin and its end, so that
/// each read finds what the last write before it wrote?
///
/// The zone of a value lies between the first end and the last begin of the operations on it. If the first end comes first,
/// the register had the value in all of its zone: no two such zones may overlap, nor may one contain another zone.
///
/// Source: Phillip B. Gibbons, Ephraim Korach, "Testing shared memories", SIAM Journal on Computing 26 (1997), where all
/// values differ.
/// \returns the value that cannot be explained
inline std::optional<std::uint64_t> not_explained(std::vector<register_use> const& history)
{
    struct zone {
        nanoseconds first_end = nanoseconds::max();
        nanoseconds last_begin = nanoseconds::min();
        std::optional<nanoseconds> written{}; ///< not before
        bool wanted = false;                  ///< a read or an end shows that it was written
    };
    std::map<std::uint64_t, zone> zones;
    zones[0] = {nanoseconds::min(), nanoseconds::min(), nanoseconds::min(), true};
    for (register_use const& one : history) {
        zone& its = zones[one.value];
        its.first_end = std::min(its.first_end, one.end.value_or(nanoseconds::max()));
        its.last_begin = std::max(its.last_begin, one.begin);
        its.wanted = its.wanted || one.end;
        if (!one.is_write)
            continue;
        if (its.written)
            return one.value;
        its.written = one.begin;
    }
    std::vector<std::pair<zone, std::uint64_t>> all;
    for (auto const& [value, its] : zones) {
        if (its.wanted && (!its.written || its.first_end < *its.written))
            return value; // a read ended before anybody wrote that
        if (its.wanted)
            all.emplace_back(its, value);
    }
    std::ranges::sort(all, {},
                      [](auto const& one) { return std::min(one.first.first_end, one.first.last_begin); });
    nanoseconds stood_until = nanoseconds::min();
    for (auto const& [its, value] : all) {
        if (its.first_end < stood_until)
            return value; // another value stood there before and after
        if (its.first_end < its.last_begin)
            stood_until = its.last_begin;
    }
    return std::nullopt;
}

} // namespace redlock::chaos
