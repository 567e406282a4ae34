// SPDX-License-Identifier: BSL-1.0
// rule A6
#include "engine/rollback.hpp"

#include "core/instant.hpp"
#include "core/memory.hpp"
#include <redlock/observer.hpp>

#include <cstddef>
#include <utility>

namespace redlock::detail {

node_group& rollback::nodes()
{
    return owner_.nodes();
}

// rule Q12
void rollback::start(owed_release owed, core::node_set where, core::node_set reached)
{
    owed_ = std::move(owed);
    reached_ = reached;
    unconfirmed_ = 0;
    for (unsigned i = 0; i != nodes().size(); ++i) {
        if (!where.contains(i))
            continue;
        if (nodes().at(i).ensure_can_release())
            send(i, release_request());
        else
            leave_for_later(i);
    }
    if (drained()) // no node was reachable
        on_drained();
}

/// A position ends with its connection, and a key that was handed to it expires soon.
void rollback::leave_for_later(unsigned node)
{
    if (!owed_.position_text.empty() || !reached_.contains(node))
        return;
    ++unconfirmed_;
    owner_.retry_later(node, owed_);
}

// rule M3
void rollback::on_answer(node_answer const& got)
{
    using meaning = kind::answer::meaning;
    if (got.answer.what == meaning::granted || got.answer.what == meaning::denied)
        return;
    if (got.what == kind::request::give_back && nodes().at(got.node).ensure_can_release())
        return release_alone(got.node, kind::request::release); // the queue refuses it
    nodes().note(got.node, "release", got.reply);
    if (asks_for_lock_alone(got, type()) && nodes().at(got.node).ensure_can_release())
        return release_alone(got.node, kind::request::lock_release);
    ++unconfirmed_;
}

void rollback::on_silence(unsigned node, kind::request, bool, net::failure const& why)
{
    if (send_release_again(node, why))
        return;
    if (!why.unsent)
        reached_.insert(node); // with it a vote that waited for the connection, too
    leave_for_later(node);
}

void rollback::on_drained()
{
    owed_ = {};
    owner_.ended(*this, unconfirmed_ <= nodes().size() - core::majority(nodes().size()));
}

void cleanup::start(rollback& one, owed_release owed, core::node_set where, core::node_set reached)
{
    life_.rollback_began();
    one.start(std::move(owed), where, reached);
}

void cleanup::try_start(owed_release owed, core::node_set where, core::node_set reached)
{
    core::if_memory_allows([&] { start(prepare(), std::move(owed), where, reached); });
}

void cleanup::ended(rollback& one, bool confirmed)
{
    rollbacks_.recycle(one);
    life_.rollback_ended(confirmed);
}

void cleanup::drop_keys() noexcept
{
    backlog_.clear();
    rollbacks_.for_each([](rollback& each) { each.drop_key(); });
}

void cleanup::retry_later(unsigned node, owed_release owed)
{
    core::instant const now = environment_.loop().now();
    if (discarded_ || core::reached(owed.expires, now))
        return;
    if (observer* const o = environment_.watcher())
        o->on_linger(
            {owed.what.key->name(), environment_.settings().names[node], core::remaining(owed.expires, now)});
    if (life_.closed())
        return;
    backlog_.add(node, std::move(owed), now);
    if (!life_.busy()) // no operation connects to the node
        nodes_.at(node).try_once();
}

void cleanup::retry(unsigned node)
{
    for (std::size_t left = backlog_.count(node); left != 0 && backlog_.count(node) != 0;
         --left) { // there may be more
        owed_release owed = backlog_.take(node);
        if (!core::reached(owed.expires, environment_.loop().now()))
            try_start(std::move(owed), core::node_set(node), core::node_set(node));
    }
}

} // namespace redlock::detail
