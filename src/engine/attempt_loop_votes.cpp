#include "engine/acquire_op.hpp"
#include "engine/attempt_loop.hpp"
#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_queue.hpp"
#include "engine/replies.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

// One attempt's votes.
namespace redlock::detail {

namespace {

core::vote vote_of(kind::answer::meaning said)
{
    switch (said) {
    case kind::answer::meaning::granted: return core::vote::granted;
    case kind::answer::meaning::denied: return core::vote::denied;
    default: return core::vote::failed;
    }
}

} // namespace

/// The clock of an attempt starts when enough nodes can be asked: connecting is not paid from the lease. A fenced vote
/// is not sent ahead of the node's marker, which tells whose data it will meet.
void attempt_loop::connect_or_vote()
{
    auto const before = std::pair(phase_, number_);
    if (lock_->plan->kind.marked || engine_.ready() != engine_.size())
        engine_.connect();
    if (lock_->plan->kind.marked)
        engine_.require_markers();
    // A connection was closed, of which we heard, and went on from there.
    if (std::pair(phase_, number_) != before)
        return;
    if (engine_.unsettled() == 0)
        return vote();
    bool const enough = engine_.voters(*lock_) >= core::majority(engine_.size());
    // One refusal would decide against a client that has just begun, and whose other nodes are a moment late.
    bool const early = lock_->plan->kind.marked && engine_.meets_somebody();
    if (enough && !early)
        return vote();
    core::instant const now = engine_.loop().now();
    if (phase_ != phase::connecting)
        connecting_since_ = now;
    enter(phase::connecting);
    // Once, however often connections fail meanwhile, and are made anew.
    core::duration const left = core::remaining(connecting_since_ + engine_.settings().connect_timeout, now);
    engine_.loop().schedule_after(*this, enough ? std::min(lock_->plan->node_timeout, left) : left);
}

/// What the attempt needs, and its end, whichever it is: so that what was sent does not fail for want of it.
boost::system::error_code attempt_loop::provide() noexcept
{
    try {
        engine_.make_room_for_draft();
        if (!undo_)
            undo_ = &engine_.new_undo();
        if (!block_)
            block_ = engine_.lease_blocks().take();
        nonce_ = engine_.fresh_nonce();
        return {};
    } catch (std::bad_alloc const&) {
        return make_error_code(boost::system::errc::not_enough_memory);
    } catch (std::runtime_error const&) {
        return errc::no_randomness;
    }
}

/// Without it the one whom it asks for fails. The next one is asked for a little later.
void attempt_loop::starve(boost::system::error_code why)
{
    acquire_op& done = *whom_;
    whom_ = wanted_->after(done);
    wanted_->drop(done);
    done.fail(why);
    if (!whom_) {
        wanted_->abandoned(*this);
        return finish();
    }
    lock_ = whom_->lock();
    wait_for_nodes(errc::no_quorum);
}

void attempt_loop::vote()
{
    enter(phase::held_up);
    engine_.loop().cancel(*this);
    if (!engine_.limit().enter(*this))
        return;
    phase_ = phase::voting;
    if (auto const missing = provide())
        return starve(missing);
    ++number_;
    whom_->attempt_began();
    waiting_.attempt_began();
    asked_ = refused_ = {};
    kind::lock_kind const& type = lock_->plan->kind;
    if (type.counts())
        proposal_ = core::proposal(wanted_->highest_number, engine_.loop().machine().wall_clock());
    attempt_ = core::attempt(type.agreement, engine_.size(), engine_.loop().now());
    for (node_report& row : rows_)
        row = {};
    auto const first = in_turn_ ? waiting_.known().rendezvous_node() : std::nullopt;
    in_turn_ = first.has_value();
    if (first)
        ask_in_turn(*first);
    else
        ask_all();
}

/// Those who vote at one node first find out there who of them may go on to the others (rule W3).
void attempt_loop::ask_in_turn(unsigned node)
{
    asked_last_ = node;
    std::string vote = draft_vote();
    auto const step = ask(node, vote);
    engine_.give_back(std::move(vote));
    if (step == core::attempt::step::pending && asked_.contains(node))
        return engine_.loop().schedule_after(*this, patience());
    if (step != core::attempt::step::pending)
        return follow(step);
    ask_next_in_turn();
}

core::duration attempt_loop::patience() const
{
    return std::min(std::max<core::duration>(2 * engine_.round_trip(), std::chrono::milliseconds{2}),
                    lock_->plan->node_timeout);
}

/// The first is silent, or cannot be asked.
void attempt_loop::ask_next_in_turn()
{
    waiting_.votes(asked_last_, false); // not free, until it answers, for whoever is refused by another
    auto const another = waiting_.known().after(asked_last_);
    if (!another || attempt_.has_answered(*another) || asked_.contains(*another))
        return ask_all();
    ask_in_turn(*another);
}

void attempt_loop::ask_all()
{
    in_turn_ = false;
    auto verdict = core::attempt::step::pending;
    std::string vote = draft_vote();
    for (unsigned i = 0; i != engine_.size(); ++i)
        if (!asked_.contains(i) && !attempt_.has_answered(i))
            verdict = std::max(verdict, ask(i, vote));
    engine_.give_back(std::move(vote));
    engine_.loop().schedule(*this, attempt_.sent() + lock_->plan->node_timeout);
    follow(verdict);
}

/// A vote is the same for all nodes, but for a marker at its end.
std::string attempt_loop::draft_vote()
{
    std::string vote = engine_.take_draft();
    append(vote, kind::request::vote, redis::script_form::hash);
    return vote;
}

void attempt_loop::append(std::string& out, kind::request what, redis::script_form form) const
{
    auto const number = what == kind::request::vote ? proposal_ : attempt_.token();
    lock_->plan->commands->append(out, what, {lock_->key(), nonce_.text(), number}, form);
}

core::attempt::step attempt_loop::ask(unsigned node, std::string const& draft)
{
    net::node& n = engine_.at(node);
    if (engine_.admit(node, *lock_, rows_[node])) {
        send_vote(node, form_for(n, lock_->plan->kind, kind::request::vote), draft);
        return core::attempt::step::pending;
    }
    tell_vote(node, rows_[node]);
    return attempt_.voted(node, core::vote::failed);
}

/// A script is said again as text where its hash was unknown, and so nothing executed; nothing else is repeated.
void attempt_loop::send_vote(unsigned node, redis::script_form form, std::string const& draft)
{
    net::node& n = engine_.at(node);
    if (form == redis::script_form::text)
        append(n.output(), kind::request::vote, form);
    else
        n.output().append(draft);
    if (lock_->plan->kind.marked)
        kind::append_marker(n.output(), engine_.marker_of(node).text());
    asked_.insert(node);
    ++outstanding_;
    n.expect(*this, tag(purpose::vote, form));
}

void attempt_loop::on_reply(unsigned node, std::uint32_t t, redis::resp_node const& reply)
{
    --outstanding_;
    if (current(t)) {
        auto const p = purpose_of(t);
        if (p == purpose::vote || p == purpose::write_back)
            on_vote(node, t, reply);
        else if (phase_ == phase::waiting)
            on_peek(node, p, reply);
    }
    retire_if_drained();
}

void attempt_loop::on_vote(unsigned node, std::uint32_t t, redis::resp_node const& reply)
{
    if (phase_ != phase::voting)
        return on_late_vote(node, t, reply);
    auto const step = count(node, t, reply, rows_[node]);
    in_turn_ ? follow_in_turn(node, step) : follow(step);
}

/// Not counted, but known (rule H5).
void attempt_loop::on_late_vote(unsigned node, std::uint32_t t, redis::resp_node const& reply)
{
    node_report ignored;
    (void)count(node, t, reply, ignored);
    if (lease_ && attempt_.holders().contains(node))
        lease_->late_grant(node);
}

core::attempt::step attempt_loop::count(unsigned node, std::uint32_t t, redis::resp_node const& reply,
                                        node_report& row)
{
    auto const step = read(node, t, reply, row);
    if (purpose_of(t) != purpose::vote)
        return step;
    if (row.result == node_result::held_by_other)
        note_refusal(node, row);
    tell_vote(node, row);
    return step;
}

/// A script that reads another's key, for its refusal, makes the server tell when that changes.
void attempt_loop::note_refusal(unsigned node, node_report const& row)
{
    refused_.insert(node);
    if (lock_->plan->kind.script(kind::request::vote) && engine_.at(node).tracks())
        waiting_.listens(node);
    if (!waiting_.knows_nodes())
        return;
    waiting_.refused(node);
    believe(node, {.owner = row.owner, .left = row.remaining});
}

core::attempt::step attempt_loop::read(unsigned node, std::uint32_t t, redis::resp_node const& reply,
                                       node_report& row)
{
    bool const may_repeat = phase_ == phase::voting && form_of(t) == redis::script_form::hash;
    return purpose_of(t) == purpose::write_back ? read_write_back(node, may_repeat, reply)
                                                : read_vote(node, may_repeat, reply, row);
}

core::attempt::step attempt_loop::read_vote(unsigned node, bool may_repeat, redis::resp_node const& reply,
                                            node_report& row)
{
    auto const took = core::elapsed(attempt_.sent(), engine_.loop().now());
    row.round_trip_us = static_cast<std::uint32_t>(took.count() / 1000);
    using meaning = kind::answer::meaning;
    auto const answer = read_answer(engine_.at(node), lock_->plan->kind, kind::request::vote, reply);
    if (answer.what == meaning::unknown_script && may_repeat) {
        send_vote(node, redis::script_form::text, {});
        return core::attempt::step::pending;
    }
    report(answer, lock_->plan->kind, kind::request::vote, reply, row);
    if (answer.what == meaning::other_data)
        engine_.marker_of(node).missed();
    wanted_->highest_number = std::max(wanted_->highest_number, answer.number);
    return attempt_.voted(node, vote_of(answer.what), answer.number);
}

void attempt_loop::on_failure(unsigned node, std::uint32_t t, net::failure const& why)
{
    --outstanding_;
    waiting_.failed(node);
    if (current(t) && phase_ == phase::voting) {
        if (purpose_of(t) == purpose::write_back) {
            follow(attempt_.wrote_back(node, core::vote::failed));
        } else if (purpose_of(t) == purpose::vote) {
            auto const step = fail_vote(node, why);
            in_turn_ ? follow_in_turn(node, step) : follow(step);
        }
    }
    retire_if_drained();
}

/// What waited for a connection that leads to a young node has not been sent: this lock may be content with its age.
core::attempt::step attempt_loop::fail_vote(unsigned node, net::failure const& why)
{
    if (why.unsent)
        asked_.erase(node); // nothing to take back
    if (why.unsent && engine_.admit(node, *lock_, rows_[node])) {
        std::string const vote = draft_vote();
        send_vote(node, redis::script_form::hash, vote);
        return core::attempt::step::pending;
    }
    if (rows_[node].result == node_result::pending)
        report_failure(why, rows_[node]);
    tell_vote(node, rows_[node]);
    return attempt_.voted(node, core::vote::failed);
}

/// A refusal at the meeting point is a rival who got there before, and goes on to the others. Not to be in his way is
/// what makes one of us succeed.
void attempt_loop::follow_in_turn(unsigned node, core::attempt::step step)
{
    if (step != core::attempt::step::pending)
        return follow(step);
    switch (rows_[node].result) {
    case node_result::pending: return; // it is asked again, as text
    case node_result::granted: return ask_all();
    case node_result::held_by_other: return follow(attempt_.give_way());
    default: return ask_next_in_turn();
    }
}

void attempt_loop::follow(core::attempt::step step)
{
    switch (step) {
    case core::attempt::step::pending: return;
    case core::attempt::step::write_back: return write_back();
    case core::attempt::step::won: return won();
    case core::attempt::step::lost:
        engine_.loop().cancel(*this);
        return lose(attempt_.contended() ? errc::contended : errc::no_quorum);
    }
}

/// Those who have not answered us, but others: there are too many before us.
bool attempt_loop::stands_in_line() const
{
    for (unsigned i = 0; i != engine_.size(); ++i)
        if (attempt_.awaits(i) && !core::reached(engine_.at(i).heard(), attempt_.sent()))
            return true;
    return false;
}

void attempt_loop::attempt_timed_out()
{
    for (unsigned i = 0; i != engine_.size(); ++i)
        if (attempt_.awaits(i)) {
            rows_[i].result = node_result::timed_out;
            tell_vote(i, rows_[i]);
        }
    follow(attempt_.time_out());
}

} // namespace redlock::detail
