// SPDX-License-Identifier: BSL-1.0
// rule Q14
#pragma once

#include "core/fencing.hpp"
#include "core/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::core {

/// Decides which permits an attempt is for, and which answers of the nodes count (docs/protocol.md, rule Q14). All nodes of a
/// lease must have given it the same set of permits. The queue node chooses the set. A node that gave another set is asked for
/// exactly this one. From then on its first answer counts no more.
// rules P2 and P4
class permit_choice {
public:
    /// The consequence of a node's answer.
    enum class step : std::uint8_t { nothing, count, ask_exactly, fail };

    /// Allocates all memory.
    /// \param longest size of a set's text
    /// \throws std::bad_alloc
    permit_choice(unsigned nodes, std::size_t longest) : nodes_(nodes)
    {
        set_.reserve(longest);
        for (row& each : nodes_)
            each.given.reserve(longest);
    }

    /// All nodes are asked for any permits.
    /// \param chooser the queue node, if there is one
    void ask_for_any(std::optional<unsigned> chooser)
    {
        chooser_ = chooser;
        waits_ = chooser.has_value();
    }
    /// All nodes are asked for exactly these permits.
    void claim(std::string_view set)
    {
        decide(set);
        exactly_ = node_set::first(static_cast<unsigned>(nodes_.size()));
    }

    /// A node gave these permits.
    void gave(unsigned node, std::string_view set, fence number)
    {
        row& its = nodes_[node];
        its.number = number;
        its.exact = exactly_.contains(node) && set == set_;
        if (!exactly_.contains(node))
            its.given = set;
        answered_.insert(node);
        if (!first_)
            first_ = node;
        if (!decided_ && (!waits_ || chooser_ == node))
            decide(its.given);
    }
    /// The queue node is not waited for any more. The first answer chooses.
    void stop_awaiting_chooser()
    {
        waits_ = false;
        if (!decided_ && first_)
            decide(nodes_[*first_].given);
    }

    /// Returns the consequence of the node's answer, each once.
    [[nodiscard]] step next(unsigned node)
    {
        if (!decided_ || !answered_.contains(node))
            return step::nothing;
        answered_.erase(node);
        row const& its = nodes_[node];
        if (exactly_.contains(node))
            return its.exact ? step::count : step::fail;
        if (its.given == set_)
            return step::count;
        exactly_.insert(node);
        return step::ask_exactly;
    }

    /// Are the nodes that wait for the choice a majority?
    [[nodiscard]] bool is_awaited() const
    {
        return !decided_ && answered_.size() >= majority(static_cast<unsigned>(nodes_.size()));
    }
    [[nodiscard]] bool decided() const { return decided_; }
    [[nodiscard]] std::optional<unsigned> chooser() const { return waits_ ? chooser_ : std::nullopt; }
    [[nodiscard]] std::string_view set() const { return set_; }
    /// The permits that the node gave when it was asked for any.
    [[nodiscard]] std::string_view given_by(unsigned node) const { return nodes_[node].given; }
    /// The fence of the node's last grant.
    [[nodiscard]] fence number(unsigned node) const { return nodes_[node].number; }

private:
    struct row {
        std::string given{};
        fence number = 0;
        bool exact = false; ///< its answer to the question for exactly the set
    };

    void decide(std::string_view set)
    {
        set_ = set;
        decided_ = true;
    }

    std::vector<row> nodes_;
    std::string set_;
    node_set answered_; ///< and the consequence has not been returned yet
    node_set exactly_;  ///< nodes that are asked for exactly the set
    std::optional<unsigned> chooser_;
    std::optional<unsigned> first_;
    bool waits_ = false; ///< for the chooser
    bool decided_ = false;
};

} // namespace redlock::core
