// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chaos/journal.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace redlock::chaos {

/// A change of nodes completes when the leases of earlier operations have ended (docs/protocol.md, rule N9). A program
/// notes the leases that are valid right after that.
// rule N9
class node_change_rules {
public:
    explicit node_change_rules(std::vector<std::string>& flaws) : flaws_(flaws) {}

    /// \param one in the order of their instants
    void take(entry const& one)
    {
        switch (one.what) {
        case event::asks:
        case event::adopts: asked_[one.owner()] = one.at; break;
        case event::changes: began_[one.owner()] = one.at; break;
        case event::has_changed:
            if (one.value == 0)
                completed_[one.program] = began_[one.owner()];
            break;
        case event::valid:
        case event::valid_too: check(one); break;
        default: break;
        }
    }

private:
    void check(entry const& one)
    {
        auto const asked = asked_.find(one.owner());
        auto const change = completed_.find(one.program);
        if (asked != asked_.end() && change != completed_.end() && asked->second < change->second &&
            reported_.insert(one.owner()).second)
            flaws_.push_back("program " + std::to_string(one.program) +
                             " holds a lease from before a change of nodes that has completed");
    }

    std::vector<std::string>& flaws_;
    std::map<std::uint64_t, nanoseconds> asked_{}; ///< when an owner began
    std::map<std::uint64_t, nanoseconds> began_{}; ///< when a change began
    std::map<unsigned, nanoseconds> completed_{};  ///< when a program's last completed change began
    std::set<std::uint64_t> reported_{};
};

} // namespace redlock::chaos
