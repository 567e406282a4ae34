// SPDX-License-Identifier: BSL-1.0
#include "core/waiting.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::core {

namespace {

/// A rival who was first has asked the others by then, and keys that were set together are gone together.
constexpr duration settling_time = std::chrono::milliseconds{2};
/// Of the pause after attempts that crossed, in round trips.
constexpr int longest_dodge = 32;

} // namespace

void waiting::start()
{
    listening_ = peeking_ = outdated_ = peek_ = peek_owner_ = {};
    collisions_ = 0;
    knows_ = peeks_all_ = yields_ = false;
}

void waiting::await_another()
{
    listening_ = {};
    knows_ = false;
}

void waiting::meet(unsigned nodes, unsigned first, node_set refusing)
{
    knows_ = true;
    known_.start(nodes, first);
    for (unsigned node = 0; node != nodes; ++node)
        if (refusing.contains(node))
            known_.refused(node);
}

void waiting::attempt_began()
{
    yields_ = false;
    outdated_ = peek_ = peek_owner_ = {};
    listening_.erase(std::exchange(peeking_, {})); // their answers will not be believed: they are asked again
}

void waiting::refused(unsigned node)
{
    known_.refused(node);
}

void waiting::attempt_lost(instant began)
{
    known_.lost(began - settling_time);
}

void waiting::offer_turn(instant until, bool rivals)
{
    yields_ = rivals;
    not_before_ = until;
}

void waiting::wait(instant now, pace const& how, unsigned refusals, chances const& chance)
{
    listening_.erase(std::exchange(outdated_, {}));
    duration const first = std::max(how.min_delay, 2 * how.round_trip);
    poll_at_ = now + full_jitter(refusals, first, how.max_delay, chance.poll);
    try_anyway_at_ = now + how.max_delay;
    auto const rendezvous_node = known_.rendezvous_node();
    if (rendezvous_node && (yields_ || known_.taken(*rendezvous_node)) &&
        !listening_.contains(*rendezvous_node))
        peek(*rendezvous_node, true);
}

void waiting::dodge(instant now, pace const& how, bool crossed, chances const& chance)
{
    collisions_ = crossed ? collisions_ + 1 : 0;
    not_before_ = now;
    if (crossed)
        not_before_ =
            now + full_jitter(collisions_, 2 * how.round_trip, longest_dodge * how.round_trip, chance.dodge);
    peek_all_at_ = now + settling_time;
    peeks_all_ = true;
}

void waiting::turn_taken(instant now)
{
    yields_ = false;
    not_before_ = now;
}

void waiting::peeked(unsigned node, bool tracks)
{
    if (tracks)
        listening_.insert(node);
    peeking_.insert(node);
}

void waiting::failed(unsigned node)
{
    listening_.erase(node);
    peeking_.erase(node);
}

bool waiting::changed(unsigned node)
{
    listening_.erase(node);
    if (!knows_)
        return false;
    bool const ends_a_row = node == known_.rendezvous_node() && known_.taken(node);
    known_.changed(node);
    return ends_a_row;
}

void waiting::somebody_came(unsigned node)
{
    known_.found_held(node);
    peek(node, true);
}

/// What was asked before is answered without knowing of the change; so it is asked again behind it, unless the next
/// vote does that.
void waiting::changed_here(node_set where, bool waits)
{
    listening_.erase(where);
    outdated_.insert(where);
    if (!knows_)
        return;
    for (unsigned node = 0; node != known_.size(); ++node)
        if (where.contains(node)) {
            known_.changed(node);
            if (waits)
                peek(node, false);
        }
}

void waiting::leave_alone_until(instant then, instant now)
{
    if (sooner(not_before_, then, now))
        not_before_ = then;
}

/// Both in one, so that no change goes unheard between them (rule W2): with tracking, the server that is asked for
/// the key tells when it changes.
void waiting::peek(unsigned node, bool at_owner)
{
    peek_.insert(node);
    if (at_owner)
        peek_owner_.insert(node);
}

/// On the others, too, so that what happens there is heard, and shown. Where a key has outlived what was expected of
/// it nothing has happened to be heard of: that is asked again, or nobody would know when to try next.
void waiting::peek_all()
{
    peeks_all_ = false;
    for (unsigned node = 0; node != known_.size(); ++node) {
        bool const taken = known_.taken(node);
        if (!listening_.contains(node) ||
            (taken && !known_.of(node).until && !peeking_.contains(node) && !peek_.contains(node)))
            peek(node, taken);
    }
}

/// Are we told when the lock is released?
bool waiting::hears(node_set tracking) const
{
    auto const first = known_.rendezvous_node();
    return first && tracking.contains(*first) && (listening_.contains(*first) || peek_.contains(*first));
}

instant waiting::next_vote(instant now, node_set tracking) const
{
    bool const told = hears(tracking);
    instant at = told ? try_anyway_at_ : poll_at_;
    if (known_.may_be_free())
        at = not_before_;
    else if (auto const free = known_.free_at(); free && (told || sooner(*free + settling_time, at, now)))
        at = *free + settling_time; // a little later more than a majority is free
    if (known_.lacks_votes() && sooner(try_anyway_at_, at, now))
        at = try_anyway_at_;
    return sooner(at, not_before_, now) ? not_before_ : at;
}

waiting::step waiting::decide(instant now, node_set tracking)
{
    step next{.at = next_vote(now, tracking)};
    if (reached(next.at, now)) {
        auto const first = known_.rendezvous_node();
        next.vote = true;
        next.in_turn = first && !(hears(tracking) && known_.taken(*first));
        return next;
    }
    if (peeks_all_ && reached(peek_all_at_, now))
        peek_all();
    if (peeks_all_ && sooner(peek_all_at_, next.at, now))
        next.at = peek_all_at_;
    next.roughly = yields_; // who takes that turn is heard of: its end need not be exact
    next.peek = std::exchange(peek_, {});
    next.peek_owner = std::exchange(peek_owner_, {});
    return next;
}

} // namespace redlock::core
