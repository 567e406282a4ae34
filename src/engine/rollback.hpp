// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"
#include "engine/environment.hpp"
#include "engine/lifecycle.hpp"
#include "engine/node_group.hpp"
#include "engine/pool.hpp"
#include "engine/release_backlog.hpp"
#include "engine/release_record.hpp"
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

/// Takes back what nodes may have granted: a compare-and-delete behind each vote on the same connection. No operation
/// waits for it (docs/protocol.md, rule A6).
class rollback final : private round<rollback> {
public:
    rollback(cleanup& owner, pool<rollback>&) : owner_(owner) {}

    void start(owed_release, core::node_set where, core::node_set reached);
    void drop_key() noexcept { owed_ = {}; }

private:
    friend class round<rollback>;

    [[nodiscard]] node_group& nodes();
    [[nodiscard]] kind::lock_kind const& type() const { return *owed_.what.type; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        auto args = owed_.what.as_args();
        args.queue = {.position = owed_.position_text,
                      .time = std::chrono::floor<std::chrono::microseconds>(owed_.passed)};
        type().append(out, what, args, form);
    }
    [[nodiscard]] bool repeats(unsigned, kind::request, bool) const { return true; }
    void on_repeated(unsigned node, kind::request) { owed_.what.key->changed_by_us(core::node_set(node)); }
    void release_alone(unsigned node, kind::request what)
    {
        on_repeated(node, what); // the server tells nobody of this client
        send(node, what);
    }
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_drained();
    void leave_for_later(unsigned node);
    [[nodiscard]] kind::request release_request() const
    {
        return owed_.position_text.empty() ? type().release_request() : kind::request::give_back;
    }

    cleanup& owner_;
    owed_release owed_;
    core::node_set reached_;   ///< nodes to which what it takes back was sent
    unsigned unconfirmed_ = 0; ///< nodes that have not confirmed it
};

/// The releases of one client that no operation waits for.
class cleanup {
public:
    cleanup(environment& its, node_group& nodes, release_backlog& backlog, lifecycle& life)
        : environment_(its), nodes_(nodes), backlog_(backlog), life_(life)
    {}

    [[nodiscard]] node_group& nodes() { return nodes_; }
    /// Returns a rollback for votes that may be lost.
    /// \throws std::bad_alloc
    [[nodiscard]] rollback& prepare() { return rollbacks_.take(*this); }
    /// Starts a rollback, behind earlier commands on each of these connections.
    void start(rollback& one, owed_release owed, core::node_set where)
    {
        start(one, std::move(owed), where, where);
    }
    /// \param reached nodes to which what is taken back was sent; elsewhere it may still wait for a connection
    void start(rollback&, owed_release, core::node_set where, core::node_set reached);
    /// The same with a rollback of its own. Without memory for it, the keys expire by themselves.
    void try_start(owed_release, core::node_set where, core::node_set reached);
    void ended(rollback&, bool confirmed);
    /// Keeps a release that a node did not confirm. It is sent again when the node is back.
    void retry_later(unsigned node, owed_release);
    /// Sends the kept releases of a node that is back.
    void retry(unsigned node);
    /// From now on nothing is kept or told.
    void discard() { discarded_ = true; }
    /// Drops all keys: their index is about to be destroyed.
    void drop_keys() noexcept;

private:
    environment& environment_;
    node_group& nodes_;
    release_backlog& backlog_;
    lifecycle& life_;
    pool<rollback> rollbacks_;
    bool discarded_ = false;
};

} // namespace redlock::detail
