// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "model/queue_world.hpp"

#include <cstdint>
#include <optional>

namespace redlock::model {

/// Tells what an attempt wants, by its letter.
[[nodiscard]] bool wants_permits(queue_scope const&, unsigned a);
[[nodiscard]] bool asks_as_reader(queue_scope const&, unsigned a);
[[nodiscard]] bool is_reader(queue_scope const&, queue_world const&, unsigned a);
[[nodiscard]] unsigned wanted_permits(queue_scope const&, unsigned a);
/// Returns the names that it wants, as permits; zero if there is one name only.
[[nodiscard]] std::uint8_t names_of(queue_scope const&, unsigned a);
/// Returns whether these two attempts must not hold at the same time.
[[nodiscard]] bool exclude_each_other(queue_scope const&, queue_world const&, unsigned a, unsigned b);

/// The scripts of the queue: each is one step on one node.
class queue_scripts {
public:
    explicit queue_scripts(queue_scope const& s) : scope_(s) {}

    using vote = queue_world::vote;

    /// \param first the permit to look at first
    vote vote_for(queue_world&, unsigned a, unsigned node, unsigned first) const;
    vote claim(queue_world&, unsigned a, unsigned node) const;
    vote exactly(queue_world&, unsigned a, unsigned node) const;
    /// Returns whether the node confirms the extension.
    bool extend(queue_world&, unsigned a, unsigned node, bool downgrade) const;
    void enter(queue_world&, unsigned a) const;
    /// A release, a departure from the queue, or a rollback.
    /// \param named the nonce is given up as a whole, so the next owner may replace it on all nodes
    void give_back(queue_world&, unsigned a, unsigned node, bool named) const;

    [[nodiscard]] static bool votes(queue_world const& w, unsigned node)
    {
        return w.now >= w.quarantined_until[node];
    }
    void leave_queue(queue_world&, unsigned a) const;
    [[nodiscard]] unsigned positions(queue_world const&, unsigned node) const;

private:
    using previous_owner = std::optional<unsigned>;

    [[nodiscard]] std::uint8_t after(queue_world const&, int ticks) const;
    [[nodiscard]] int key_life() const;
    [[nodiscard]] std::uint8_t holders(queue_world const&, unsigned node) const;
    [[nodiscard]] std::uint8_t choose(queue_world const&, unsigned a, unsigned node, unsigned first) const;
    [[nodiscard]] bool may_take(queue_world const&, unsigned a, unsigned node, std::uint8_t what) const;
    [[nodiscard]] std::uint8_t grantable(queue_world const&, unsigned a, unsigned node, unsigned first) const;
    void replace(queue_world&, unsigned a, unsigned node, std::uint8_t what) const;
    void take(queue_world&, unsigned a, unsigned node, std::uint8_t what, int ticks) const;

    void serve(queue_world&, unsigned node, previous_owner) const;
    bool serve_first(queue_world&, unsigned node, previous_owner) const;
    void call(queue_world&, unsigned a, std::uint8_t permits, previous_owner) const;
    void call_readers(queue_world&, unsigned node, previous_owner) const;
    [[nodiscard]] std::optional<unsigned> position(queue_world const&, unsigned node, unsigned place) const;

    queue_scope const& scope_;
};

} // namespace redlock::model
