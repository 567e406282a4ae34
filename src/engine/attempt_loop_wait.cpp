// SPDX-License-Identifier: BSL-1.0
#include "core/backoff.hpp"
#include "core/rendezvous.hpp"
#include "engine/attempt_loop.hpp"
#include "kind/multi.hpp"
#include "net/machine.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

// Between two attempts: when there is another one, and what is asked meanwhile.
namespace redlock::detail {

void attempt_loop::nodes_changed()
{
    for (unsigned i = 0; i != nodes().size(); ++i) // what a connection's server was to tell ends with it
        if (nodes().at(i).state() != node_state::ready)
            waiting_.deaf(core::node_set(i));
    waiting_.nodes_changed();
    if (whom_)
        hasten_nodes();
    if (phase_ == phase::connecting)
        return connect_or_vote();
    if (phase_ == phase::in_line) {
        watch_majority();
        return place_.nodes_changed();
    }
    if (phase_ != phase::waiting)
        return;
    if (cause_ == errc::no_quorum)
        return nodes().has_majority(lock()) ? vote() : void();
    learn();
    plan();
}

void attempt_loop::wait_for_nodes(errc cause)
{
    enter(phase::waiting);
    cause_ = errc::no_quorum;
    in_turn_ = false;
    retry_policy const& policy = lock().plan->options.retry;
    auto const first = std::max<core::duration>(policy.min_delay, 2 * runtime_.round_trip());
    auto const jitter = cause == errc::no_quorum ? core::half_jitter : core::full_jitter;
    auto const delay = jitter(refusals_, first, policy.max_delay, runtime_.loop().machine().random_bits());
    auto const at = cause == errc::no_quorum ? nodes().majority_at(lock()) : std::nullopt;
    at ? runtime_.loop().schedule(*this, *at) : runtime_.loop().schedule_after(*this, delay);
}

/// Of several names the one that is waited for.
redis::lock_key attempt_loop::awaited_key() const
{
    auto const key = key_->key();
    return key.several.empty() ? key : redis::lock_key{key.prefix, key.several[awaited_]};
}

/// The one that is in the way on most nodes (rule M7). What was known of another is forgotten. A node that names none of them is
/// not believed.
void attempt_loop::await_most_refused()
{
    if (!type().several)
        return;
    std::array<unsigned, kind::most_names> refusals{};
    for (node_report const& row : attempt_.rows())
        if (row.result == node_result::held_by_other)
            ++refusals[row.which];
    auto const names = std::span(refusals).first(key_->key().several.size());
    auto const most = std::ranges::max_element(names) - names.begin();
    if (std::exchange(awaited_, static_cast<std::uint8_t>(most)) != most)
        waiting_.await_another();
    key_->note_in_the_way(awaited_);
}

core::waiting::pace attempt_loop::pace() const
{
    retry_policy const& policy = lock().plan->options.retry;
    return {policy.min_delay, policy.max_delay,
            std::max<core::duration>(runtime_.round_trip(), core::duration{1})};
}

core::waiting::chances attempt_loop::chances() const
{
    net::machine& machine = runtime_.loop().machine();
    return {machine.random_bits(), machine.random_bits()};
}

void attempt_loop::wait_for_others()
{
    enter(phase::waiting);
    cause_ = errc::contended;
    if (!std::exchange(listening_, true))
        nodes().listen();
    learn();
    core::instant const now = runtime_.loop().now();
    auto const how = pace();
    auto const chance = chances();
    if (!attempt_.refused().empty()) // not of the first turn that is only offered
        waiting_.dodge(now, how, attempt_.votes().granted() != 0, chance);
    waiting_.wait(now, how, refusals_, chance);
    plan();
}

/// What the last attempt, and the connections, tell of the nodes.
void attempt_loop::learn()
{
    if (!waiting_.knows_nodes())
        waiting_.meet(
            nodes().size(),
            core::rendezvous_node(runtime_.its.settings().names, awaited_key().prefix, awaited_key().name),
            attempt_.refused());
    for (unsigned i = 0; i != nodes().size(); ++i) {
        bool const ready = nodes().at(i).state() == node_state::ready;
        if (!ready)
            waiting_.deaf(core::node_set(i));
        waiting_.usable(i, ready && !nodes().is_quarantined(i, lock()));
    }
}

/// One that neither granted nor refused looks free, and asking it at once again would change nothing. What refusals told
/// before anything was known of the nodes is believed now.
void attempt_loop::note_failures()
{
    await_most_refused();
    bool const first = !waiting_.knows_nodes();
    learn();
    for (unsigned i = 0; i != nodes().size(); ++i) {
        auto const& row = attempt_.rows()[i];
        auto const said = row.result;
        if (first && said == node_result::held_by_other && row.which == awaited_)
            believe(i, {.owner = row.owner, .left = row.remaining});
        if (said != node_result::pending)
            waiting_.votes(i, said == node_result::granted || said == node_result::held_by_other);
    }
    waiting_.attempt_lost(attempt_.votes().sent());
}

/// The timer first: what is asked may find that a connection is gone, and be heard of at once.
void attempt_loop::plan()
{
    core::node_set tracking;
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (nodes().at(i).may_track())
            tracking.insert(i);
    auto const then = waiting_.decide(runtime_.loop().now(), tracking);
    if (then.vote) {
        in_turn_ = then.in_turn;
        return connect_or_vote();
    }
    then.roughly ? runtime_.loop().schedule(*this, then.at) : runtime_.loop().schedule_finely(*this, then.at);
    for (unsigned i = 0; i != nodes().size() && waits_for_others(); ++i)
        if (then.peek.contains(i))
            peek(i, then.peek_owner.contains(i));
}

void attempt_loop::peek(unsigned node, bool at_owner)
{
    net::node& n = nodes().at(node);
    if (!n.make_usable_now())
        return;
    n.track();
    waiting_.peeked(node, n.tracks());
    send(node, kind::request::time_left);
    if (at_owner)
        send(node, kind::request::owner);
}

void attempt_loop::on_answer(node_answer const& got)
{
    bool const in_line = phase_ == phase::in_line;
    if (got.late || (phase_ != phase::waiting && !in_line))
        return;
    waiting_.answered(got.node);
    if (got.what == kind::request::time_left && redis::is_error(got.reply.type))
        nodes().note_lack(got.node, "PTTL", got.reply);
    auto found = type().read_sighting(got.what, got.reply);
    found.which = awaited_;
    if (in_line)
        return found.gone ? found_free(got.node) : void();
    believe(got.node, found);
    key_->note_holder(got.node, nodes().size(), found);
    if (waiting_.yields() && waiting_.known().taken(got.node))
        turn_taken();
    else
        plan();
}

void attempt_loop::believe(unsigned node, kind::sighting const& seen)
{
    if (seen.gone)
        waiting_.found_free(node);
    if (seen.owner != 0) {
        waiting_.found_held(node);
        if (node == waiting_.known().rendezvous_node())
            key_->local().met(seen.owner);
    }
    if (seen.left)
        waiting_.found_held_until(node, runtime_.loop().now() + std::min(*seen.left, key_ttl_));
}

void attempt_loop::on_refused(unsigned node, node_report const& row)
{
    if (!waiting_.knows_nodes())
        return;
    waiting_.refused(node);
    if (row.which == awaited_)
        believe(node, {.owner = row.owner, .left = row.remaining});
}

/// Who has waited less than others leaves them a moment (rule W5).
void attempt_loop::invalidated(unsigned node, key_state const& which)
{
    if (&which != key_ && which.name() != awaited_key().name)
        return;
    bool const ends_a_row = waiting_.changed(node);
    if (phase_ == phase::in_line)
        return place_.key_changed(node);
    if (!waits_for_others())
        return;
    if (waiting_.yields()) { // it was free
        waiting_.somebody_came(node);
        return turn_taken();
    }
    core::instant const now = runtime_.loop().now();
    if (ends_a_row)
        waiting_.leave_alone_until(now + key_->local().yield_delay(runtime_.turn() / 2), now);
    plan();
}

void attempt_loop::changed_here(core::node_set where)
{
    waiting_.changed_here(where, waits_for_others());
    if (waits_for_others())
        plan();
    if (phase_ == phase::in_line)
        place_.changed_here(where);
}

/// The turn ends with its time. Where rivals are known it ends with whoever takes it, too, of whom the node where all meet
/// sends word; not after a batch, whose holders have waited themselves: shorter ones would be paid with leases.
void attempt_loop::offer_turn(core::start_mode how)
{
    waiting_.offer_turn(runtime_.loop().now() + runtime_.turn(), how == core::start_mode::after_rivals);
    wait_for_others();
}

/// From now on it is one of those who wait; who does not wait is refused.
void attempt_loop::turn_taken()
{
    offered_turn_ = false;
    note_rivals();
    core::instant const now = runtime_.loop().now();
    waiting_.turn_taken(now);
    if (stand_in_line(now))
        return;
    whom_->asks_once() ? connect_or_vote() : plan();
}

} // namespace redlock::detail
