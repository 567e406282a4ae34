#include "lock/acquisition.hpp"
#include "lock/clock.hpp"
#include "lock/engine.hpp"
#include "lock/held_lease.hpp"
#include "lock/replies.hpp"

#include <algorithm>
#include <memory>
#include <string>

// One attempt's traffic: votes, and the raises of fenced locks.
namespace redlock::lock {

void acquisition::vote()
{
    using kind = core::attempt::kind;
    phase_ = phase::voting;
    ++number_;
    nonce_ = engine_.fresh_nonce();
    if (lock_->fenced)
        proposal_ = core::proposal(lock_->fenced->highest_seen, wall_clock());
    attempt_ =
        core::attempt(lock_->fenced ? kind::fenced : kind::plain, engine_.size(), engine_.loop().now());
    auto verdict = core::attempt::step::pending;
    for (unsigned i = 0; i != engine_.size(); ++i) {
        net::node& node = engine_.at(i);
        rows_[i] = {};
        if (node.usable() && may_be_asked(i)) {
            send_vote(i, node.form(net::node::script::fenced_vote));
            continue;
        }
        if (rows_[i].result == node_result::pending)
            report_failure(node.last_failure(), rows_[i]);
        verdict = std::max(verdict, attempt_.voted(i, core::vote::failed));
    }
    expect_within_node_timeout();
    follow(verdict);
}

/// Fenced votes need a node whose data is known, and whole for long enough (rule F6).
bool acquisition::may_be_asked(unsigned node)
{
    if (!lock_->fenced)
        return true;
    node_report& row = rows_[node];
    if (engine_.at(node).state() != node_state::ready) {
        row.result = node_result::unreachable;
        row.detail = std::make_shared<std::string const>("still connecting");
        return false;
    }
    marker& its = engine_.marker_of(node);
    its.require();
    auto const left = core::remaining(its.quarantined_until(), engine_.loop().now());
    if (left <= core::duration::zero())
        return true;
    report_stranger(row);
    row.remaining = std::chrono::ceil<std::chrono::milliseconds>(left);
    return false;
}

/// A fenced vote is said again as text where its hash was unknown, and so nothing executed; nothing else is repeated.
void acquisition::send_vote(unsigned node, redis::script_form form)
{
    std::string& out = engine_.at(node).output();
    if (lock_->fenced)
        lock_->fenced->commands.append_vote(out,
                                            {nonce_.text(), proposal_, engine_.at(node).incarnation(), form});
    else
        lock_->commands.append_vote(out, nonce_.text());
    ++outstanding_;
    engine_.at(node).expect(*this, tag(purpose::vote, form));
}

void acquisition::raise()
{
    auto verdict = core::attempt::step::pending;
    for (unsigned i = 0; i != engine_.size(); ++i) {
        if (!attempt_.to_raise().contains(i))
            continue;
        net::node& node = engine_.at(i);
        if (node.usable())
            send_raise(i, node.form(net::node::script::fenced_raise));
        else
            verdict = std::max(verdict, attempt_.raised(i, core::vote::failed));
    }
    expect_within_node_timeout();
    follow(verdict);
}

void acquisition::send_raise(unsigned node, redis::script_form form)
{
    lock_->fenced->commands.append_raise(
        engine_.at(node).output(), {nonce_.text(), attempt_.token(), engine_.at(node).incarnation(), form});
    ++outstanding_;
    engine_.at(node).expect(*this, tag(purpose::raise, form));
}

void acquisition::expect_within_node_timeout()
{
    core::instant const patience = engine_.loop().now() + lock_->node_timeout;
    engine_.loop().schedule(*this, limit_ > core::duration::zero() ? within_limit(patience) : patience);
}

void acquisition::on_reply(unsigned node, std::uint32_t tag, redis::resp_node const& reply)
{
    --outstanding_;
    if (!current(tag))
        return retire_if_drained();
    bool const counted = phase_ == phase::voting;
    node_report ignored;
    auto const step = read(node, tag, reply, counted ? rows_[node] : ignored);
    if (counted)
        return follow(step);
    if (lease_ && attempt_.holders().contains(node)) // not counted, but known (rule H5)
        lease_->late_grant(node);
    retire_if_drained();
}

core::attempt::step acquisition::read(unsigned node, std::uint32_t t, redis::resp_node const& reply,
                                      node_report& row)
{
    bool const may_repeat = phase_ == phase::voting && form_of(t) == redis::script_form::hash;
    return purpose_of(t) == purpose::raise ? read_raise(node, may_repeat, reply)
                                           : read_vote(node, may_repeat, reply, row);
}

core::attempt::step acquisition::read_vote(unsigned node, bool may_repeat, redis::resp_node const& reply,
                                           node_report& row)
{
    auto const took = core::elapsed(attempt_.sent(), engine_.loop().now());
    row.round_trip_us = static_cast<std::uint32_t>(took.count() / 1000);
    if (!lock_->fenced)
        return attempt_.voted(node, lock::read_vote(reply, row));
    auto const answer = read_fenced_vote(engine_.at(node), reply, row);
    if (answer.unknown_script && may_repeat) {
        send_vote(node, redis::script_form::text);
        return core::attempt::step::pending;
    }
    if (answer.stranger)
        engine_.marker_of(node).missed();
    lock_->fenced->highest_seen = std::max(lock_->fenced->highest_seen, answer.counter);
    return attempt_.voted(node, answer.vote, answer.counter);
}

core::attempt::step acquisition::read_raise(unsigned node, bool may_repeat, redis::resp_node const& reply)
{
    switch (read_script_answer(engine_.at(node), net::node::script::fenced_raise, reply)) {
    case script_answer::done: return attempt_.raised(node, core::vote::granted);
    case script_answer::not_ours: return attempt_.raised(node, core::vote::denied);
    case script_answer::unknown_script:
        if (!may_repeat)
            break;
        send_raise(node, redis::script_form::text);
        return core::attempt::step::pending;
    default: break;
    }
    return attempt_.raised(node, core::vote::failed);
}

void acquisition::on_failure(unsigned node, std::uint32_t t, net::failure const& why)
{
    --outstanding_;
    if (!current(t) || phase_ != phase::voting)
        return retire_if_drained();
    if (purpose_of(t) == purpose::raise)
        return follow(attempt_.raised(node, core::vote::failed));
    report_failure(why, rows_[node]);
    follow(attempt_.voted(node, core::vote::failed));
}

void acquisition::follow(core::attempt::step step)
{
    switch (step) {
    case core::attempt::step::pending: return;
    case core::attempt::step::raise: return raise();
    case core::attempt::step::won: return won();
    case core::attempt::step::lost:
        engine_.loop().cancel(*this);
        return lose(attempt_.contended() ? errc::contended : errc::no_quorum);
    }
}

void acquisition::attempt_timed_out()
{
    for (unsigned i = 0; i != engine_.size(); ++i)
        if (attempt_.awaits(i))
            rows_[i].result = node_result::timed_out;
    follow(attempt_.time_out());
}

} // namespace redlock::lock
