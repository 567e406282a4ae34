// SPDX-License-Identifier: BSL-1.0
#include "core/local_queue.hpp"
#include "engine/attempt_loop.hpp"
#include <redlock/lock_options.hpp>

#include <memory>
#include <new>

// In line with those of other clients who wait for the lock.
namespace redlock::detail {

bool attempt_loop::wants_line() const
{
    return lock().plan->queues() && whom_->waits();
}

// rule Q15
bool attempt_loop::stand_in_line(core::instant then, bool in_front)
{
    if (!wants_line() || !take_place(then, in_front))
        return false;
    enter(phase::in_line);
    told_.reset();
    free_ = {};
    cause_ = errc::contended;
    listen();
    watch_majority();
    return true;
}

/// An operation on several names stands in the line of the one that is in the way.
// rule M7
bool attempt_loop::take_place(core::instant then, bool in_front)
{
    if (!type().several)
        return place_.enter(whom_->lock(), then, in_front);
    try {
        return place_.enter(std::make_shared<lock_state>(lock().plan, &key_->one(awaited_)), then, in_front);
    } catch (std::bad_alloc const&) {
        return false;
    }
}

void attempt_loop::claim()
{
    auto handed = place_.inherit();
    handed.which = awaited_;
    if (handed.passed && !type().slotted)
        of_name().passing().inherited(*handed.passed + runtime_.round_trip(), runtime_.loop().now());
    attempt_.claim(whom_->lock(), handed);
}

/// And gives back what may have been handed over meanwhile.
void attempt_loop::leave_line()
{
    place_.leave();
}

void attempt_loop::on_held(unsigned node, kind::sighting const& seen)
{
    offered_turn_ = false; // somebody took it
    note_rivals();
    whom_->told_of_holder();
    auto of_this_name = seen;
    of_this_name.which = awaited_;
    key_->note_holder(node, nodes().size(), of_this_name);
}

void attempt_loop::on_placed()
{
    tell_place();
    on_moved();
}

/// When it is known, and when it is the first.
void attempt_loop::tell_place()
{
    bool const news = !told_ || (place_.before() == 0 && *told_ != 0);
    if (!news)
        return;
    told_ = place_.before();
    whom_->tell_waiting(place_.before(), true);
}

void attempt_loop::on_moved()
{
    if (phase_ != phase::in_line)
        return;
    if (told_)
        tell_place();
    core::instant due = place_.due();
    if (auto const vain = vain_at(); vain && core::sooner(*vain, due, runtime_.loop().now()))
        due = *vain;
    runtime_.loop().schedule_finely(*this, due);
}

/// Its time has come: the line is asked again, or the nodes, if a majority of them has been gone for too long.
void attempt_loop::stand_on()
{
    auto const vain = vain_at();
    if (!vain || !core::reached(*vain, runtime_.loop().now()))
        return place_.on_time();
    leave_line();
    connect_or_vote();
}

/// Who is called has no use for it without a majority. A quarantine ends by itself.
// rule Q15
void attempt_loop::watch_majority()
{
    if (nodes().has_majority(lock()) || nodes().majority_at(lock()))
        outage_.end();
    else
        outage_.begin(runtime_.loop().now());
    on_moved();
}

std::optional<core::instant> attempt_loop::vain_at() const
{
    auto const since = outage_.since(whom_->started());
    if (!since || whom_->limited())
        return {};
    return *since + lock().plan->options.retry.outage_patience;
}

void attempt_loop::on_other_line()
{
    told_.reset();
    on_moved();
}

void attempt_loop::on_called()
{
    if (phase_ == phase::in_line)
        connect_or_vote();
}

// rule Q13
void attempt_loop::on_doubt(unsigned node)
{
    free_ = {};
    for (unsigned i = 0; i != nodes().size() && phase_ == phase::in_line; ++i)
        if (i != node)
            peek(i);
}

/// There is a majority of them: those who wait for the one node's key would wait for nothing.
void attempt_loop::found_free(unsigned node)
{
    free_.insert(node);
    if (free_.size() < core::majority(nodes().size()))
        return;
    leave_line();
    connect_or_vote();
}

/// Those who do not stand in line vote; whom that refuses waits by turns.
// rule Q15
void attempt_loop::on_no_line()
{
    if (phase_ != phase::in_line)
        return;
    barred_ = true;
    offered_turn_ = false;
    connect_or_vote();
}

} // namespace redlock::detail
