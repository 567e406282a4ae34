// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"

#include <cstdint>

namespace redlock::core {

/// Counts the nodes' answers to a release (docs/protocol.md, rules R1 and R2). The number of nodes is an argument: a
/// server holds a hundred thousand of these.
class release_tally {
public:
    enum class result : std::uint8_t {
        confirmed,
        was_gone,   ///< a majority cannot be certain that the key was ours until now
        unconfirmed ///< too few answered
    };

    /// The node said whether the key was ours until now.
    void answered(bool ours)
    {
        ++answers_;
        refusals_ = static_cast<std::uint8_t>(refusals_ + (ours ? 0 : 1));
    }
    /// There will be no answer.
    void missed() { ++missed_; }

    [[nodiscard]] bool decided(unsigned nodes) const
    {
        return confirmed(nodes) || answers_ + missed_ == static_cast<int>(nodes);
    }
    [[nodiscard]] bool confirmed(unsigned nodes) const { return answers_ >= majority(nodes); }
    [[nodiscard]] unsigned answers() const { return answers_; }
    // rule R2
    [[nodiscard]] result verdict(unsigned nodes) const
    {
        if (refusals_ > nodes - majority(nodes))
            return result::was_gone;
        return confirmed(nodes) ? result::confirmed : result::unconfirmed;
    }

private:
    std::uint8_t answers_ = 0;
    std::uint8_t refusals_ = 0;
    std::uint8_t missed_ = 0;
};

} // namespace redlock::core
