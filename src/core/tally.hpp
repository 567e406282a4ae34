// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/rule.hpp"

#include <bit>
#include <cstdint>

namespace redlock::core {

inline constexpr unsigned max_nodes = 63;

// rules N1 and P2
constexpr unsigned majority(unsigned nodes)
{
    return nodes / 2 + (applies(rule::more_than_half) ? 1 : 0);
}

/// Does each majority of the one list have a node in common with each of the other? (docs/protocol.md, rule N1)
/// \param all nodes of both lists, each counted once
// rule N9
constexpr bool majorities_meet(unsigned one, unsigned other, unsigned all)
{
    return majority(one) + majority(other) > all;
}

/// A set of nodes by index.
class node_set {
public:
    constexpr node_set() = default;
    constexpr explicit node_set(unsigned node) : bits_(bit(node)) {}
    [[nodiscard]] static constexpr node_set first(unsigned count)
    {
        node_set all;
        all.bits_ = bit(count) - 1;
        return all;
    }

    constexpr void insert(unsigned node) { bits_ |= bit(node); }
    constexpr void insert(node_set others) { bits_ |= others.bits_; }
    constexpr void erase(unsigned node) { bits_ &= ~bit(node); }
    constexpr void erase(node_set others) { bits_ &= ~others.bits_; }
    [[nodiscard]] constexpr node_set common(node_set others) const
    {
        others.bits_ &= bits_;
        return others;
    }
    [[nodiscard]] constexpr bool contains(unsigned node) const { return (bits_ & bit(node)) != 0; }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    [[nodiscard]] constexpr unsigned size() const { return static_cast<unsigned>(std::popcount(bits_)); }
    friend constexpr bool operator==(node_set const&, node_set const&) = default;

private:
    static constexpr std::uint64_t bit(unsigned node) { return std::uint64_t{1} << node; }
    std::uint64_t bits_ = 0;
};

enum class vote : std::uint8_t { granted, denied, failed };
enum class verdict : std::uint8_t { pending, won, lost };

/// Counts one round's votes. N is what was configured, never what is connected; the round is decided at the first
/// moment at which the missing votes cannot change it, so an even split settles too.
class tally {
public:
    constexpr explicit tally(unsigned nodes) : nodes_(static_cast<std::uint8_t>(nodes)) {}

    /// A node's second vote, and any vote after the verdict, does not count. True when this vote decided the round.
    // rule A5
    constexpr bool record(unsigned node, vote v)
    {
        if (result() != verdict::pending || answered_.contains(node))
            return false;
        answered_.insert(node);
        ++answers_;
        if (v == vote::granted) {
            granted_.insert(node);
            ++grants_;
        } else if (v == vote::denied)
            ++denied_;
        return result() != verdict::pending;
    }

    /// Removes the answers of nodes that refused: they are asked again.
    constexpr void forget_refusals(node_set refused)
    {
        node_set const counted = answered_.common(refused);
        auto const size = static_cast<std::uint8_t>(counted.size());
        answered_.erase(counted);
        answers_ = static_cast<std::uint8_t>(answers_ - size);
        denied_ = static_cast<std::uint8_t>(denied_ - size);
    }

    [[nodiscard]] constexpr verdict result() const
    {
        if (granted() >= majority(nodes_))
            return verdict::won;
        return granted() + missing() < majority(nodes_) ? verdict::lost : verdict::pending;
    }

    /// After a defeat: true if other clients hold the lock; false if too few nodes could be asked. A majority can be
    /// asked as long as no more nodes have failed than it can spare.
    /// \param expected how many of the missing nodes may still answer
    [[nodiscard]] constexpr bool contended(unsigned expected) const
    {
        return denied_ > 0 && granted() + denied_ + expected >= majority(nodes_);
    }

    [[nodiscard]] constexpr unsigned nodes() const { return nodes_; }
    [[nodiscard]] constexpr unsigned granted() const { return grants_; }
    [[nodiscard]] constexpr unsigned denied() const { return denied_; }
    [[nodiscard]] constexpr unsigned missing() const { return nodes_ - 0U - answers_; }
    [[nodiscard]] constexpr node_set granted_by() const { return granted_; }
    [[nodiscard]] constexpr node_set answered() const { return answered_; }
    [[nodiscard]] constexpr bool has_answered(unsigned node) const { return answered_.contains(node); }

private:
    node_set answered_;
    node_set granted_;
    std::uint8_t nodes_;
    std::uint8_t answers_ = 0; // the sets' sizes, kept because they are asked for with every vote
    std::uint8_t grants_ = 0;
    std::uint8_t denied_ = 0;
};

} // namespace redlock::core
