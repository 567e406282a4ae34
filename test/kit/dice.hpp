// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace redlock::test {

/// Random numbers that are the same on every machine (SplitMix64).
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next()
    {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
        z = (z ^ z >> 27) * 0x94d049bb133111ebU;
        return z ^ z >> 31;
    }

    /// Below `bound`.
    std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : (next() >> 32) * bound >> 32; }
    std::int64_t between(std::int64_t low, std::int64_t high)
    {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
    }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

private:
    std::uint64_t state_;
};

} // namespace redlock::test
