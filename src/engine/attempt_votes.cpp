// SPDX-License-Identifier: BSL-1.0
#include "engine/attempt.hpp"
#include "kind/semaphore.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// An attempt's questions to the nodes, and its use of their answers.
namespace redlock::detail {

template class round<attempt>;

/// Asks the meeting node before the other nodes. The meeting node's answer decides which of several clients goes on.
// rule W3
void attempt::ask_meeting_node_first(unsigned node)
{
    auto const then = ask(node);
    meeting_node_first_ = then == step::pending && asked_.contains(node);
    if (meeting_node_first_)
        return runtime_.loop().schedule_after(*this, runtime_.first_answer_timeout(config_->node_timeout));
    then == step::pending ? ask_all() : act_on(then);
}

/// Sends the vote or the claim to the nodes that have not been asked yet.
// rule A1
void attempt::ask_all()
{
    meeting_node_first_ = false;
    auto const verdict = ask_the_rest();
    await_answers();
    act_on(verdict);
}

void attempt::await_answers()
{
    runtime_.loop().schedule(*this, votes_.sent() + config_->node_timeout);
}

/// A majority has granted. The queue node may still refuse, but its answer is awaited for a shorter time.
// rule Q10
void attempt::await_queue_node()
{
    constexpr core::duration shortest = std::chrono::milliseconds{2};
    if (heeds_since_)
        return;
    core::instant const now = runtime_.loop().now();
    heeds_since_ = now;
    core::duration const left = core::remaining(votes_.sent() + config_->node_timeout, now);
    core::duration const grace = std::max<core::duration>(2 * runtime_.round_trip(), shortest);
    runtime_.loop().schedule_finely(*this, now + std::min(grace, left));
}

/// Is a lock of several names refused for another name than the one that was handed over?
bool attempt::is_refused_elsewhere() const
{
    return type().several && std::ranges::any_of(rows_, [&](node_report const& row) {
               return row.result == node_result::held_by_other && row.which != claimed_name_;
           });
}

/// Releases of the previous owners are still on their way to the nodes that refused (rule Q8).
bool attempt::will_claim_again()
{
    auto const then =
        claim_ && !is_refused_elsewhere() ? claim_->send_again(runtime_.loop().now()) : std::nullopt;
    pauses_ = then && votes_.reopen();
    if (pauses_)
        runtime_.loop().schedule_finely(*this, *then);
    return pauses_;
}

// rule Q8
void attempt::claim_again()
{
    pauses_ = false;
    paused_ = true;
    core::node_set const where = votes_.ask_again();
    held_by_others_.erase(where);
    auto verdict = step::pending;
    for (unsigned i = 0; i != nodes().size(); ++i) {
        if (!where.contains(i))
            continue;
        rows_[i].clear();
        verdict = std::max(verdict, ask(i));
    }
    await_answers();
    act_on(verdict);
}

attempt::step attempt::ask_the_rest()
{
    auto verdict = step::pending;
    bool const asks_all = asked_.empty() && votes_.answered().empty();
    if (asks_all && nodes().admitted(*lock_) == nodes().all() && send_to_all(vote_request())) {
        asked_ = nodes().all();
        return verdict;
    }
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (!asked_.contains(i) && !votes_.has_answered(i))
            verdict = std::max(verdict, ask(i));
    return verdict;
}

void attempt::append_for(unsigned node, std::string& out, kind::request what, redis::script_form form) const
{
    auto const number = what == kind::request::write_back ? votes_.token() : proposal_;
    auto const previous_owner = previous_owner_ ? previous_owner_->text() : given_up_;
    kind::command_arguments args{lock_->redis_key(), nonce_.text(), number, previous_owner};
    args.terms = config_->kind_terms;
    args.start = start_;
    if (choice_ && what != kind::request::vote) {
        args.numbers = choice_->set();
        args.given = choice_->given_by(node);
        if (!previous_owner_)
            args.previous_owner = nonce_.text(); // the queue node has chosen: no other queue is heeded
    }
    config_->commands->append(out, what, args, form);
}

attempt::step attempt::ask(unsigned node)
{
    if (nodes().admit(node, *lock_, row_of(node))) {
        asked_.insert(core::node_set(node));
        if (nodes().at(node).state() != node_state::ready)
            queued_.insert(node);
        send(node, vote_request());
        return step::pending;
    }
    tell_vote(node, rows_[node]);
    return votes_.voted(node, core::vote::failed);
}

// rule F2
void attempt::write_back()
{
    auto verdict = step::pending;
    for (unsigned i = 0; i != nodes().size(); ++i) {
        if (!votes_.to_write_back().contains(i))
            continue;
        if (nodes().at(i).ensure_can_send())
            send(i, kind::request::write_back);
        else
            verdict = std::max(verdict, votes_.wrote_back(i, core::vote::failed));
    }
    runtime_.loop().schedule_after(*this, config_->node_timeout);
    act_on(verdict);
}

void attempt::on_answer(node_answer const& got)
{
    if (!choice_ || got.late || got.what == kind::request::write_back)
        return count_answer(got);
    auto const given = kind::read_grant(got.what, got.reply);
    if (!given)
        count_answer(got);
    else if (kind::are_permits(kind::permits_of(config_->kind_terms), given->permits))
        on_permits(got, *given);
    else
        count_answer({got.node, got.what, got.late, {}, got.reply});
}

/// Which permits count is not known before the queue node has answered (rule Q14).
void attempt::on_permits(node_answer const& got, kind::grant const& given)
{
    queued_.erase(got.node);
    choice_->gave(got.node, given.permits, given.number);
    if (type().counts())
        lock_->key->note_number(given.number);
    if (!open_)
        return on_late_permits(got);
    node_report& row = row_of(got.node);
    fill(row, got);
    if (choice_->is_awaited())
        await_queue_node();
    act_on_vote(row.result, step::pending);
}

void attempt::on_late_permits(node_answer const& got)
{
    node_report ignored;
    fill(ignored, got);
    tell_vote(got.node, ignored);
    (void)settle_permits();
}

attempt::step attempt::stop_awaiting_chooser()
{
    if (!choice_ || choice_->decided())
        return step::pending;
    (void)votes_.heed_no_longer(); // nothing is counted before the choice
    choice_->stop_awaiting_chooser();
    return settle_permits();
}

/// Draws the consequences of the answers so far.
// rules Q14 and P4
attempt::step attempt::settle_permits()
{
    auto verdict = step::pending;
    if (!choice_)
        return verdict;
    if (auto const chooser = choice_->chooser(); chooser && votes_.has_answered(*chooser))
        choice_->stop_awaiting_chooser(); // it has failed
    for (unsigned i = 0; i != nodes().size(); ++i)
        verdict = std::max(verdict, settle_permits(i));
    return verdict;
}

attempt::step attempt::settle_permits(unsigned node)
{
    switch (choice_->next(node)) {
    case core::permit_choice::step::nothing: return step::pending;
    case core::permit_choice::step::count: return count_permits(node);
    case core::permit_choice::step::ask_exactly: return ask_exactly(node);
    case core::permit_choice::step::fail: return votes_.voted(node, core::vote::failed);
    }
    return step::pending;
}

attempt::step attempt::count_permits(unsigned node)
{
    auto const then = votes_.voted(node, core::vote::granted, choice_->number(node));
    open_ ? tell_vote(node, rows_[node]) : tell_lease(node);
    return then;
}

/// It is a vote of its own: the node may have restarted since its answer. A lease that has ended has already given back all
/// permits of the node.
// rules Q14 and N4
attempt::step attempt::ask_exactly(unsigned node)
{
    node_report refusal;
    bool const connected = nodes().at(node).ensure_can_send_now();
    if (!connected)
        report_failure(nodes().at(node).last_failure(), refusal);
    bool const may = connected && nodes().admit(node, *lock_, refusal);
    if (may && (!lease_ || lease_->is_held())) {
        send(node, kind::request::claim);
        return step::pending;
    }
    if (open_) {
        row_of(node) = std::move(refusal);
        tell_vote(node, rows_[node]);
    }
    return votes_.voted(node, core::vote::failed);
}

void attempt::count_answer(node_answer const& got)
{
    if (got.late)
        return;
    queued_.erase(got.node);
    if (got.what != kind::request::write_back)
        return open_ ? on_vote(got) : on_late_vote(got);
    auto const then = votes_.wrote_back(got.node, vote_of(got.answer.what));
    open_ ? act_on(then) : tell_lease(got.node);
}

// rules A5 and K2
void attempt::on_vote(node_answer const& got)
{
    auto const then = count(got);
    if (needs_no_row(got))
        return act_on_vote(node_result::granted, then);
    node_report& row = row_of(got.node);
    fill(row, got);
    if (row.result == node_result::held_by_other)
        held_by_others_.insert(got.node);
    tell_vote(got.node, row);
    act_on_vote(row.result, then);
}

/// The votes know the grants.
bool attempt::needs_no_row(node_answer const& got) const
{
    return got.answer.what == kind::answer::meaning::granted && !type().counts() && !runtime_.its.watcher();
}

/// Does not count the vote, but remembers the node's answer (rule H5).
void attempt::on_late_vote(node_answer const& got)
{
    (void)count(got);
    if (got.answer.what != kind::answer::meaning::granted || runtime_.its.watcher()) {
        node_report ignored;
        fill(ignored, got);
        if (ignored.result == node_result::held_by_other)
            held_by_others_.insert(got.node);
        tell_vote(got.node, ignored);
    }
    tell_lease(got.node);
}

/// Tells the lease that another node holds its key.
// rule H5
void attempt::tell_lease(unsigned node)
{
    if (lease_ && votes_.holders().contains(node))
        lease_->late_grant(node);
}

/// Enters an answer, and the time since the attempt began: also of a node that was asked later, or again.
void attempt::fill(node_report& row, node_answer const& got) const
{
    auto const took = core::elapsed(votes_.sent(), runtime_.loop().now());
    row.round_trip_us = static_cast<std::uint32_t>(took / std::chrono::microseconds{1});
    report(got, type(), row);
}

attempt::step attempt::count(node_answer const& got)
{
    if (type().counts())
        lock_->key->note_number(got.answer.number);
    return votes_.voted(got.node, vote_of(got.answer.what), got.answer.number);
}

void attempt::on_silence(unsigned node, kind::request what, bool late, net::failure const& why)
{
    if (!late && !why.unsent)
        queued_.erase(node);
    if (late || !open_)
        return;
    if (what == kind::request::write_back)
        return act_on(votes_.wrote_back(node, core::vote::failed));
    auto const then = fail_vote(node, what, why);
    act_on_vote(rows_[node].result, then);
}

/// A vote that waited for a connection to a young node has not been sent: the node may be old enough for this lock.
attempt::step attempt::fail_vote(unsigned node, kind::request what, net::failure const& why)
{
    if (why.unsent && what == vote_request()) {
        asked_.erase(node); // nothing to take back
        return ask(node);
    }
    if (rows_[node].result == node_result::pending)
        report_failure(why, row_of(node));
    tell_vote(node, rows_[node]);
    return votes_.voted(node, core::vote::failed);
}

/// A refusal by the meeting node means that a rival was there first. This attempt gives way, so that one of the two succeeds.
void attempt::act_on_vote(node_result said, step then)
{
    if (!meeting_node_first_ || then != step::pending)
        return act_on(then);
    switch (said) {
    case node_result::pending: return; // it is asked again
    case node_result::granted: return ask_all();
    case node_result::held_by_other: return act_on(votes_.give_way());
    default: return ask_all();
    }
}

} // namespace redlock::detail
