// SPDX-License-Identifier: BSL-1.0
// rule A6
#include "engine/undo.hpp"

#include "core/instant.hpp"
#include <redlock/observer.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace redlock::detail {

node_group& undo::nodes()
{
    return owner_.nodes();
}

// rule Q12
void undo::start(pending_release owed, core::node_set where, core::node_set reached)
{
    owed_ = std::move(owed);
    reached_ = reached;
    left_ = 0;
    for (unsigned i = 0; i != nodes().size(); ++i) {
        if (!where.contains(i))
            continue;
        if (nodes().at(i).make_reachable())
            send(i, word());
        else
            leave(i);
    }
    if (drained()) // nobody was reachable
        on_drained();
}

/// A place goes with its connection, and a key that was handed to it is kept for a moment only.
void undo::leave(unsigned node)
{
    if (!owed_.place.empty() || !reached_.contains(node))
        return;
    ++left_;
    owner_.keep(node, owed_);
}

// rule M3
void undo::on_answer(node_answer const& got)
{
    using meaning = kind::answer::meaning;
    if (got.said.what == meaning::granted || got.said.what == meaning::denied ||
        got.said.what == meaning::handed_on)
        return;
    if (got.what == kind::request::give_back && nodes().at(got.node).make_reachable())
        return send(got.node, kind::request::release); // the queue refuses it: it is only released
    nodes().note(got.node, "release", got.reply);
    if (asks_for_lock_alone(got, type()) && nodes().at(got.node).make_reachable())
        return send(got.node, kind::request::lock_release);
    ++left_;
}

void undo::on_silence(unsigned node, kind::request, bool, net::failure const& why)
{
    if (send_release_again(node, why))
        return;
    if (!why.unsent)
        reached_.insert(node); // with it a vote that waited for the connection, too
    leave(node);
}

void undo::on_drained()
{
    owed_ = {};
    owner_.ended(*this, left_ <= nodes().size() - core::majority(nodes().size()));
}

void cleanup::start(undo& one, pending_release owed, core::node_set where, core::node_set reached)
{
    life_.undo_began();
    one.start(std::move(owed), where, reached);
}

void cleanup::ended(undo& one, bool confirmed)
{
    undos_.recycle(one);
    life_.undo_ended(confirmed);
}

void cleanup::drop_keys() noexcept
{
    pending_.clear();
    undos_.for_each([](undo& each) { each.drop_key(); });
}

void cleanup::keep(unsigned node, pending_release owed)
{
    core::instant const now = environment_.loop().now();
    if (discarded_ || core::reached(owed.expires, now))
        return;
    if (observer* const o = environment_.watcher())
        o->on_linger(
            {owed.what.key->name(), environment_.settings().names[node], core::remaining(owed.expires, now)});
    if (life_.closed())
        return;
    pending_.add(node, std::move(owed), now);
    if (!life_.busy()) // nobody else will bring the node back
        nodes_.at(node).try_once();
}

void cleanup::retry(unsigned node)
{
    for (std::size_t left = pending_.count(node); left != 0 && pending_.count(node) != 0;
         --left) { // there may be more
        pending_release owed = pending_.take(node);
        if (core::reached(owed.expires, environment_.loop().now()))
            continue;
        try {
            start(prepare(), std::move(owed), core::node_set(node));
        } catch (std::bad_alloc const&) { // the key expires by itself
        }
    }
}

} // namespace redlock::detail
