// SPDX-License-Identifier: BSL-1.0
#include "core/contention.hpp"
#include "core/passage.hpp"
#include "core/release_tally.hpp"
#include "core/tally.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_state.hpp"
#include "engine/replies.hpp"
#include "net/node.hpp"
#include <redlock/observer.hpp>

#include <chrono>
#include <utility>

// How a lease that was given up is released: behind everything that was sent before on each connection, so that no extension
// comes after it.
namespace redlock::detail {

/// Goes through the queue if others may stand there, and to all nodes at once if not.
/// \param queues false: the queue is left out, because the lock has none, the client ends, or this is a repetition
// rules Q5, Q11, Q19 and R1
void held_lease::start_release(bool queues)
{
    releasing& stage = *releasing_stage();
    kind::lock_kind const& its = type();
    stage.begin();
    on().life.release_began();
    if (queues) {
        core::contention& known = contention();
        if (its.opens_window()) // if one is owed to unqueued clients
            known.passing.open_window(lock().config->batch_policy.period, on().open_window_length(),
                                      on().loop().now());
        // Readers and permits use the queue always, exclusive leases only if rivals are known.
        if ((its.heeds() || known.batch.has_rivals()) && release_in_queue(stage))
            return;
    }
    on().loop().schedule_after(*this, lock().config->node_timeout);
    release_on(nodes().all(), its.release_request());
}

/// The decision to leave the lock free is the same for each node and for each repetition.
kind::queue_arguments held_lease::release_arguments() const
{
    bool const opens_window = releasing_stage()->opens_window;
    auto const time =
        opens_window ? on().open_window_length() : contention().passing.lasted(on().loop().now());
    return {.leaves_free = opens_window, .time = std::chrono::floor<std::chrono::microseconds>(time)};
}

/// The queue node is told first. A new client could otherwise win the other nodes before the next owner's claim.
/// \return false: there is no queue
// rule Q11
bool held_lease::release_in_queue(releasing& stage)
{
    auto const node = on().registry.node_of(lock(), lock().key->awaited(), {});
    if (!node)
        return false;
    core::duration const whole = lock().config->node_timeout;
    stage.queue_node = static_cast<std::uint8_t>(*node);
    stage.opens_window = contention().passing.is_left_free(on().loop().now());
    stage.may_be_claimed = !stage.opens_window;
    // New readers and permits heed the queue node.
    stage.is_postponed = stage.may_be_claimed && !type().heeds();
    on().loop().schedule_after(*this, stage.is_postponed ? on().first_answer_timeout(whole / 2) : whole);
    if (stage.is_postponed)
        on().life.postpone_release(*this);
    send(*node, kind::request::give_back);
    if (!stage.is_postponed)
        release_on(stage.others(), type().release_request());
    return true;
}

/// Once, when the queue node has answered or failed, has had its time, or the client ends.
void held_lease::release_the_rest()
{
    releasing* const stage = releasing_stage();
    if (!std::exchange(stage->is_postponed, false))
        return;
    link.unlink();
    if (!stage->under_way) // the only node has answered
        return;
    core::duration const whole = lock().config->node_timeout;
    on().loop().schedule_after(*this, whole - on().first_answer_timeout(whole / 2));
    release_late(stage->others(), type().release_request());
}

/// A waiter of this client may have asked there meanwhile, and found the key: nobody reports our own change (rule W2).
void held_lease::release_late(core::node_set where, kind::request what)
{
    release_on(where, what);
    lock().key->changed_by_us(where);
}

void held_lease::release_on(core::node_set where, kind::request what)
{
    if (where == nodes().all() && send_to_all(what))
        return;
    for (unsigned i = 0; i != nodes().size(); ++i) {
        net::node& to = nodes().at(i);
        if (!where.contains(i))
            continue;
        to.ensure_can_release() ? send(i, what) : fail_release(i, to.last_failure());
    }
}

/// A node that has no queue is told as the others are. Of several names each node serves its queues, but only the queue node,
/// which is told first, can say that nobody was called. A call excuses the answers of other nodes, not the one that tells of
/// it: a name that was not ours there had been lost before.
// rules M3 and R2
void held_lease::on_given_back(node_answer const& got)
{
    releasing& stage = *releasing_stage();
    if (got.node == stage.queue_node)
        stage.may_be_claimed = stage.handed_on;
    if (got.answer.what == meaning::error) {
        on().registry.refused(got.node, lock().key->awaited(), got.reply);
        release_late(core::node_set(got.node), kind::request::release);
    } else {
        if (got.answer.handed_on)
            stage.tally.excuse();
        on_release(got);
        if (got.answer.handed_on)
            stage.may_be_claimed = stage.handed_on = true;
    }
    release_the_rest();
}

void held_lease::on_release(node_answer const& got)
{
    bool const ours = got.answer.what == meaning::granted;
    bool const answered = ours || got.answer.what == meaning::denied;
    if (!answered && releases_lock_alone(got))
        return;
    if (!ours || !history_.empty())
        keep_answer(got);
    releasing& stage = *releasing_stage();
    if (answered)
        stage.tally.answered(got.node, ours || stage.may_be_claimed);
    else
        stage.tally.missed(got.node);
    settle_release();
}

/// Returns whether a leader's lock is released without its announcement.
bool held_lease::releases_lock_alone(node_answer const& got)
{
    if (got.answer.what == meaning::error)
        nodes().note(got.node, "release", got.reply);
    bool const alone = asks_for_lock_alone(got, type()) && nodes().at(got.node).ensure_can_release();
    if (alone)
        release_late(core::node_set(got.node), kind::request::lock_release);
    return alone;
}

void held_lease::keep_answer(node_answer const& got)
{
    node_report row;
    report(got, type(), row);
    keep(got.node, std::move(row));
}

void held_lease::on_release_silence(unsigned node, net::failure const& why)
{
    release_the_rest();
    if (send_release_again(node, why))
        return;
    if (!why.unsent)
        reached_.insert(node); // with it a vote that waited for the connection, too
    // The release was written, and other nodes have confirmed it. Only the client's end cuts off this answer.
    bool const cut_off = on().life.closed() && !why.unsent && releasing_stage()->tally.confirmed();
    if (!cut_off)
        fail_release(node, why);
}

/// The node may hold the key for as long as it lives, if anything of it was sent there.
void held_lease::fail_release(unsigned node, net::failure const& why)
{
    node_report row;
    report_failure(why, row);
    keep(node, std::move(row));
    if (reached_.contains(node))
        on().rollbacks.retry_later(node, owed());
    releasing_stage()->tally.missed(node);
    settle_release();
}

void held_lease::settle_release()
{
    if (releasing_stage()->under_way && releasing_stage()->tally.decided())
        finish_release();
}

// rule R2
void held_lease::finish_release()
{
    using verdict = core::release_tally::result;
    releasing& stage = *releasing_stage();
    stage.under_way = false;
    on().loop().cancel(*this);
    bool const confirmed = stage.told_confirmed = stage.tally.confirmed();
    auto const outcome = stage.tally.verdict();
    boost::system::error_code const result = outcome == verdict::was_gone ? make_error_code(errc::lease_lost)
                                             : outcome == verdict::confirmed
                                                 ? boost::system::error_code{}
                                                 : make_error_code(errc::no_quorum);
    if (!confirmed)
        keep_silence(stage.tally.awaited());
    on().life.release_ended(confirmed);
    if (observer* const watcher = on().its.watcher())
        watcher->on_release({lock().name(), result, stage.tally.answers(), nodes().size()});
    finish_all(waiting_, result);
}

/// Its keys may be another's by now: a node that says so is as good as its release.
// rule EL6
void held_lease::resign(wait_op& w)
{
    releasing* const stage = releasing_stage();
    bool const unconfirmed = stage && !on().life.closing() && !stage->told_confirmed;
    if (!unconfirmed)
        return release(&w);
    stage->told_confirmed = stage->tally.confirmed();
    if (stage->told_confirmed) // by an answer that came after the timeout
        return w.finish({});
    waiting_.push_back(w);
    if (stage->under_way)
        return;
    stage->may_be_claimed = stage->handed_on = true;
    start_release(false);
}

} // namespace redlock::detail
