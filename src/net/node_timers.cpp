// SPDX-License-Identifier: BSL-1.0
#include "net/node.hpp"
#include "redis/info.hpp"
#include "redis/resp.hpp"

#include <algorithm>
#include <utility>

/// The timers of a node: when to connect again, to check a connection, to give one up.
namespace redlock::net {

void node::keep_connected(bool kept)
{
    if (closed_ || std::exchange(kept_connected_, kept) == kept)
        return;
    if (kept)
        tried_once_ = false;
    if (kept && state_ == node_state::idle)
        connect();
    else if (kept && check_due()) // in front of the votes to come
        check();
    else
        set_timer();
}

void node::try_once()
{
    if (!closed_ && state_ == node_state::down && !std::exchange(tried_once_, true))
        connect();
}

/// Only times change here: the caller is not ready for the effects of an expired timer.
// rule H10
void node::hasten(core::reconnect_pace const& wanted)
{
    if (closed_)
        return;
    if (!connected())
        pace_ = core::sooner(pace_, wanted);
    core::instant const now = loop_.now();
    if (state_ == node_state::down && core::sooner(went_down_ + pace_.pause, retry_at_, now))
        retry_at_ = went_down_ + pace_.pause;
    bool const too_patient = connected() && !awaited_.empty() && wanted.silence < terms_.response_timeout;
    if (too_patient && (!answer_due_ || core::sooner(answered_ + wanted.silence, *answer_due_, now)))
        answer_due_ = answered_ + wanted.silence;
    set_timer();
}

bool node::is_silent_too_long() const
{
    core::instant const now = loop_.now();
    return !awaited_.empty() && (core::reached(answered_ + terms_.response_timeout, now) ||
                                 (answer_due_ && core::reached(*answer_due_, now)));
}

/// Returns when the next step is due in each state; for an unwatched node, only that of a reply.
std::optional<core::instant> node::next_due() const
{
    core::instant const now = loop_.now();
    if (out_of_memory_)
        return now;
    std::optional<core::instant> due;
    auto const no_later_than = [&due, now](core::instant at) {
        if (!due || core::sooner(at, *due, now))
            due = at;
    };
    if (!awaited_.empty() && connected())
        no_later_than(answer_due_.value_or(answered_ + terms_.response_timeout));
    if (state_ == node_state::connecting && attempt_limit() != core::duration::max())
        no_later_than(began_ + attempt_limit());
    if (kept_connected_ && checks())
        no_later_than(checked_ + terms_.check_interval);
    if (kept_connected_ && state_ == node_state::down)
        no_later_than(retry_at_);
    return due;
}

/// A timer that is due earlier is not moved. When it expires, the node computes its next due time again.
void node::set_timer()
{
    if (auto const due = next_due())
        return look_again_by(*due);
    due_.reset();
    loop_.suspend(timer_);
}

void node::look_again_by(core::instant due)
{
    if (due_ && !core::sooner(due, *due_, loop_.now()))
        return;
    due_ = due;
    loop_.schedule(timer_, due);
}

// rule V4
void node::on_timer()
{
    due_.reset();
    if (out_of_memory_)
        fail_no_memory();
    else if (state_ == node_state::down && kept_connected_ && core::reached(retry_at_, loop_.now()))
        connect();
    else if (state_ == node_state::connecting)
        give_up_attempt();
    else if (is_silent_too_long())
        down(node_result::timed_out,
             answer_due_ ? "no answer in time for a lease" : "no answer within the response timeout");
    else if (check_due())
        check();
    else
        set_timer();
}

/// A packet may be lost: another attempt shows it, and this one could outlast the lease.
void node::give_up_attempt()
{
    if (core::elapsed(began_, loop_.now()) < attempt_limit())
        return set_timer();
    down(node_result::timed_out, "no connection in time for a lease");
}

/// One check at a time; also while replies are awaited, because a clock can be set under any load (rule N7).
bool node::checks() const
{
    return connected() && !checking_ && terms_.check_interval > core::duration::zero();
}

bool node::check_due()
{
    return checks() && core::reached(checked_ + terms_.check_interval, loop_.now());
}

// rule N7
void node::check()
{
    checked_ = loop_.now();
    if (ensure_can_release() && connected())
        ask_time();
    set_timer();
}

void node::ask_time()
{
    checking_ = true;
    checked_ = loop_.now();
    redis::append_command(output(), {"TIME"});
    expect(check_, 0);
    if (!facts_.group)
        return;
    redis::append_command(output(), {"INFO"});
    expect(info_sink_, 0);
}

/// The master of a group may have lost its replicas to another one, and have them again (docs/protocol.md, rule N8).
void node::on_info(redis::resp_node const& reply)
{
    redis::server_facts now = facts_;
    if (!redis::is_error(reply.type))
        now.info = redis::parse_info(reply.text);
    else if (facts_.info)
        return down(node_result::unreachable, "INFO is not answered any more");
    if (!redis::can_write(now) || redis::incarnation(now) != incarnation_)
        down(node_result::unreachable, "the replicas of its group have changed");
}

/// Any answer shows that the connection is alive, also an error that forbids the question.
void node::on_time(std::span<redis::resp_node const> reply)
{
    checking_ = false;
    auto const theirs = redis::read_time(reply);
    if (!theirs)
        return;
    server_time_ = {*theirs, checked_, loop_.now()};
    round_trip_ = std::min(round_trip_, server_time_->took());
    if (listener_.was_set_forward(index_))
        discount_awaited();
}

} // namespace redlock::net
