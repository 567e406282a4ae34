// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <optional>
#include <vector>

namespace redlock::core {

/// What somebody who waits for a lock knows of the nodes, and whether it is worth asking again (docs/protocol.md, rules
/// W2 and W3). All of it is hints: only votes decide.
class contention {
public:
    /// What is known of one node.
    struct row {
        std::optional<instant> until{}; ///< when its key goes; nothing: not known
        bool taken = false;
        bool usable = true;
        bool votes = true;
    };

    /// \param first the node that contenders meet at
    void start(unsigned nodes, unsigned first);

    /// A vote was refused: the key is there, whose it is and for how long is not known.
    void refused(unsigned node);
    /// The node was asked for its key.
    void found_held(unsigned node);
    void found_held_until(unsigned node, instant until);
    void found_free(unsigned node);
    /// When it was last asked, did it say yes or no? One that said neither is not free, however it looks.
    void votes(unsigned node, bool yes);
    /// The key was set, deleted, renewed, or has expired.
    void changed(unsigned node);
    /// An attempt was lost that was begun after these keys should have gone: until when they live is not known.
    void lost(instant asked);
    /// Whatever was known of the node, it cannot be asked, or can again.
    void usable(unsigned node, bool yes);

    /// Could a majority be had now? Not while the first node is taken: somebody got there before, and asks the others.
    [[nodiscard]] bool may_be_free() const;
    /// Could it, if those voted that last did not? Of them nobody sends word.
    [[nodiscard]] bool lacks_votes() const;
    /// When the keys that prevent it will have expired, if nobody renews them; nothing where that is not known.
    [[nodiscard]] std::optional<instant> free_at() const;

    /// Where contenders meet: the first node in the ring, from the lock's own on, that can be asked.
    [[nodiscard]] std::optional<unsigned> rendezvous_node() const;
    /// The one after it, for when that one is silent.
    [[nodiscard]] std::optional<unsigned> after(unsigned node) const;
    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(rows_.size()); }
    [[nodiscard]] bool taken(unsigned node) const { return rows_[node].taken; }
    [[nodiscard]] row const& of(unsigned node) const { return rows_[node]; }

private:
    [[nodiscard]] bool first_is_free() const;
    [[nodiscard]] row const* first_voter() const;

    std::vector<row> rows_;
    unsigned first_ = 0;
};

} // namespace redlock::core
