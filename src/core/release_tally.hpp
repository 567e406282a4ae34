// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"

#include <cstdint>

namespace redlock::core {

/// Counts the nodes' answers to a release, one of each (docs/protocol.md, rules R1 and R2).
class release_tally {
public:
    enum class result : std::uint8_t {
        confirmed,
        was_gone,   ///< a majority cannot be certain that the key was ours until now
        unconfirmed ///< too few answered
    };

    release_tally() = default;
    explicit release_tally(node_set asked) : awaited_(asked), nodes_(static_cast<std::uint8_t>(asked.size()))
    {}

    /// The node said whether the key was ours until now.
    void answered(unsigned node, bool ours)
    {
        if (!awaited_.contains(node)) // the answer to a release that was repeated
            return;
        awaited_.erase(node);
        ++answers_;
        refusals_ = static_cast<std::uint8_t>(refusals_ + (ours ? 0 : 1));
    }
    /// The key went on to a next owner, who may have been there first.
    void excuse() { refusals_ = 0; }
    /// There will be no answer.
    void missed(unsigned node) { awaited_.erase(node); }

    [[nodiscard]] bool decided() const { return confirmed() || awaited_.empty(); }
    [[nodiscard]] bool confirmed() const { return answers_ >= majority(nodes_); }
    [[nodiscard]] unsigned answers() const { return answers_; }
    /// Nodes that have neither answered nor failed.
    [[nodiscard]] node_set awaited() const { return awaited_; }
    // rule R2
    [[nodiscard]] result verdict() const
    {
        if (refusals_ > nodes_ - majority(nodes_))
            return result::was_gone;
        return confirmed() ? result::confirmed : result::unconfirmed;
    }

private:
    node_set awaited_;
    std::uint8_t nodes_ = 0;
    std::uint8_t answers_ = 0;
    std::uint8_t refusals_ = 0;
};

} // namespace redlock::core
