// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"
#include "engine/environment.hpp"
#include "engine/lifecycle.hpp"
#include "engine/node_group.hpp"
#include "engine/owned_key.hpp"
#include "engine/pending_releases.hpp"
#include "engine/pool.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "kind/kind.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace redlock::detail {

class cleanup;

/// Takes back what nodes may have granted: a compare-and-delete behind each vote on the same connection. Nobody waits for
/// it (docs/protocol.md, rule A6).
class undo final : private round<undo> {
public:
    undo(cleanup& owner, pool<undo>&) : owner_(owner) {}

    void start(pending_release, core::node_set where, core::node_set reached);
    void drop_key() noexcept { owed_ = {}; }

private:
    friend class round<undo>;

    [[nodiscard]] node_group& nodes();
    [[nodiscard]] kind::lock_kind const& type() const { return *owed_.what.type; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        auto said = owed_.what.said();
        said.queue = {.position = owed_.place,
                      .time = std::chrono::floor<std::chrono::microseconds>(owed_.passed)};
        type().append(out, what, said, form);
    }
    [[nodiscard]] bool repeats(unsigned, kind::request, bool) const { return true; }
    void on_repeated(unsigned node, kind::request) { owed_.what.key->changed_here(core::node_set(node)); }
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_drained();
    void leave(unsigned node);
    [[nodiscard]] kind::request word() const
    {
        return owed_.place.empty() ? type().release_word() : kind::request::give_back;
    }

    cleanup& owner_;
    pending_release owed_;
    core::node_set reached_; ///< nodes to which what it takes back was sent
    unsigned left_ = 0;      ///< nodes that have not confirmed it
};

/// The releases of one client that nobody waits for.
class cleanup {
public:
    cleanup(environment& its, node_group& nodes, pending_releases& pending, lifecycle& life)
        : environment_(its), nodes_(nodes), pending_(pending), life_(life)
    {}

    [[nodiscard]] node_group& nodes() { return nodes_; }
    /// For votes that may come to nothing.
    /// \throws std::bad_alloc
    [[nodiscard]] undo& prepare() { return undos_.take(*this); }
    /// Behind whatever was sent before on each of these connections.
    void start(undo& one, pending_release owed, core::node_set where)
    {
        start(one, std::move(owed), where, where);
    }
    /// \param reached nodes to which what is taken back was sent; elsewhere it may still wait for a connection
    void start(undo&, pending_release, core::node_set where, core::node_set reached);
    void ended(undo&, bool confirmed);
    /// The node may hold it for as long as its key lives: said again when the node is back.
    void keep(unsigned node, pending_release);
    /// It is back.
    void retry(unsigned node);
    /// Nothing is kept or told any more.
    void discard() { discarded_ = true; }
    /// Lets go of all keys: they belong to an index that is about to go.
    void drop_keys() noexcept;

private:
    environment& environment_;
    node_group& nodes_;
    pending_releases& pending_;
    lifecycle& life_;
    pool<undo> undos_;
    bool discarded_ = false;
};

} // namespace redlock::detail
