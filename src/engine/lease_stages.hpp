// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/lease_machine.hpp"
#include "core/release_tally.hpp"
#include "core/tally.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

namespace redlock::detail {

/// How a lease is kept: a machine that decides, the round that is under way, and what has been noticed meanwhile. A round
/// has memory of its own only until all nodes have confirmed it.
class keeping final : public core::lease_machine {
public:
    explicit keeping(core::lease_machine const& machine) : core::lease_machine(machine) {}

    /// Opens a round. \throws std::bad_alloc
    void open_round(core::instant now)
    {
        if (!round_)
            round_ = std::make_unique<core::lease_round>();
        extension_started(*round_, now);
    }
    /// May an answer to the last round still mean something?
    [[nodiscard]] bool hears() const { return round_ && !over(); }
    [[nodiscard]] outcome answer(unsigned node, core::extension_answer said, core::instant now)
    {
        auto const result = core::lease_machine::answer(*round_, node, said, now);
        if (!extending() && !over() && round_->is_complete())
            round_.reset();
        return result;
    }
    [[nodiscard]] outcome time_out(core::instant now) { return core::lease_machine::time_out(*round_, now); }
    /// When the last round was sent.
    [[nodiscard]] core::instant asked() const { return round_ ? round_->sent : confirmed(); }
    [[nodiscard]] core::lease_facts facts() const { return core::lease_machine::facts(round_.get()); }
    /// Nodes of which the round that is open has no answer yet.
    [[nodiscard]] core::node_set silent() const
    {
        if (!extending())
            return {};
        core::node_set nodes = core::node_set::first(this->nodes());
        nodes.erase(round_->answers.answered());
        return nodes;
    }
    /// When the round that is open times out.
    [[nodiscard]] std::optional<core::instant> round_ends(core::duration patience) const
    {
        return extending() ? std::optional(round_->sent + patience) : std::nullopt;
    }
    /// Renews the key of the one before from now on.
    void become_renewer(keeping const& before)
    {
        failed = before.failed;
        round_.reset();
        core::lease_machine::become_renewer(before);
    }
    /// Loses the key with the renewer.
    void lose_with(keeping const& renewer)
    {
        failed = renewer.failed;
        stalled = renewer.stalled;
        core::lease_machine::lose_with(renewer);
    }

    void round_failed() { failed = static_cast<std::uint8_t>(std::min(failed + 1, 255)); }

    std::uint8_t failed = 0;   ///< rounds in a row, as far as it can count
    bool stalled : 1 = false;  ///< its holder does not get on (rule H8)
    bool watching : 1 = false; ///< nodes tell when the key changes
    bool changed : 1 = false;  ///< a key, while a round was under way

private:
    std::unique_ptr<core::lease_round> round_;
};

/// How a lease that was given up is released: first on the queue node, if there is one, and then on the other nodes.
struct releasing {
    explicit releasing(core::lease_facts const& last) : known(last) {}

    /// From now on answers are counted, and those of all nodes are awaited.
    void begin()
    {
        tally = core::release_tally(core::node_set::first(known.nodes));
        under_way = true;
    }
    /// All nodes but the queue node.
    [[nodiscard]] core::node_set others() const
    {
        core::node_set nodes = core::node_set::first(known.nodes);
        nodes.erase(core::node_set(queue_node));
        return nodes;
    }

    core::lease_facts known;                         ///< at the end of the lease
    [[no_unique_address]] core::release_tally tally; // its padding has room for the flags
    std::uint8_t queue_node = 255;                   ///< that is told first, or none
    bool is_postponed = false;                       ///< on the other nodes
    bool under_way = false;
    /// The next owner in the queue may have taken the keys by now: "not yours" is then as good as a release.
    bool may_be_claimed : 1 = false;
    bool handed_on : 1 = false;      ///< by a node that says so
    bool opens_window : 1 = false;   ///< for unqueued clients
    bool told_confirmed : 1 = false; ///< its holder was told that a majority has confirmed it
};

} // namespace redlock::detail
