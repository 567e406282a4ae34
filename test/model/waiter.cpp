#include "model/waiter.hpp"

#include "model/rules.hpp"

#include <algorithm>
#include <utility>

namespace redlock::model {

namespace {

/// As in src/lock/contender_wait.cpp.
constexpr core::duration settling_time = std::chrono::milliseconds{2};

bool before(core::instant a, core::instant b)
{
    return core::remaining(a, b) < core::duration::zero();
}

} // namespace

core::duration waiting_terms::turn() const
{
    return std::max<core::duration>(3 * round_trip, std::chrono::milliseconds{2});
}

core::duration waiting_terms::patience() const
{
    return std::min(std::max<core::duration>(2 * round_trip, std::chrono::milliseconds{2}), node_timeout);
}

void waiter::open(waiting_terms const& t)
{
    *this = {};
    nodes_ = t.nodes;
    first_ = t.first;
}

std::optional<unsigned> waiter::attempt_begins()
{
    asked_ = refused_ = {};
    said_ = {};
    bool const meets = in_turn_ && applies(rule::contenders_meet);
    auto const first = meets ? known_.meeting_point() : std::nullopt;
    in_turn_ = first.has_value();
    if (first)
        asked_last_ = *first;
    return first;
}

std::optional<unsigned> waiter::pass_over(core::attempt const& attempt)
{
    if (applies(rule::silent_is_not_free))
        known_.votes(asked_last_, false);
    auto const another = known_.after(asked_last_);
    if (!another || attempt.has_answered(*another) || asked_.contains(*another))
        return std::nullopt;
    asked_last_ = *another;
    return another;
}

void waiter::refused(unsigned node, bool listens, std::optional<core::duration> left, core::instant now,
                     waiting_terms const& t)
{
    refused_.insert(node);
    if (listens)
        listening_.insert(node);
    if (!knows_)
        return;
    known_.refused(node);
    if (left)
        found(node, left, now, t);
}

void waiter::learn(core::node_set ready)
{
    if (!std::exchange(knows_, true)) {
        known_.start(nodes_, first_);
        for (unsigned n = 0; n != nodes_; ++n)
            if (refused_.contains(n))
                known_.refused(n);
    }
    disconnected(ready);
    for (unsigned n = 0; n != nodes_; ++n)
        known_.usable(n, ready.contains(n));
}

void waiter::ready_changed(core::node_set ready)
{
    learn(ready);
    looks_around_ = true;
}

void waiter::disconnected(core::node_set ready)
{
    for (unsigned n = 0; n != nodes_; ++n)
        if (!ready.contains(n) && applies(rule::word_ends_with_its_connection))
            listening_.erase(n);
}

core::node_set waiter::perhaps() const
{
    core::node_set executed = asked_;
    executed.erase(refused_);
    return executed;
}

void waiter::took_back()
{
    if (applies(rule::own_change_ends_the_word))
        listening_.erase(perhaps());
}

void waiter::wait(waiting_terms const& t, core::attempt const& attempt, core::node_set ready,
                  core::instant now, waiting_chance chance)
{
    ++refusals_;
    learn(ready);
    for (unsigned n = 0; n != nodes_; ++n)
        if (said_[n] != said::nothing)
            known_.votes(n, said_[n] == said::yes);
    known_.lost(attempt.sent() - settling_time);
    took_back();
    wait(t, ready, attempt.granted() != 0, now, chance);
}

void waiter::offer_turn(waiting_terms const& t, core::node_set ready, core::instant now,
                        waiting_chance chance)
{
    in_turn_ = true;
    not_before_ = now + t.turn();
    wait(t, ready, false, now, chance);
}

void waiter::wait(waiting_terms const& t, core::node_set ready, bool crossed, core::instant now,
                  waiting_chance chance)
{
    learn(ready);
    poll_at_ =
        now + core::full_jitter(refusals_, std::max(t.min_delay, 2 * t.round_trip), t.max_delay, chance.poll);
    try_anyway_at_ = now + t.max_delay;
    if (refused_.size() == 0)
        return;
    collisions_ = crossed ? collisions_ + 1 : 0;
    not_before_ =
        crossed ? now + core::full_jitter(collisions_, 2 * t.round_trip, t.longest_dodge(), chance.dodge)
                : now;
    look_around_at_ = now + settling_time;
    looks_around_ = true;
}

bool waiter::must_look_at_first() const
{
    auto const first = known_.meeting_point();
    return first && known_.taken(*first) && !listening_.contains(*first);
}

void waiter::found(unsigned node, std::optional<core::duration> left, core::instant now,
                   waiting_terms const& t)
{
    if (left)
        known_.found_held_until(node, now + std::min(*left, t.key_ttl));
    else if (applies(rule::the_answer_counts_too))
        known_.found_free(node);
}

bool waiter::ends_a_row(unsigned node) const
{
    return knows_ && node == known_.meeting_point() && known_.taken(node);
}

void waiter::let_others_first(core::instant now, core::duration courtesy)
{
    core::instant const then = now + (applies(rule::a_pause_ends) ? courtesy : std::chrono::minutes{10});
    if (before(not_before_, then) == applies(rule::a_pause_is_kept))
        not_before_ = then;
}

bool waiter::changed(unsigned node, core::instant now, core::duration courtesy)
{
    if (courtesy > core::duration::zero())
        let_others_first(now, courtesy);
    listening_.erase(node);
    if (knows_)
        known_.changed(node);
    return knows_;
}

bool waiter::hears() const
{
    auto const first = known_.meeting_point();
    return first && listening_.contains(*first);
}

core::instant waiter::next_try() const
{
    core::instant at = poll_at_;
    if (known_.may_be_free())
        at = not_before_;
    else if (auto const free = known_.free_at(); hears())
        at = free ? *free + settling_time : try_anyway_at_;
    if (known_.lacks_votes() && before(try_anyway_at_, at))
        at = try_anyway_at_;
    return before(at, not_before_) ? not_before_ : at;
}

waiter::decision waiter::plan(core::instant now)
{
    core::instant at = next_try();
    if (core::reached(at, now)) {
        auto const first = known_.meeting_point();
        in_turn_ = first && !(hears() && known_.taken(*first));
        return {.vote = true};
    }
    decision next;
    if (looks_around_ && core::reached(look_around_at_, now)) {
        looks_around_ = false;
        next.look_around = applies(rule::all_nodes_are_heard);
    }
    if (looks_around_ && before(look_around_at_, at))
        at = look_around_at_;
    if (applies(rule::a_timer_is_always_armed) || !hears())
        next.until = at;
    return next;
}

} // namespace redlock::model
