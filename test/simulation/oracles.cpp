// SPDX-License-Identifier: BSL-1.0
#include "core/fencing.hpp"
#include "core/tally.hpp"
#include "redis/command.hpp"
#include "simulation/actor.hpp"

#include <algorithm>
#include <string>

// The invariants.
namespace redlock::simulation {

namespace {

/// Between the end of a lease, or of an operation's time, and its report: the library's clock ticks in milliseconds.
constexpr duration promptness = 20ms;
constexpr duration check_interval = 5ms;

/// Until the last slow, late or stopped process runs normally.
constexpr duration faults_are_over = 25s;
/// The last quarantines and pauses between connections are over.
constexpr duration late = 31s;
/// The message about a release, and a pause for other clients or, after votes that crossed, of up to 32 round trips
/// (W3) of at most 10 ms. A waiter that has missed the message asks again after 200 ms, or after a second.
constexpr duration longest_wake_up = 400ms;
/// Without messages about changes; and through TLS, where an idle connection is replaced if it has unread bytes.
constexpr duration longest_wake_up_by_asking = 4s;
/// The limit for clients whose votes cross for a while.
constexpr unsigned attempts_at_once = 30;
constexpr duration between_attempts = 20ms;
/// For permits, by one client (Q15): while it waits alone in the queue, and by operations that ask already.
constexpr unsigned most_overtakings = 16 + 15;
/// `handover.period`, on a clock that is as slow as C2 allows.
constexpr duration longest_row = 253ms + promptness;
/// Three round trips of at most 10 ms.
constexpr duration longest_hand_off = 30ms;

} // namespace

/// T2 and S16: tokens rise, and readers may have the same.
void schedule::granted(actor& whose, std::uint64_t ticket)
{
    ++seen_.leases;
    subject& what = whose.about;
    std::uint64_t const token = whose.held.fencing_token();
    note(whose.name + " holds " + what.name + ", token " + std::to_string(token));
    check_order(whose, ticket);
    check_row(whose);
    check_bound(whose);
    for (subject* const each : whose.all_about) {
        each->changes(time_.now());
        each->free_since.reset(); // it may have come and gone between two looks
    }
    takes_permits(whose.how) ? check_tokens_of_slots(whose) : check_token(whose);
}

/// Tokens of each slot rise.
// rule P5
void schedule::check_tokens_of_slots(actor const& whose)
{
    std::uint64_t const token = whose.held.fencing_token();
    for (auto const number : whose.held.permits()) {
        auto& slot = whose.about.slots[number];
        if (token != 0 && token <= slot.highest_token)
            flaw(whose.name + "'s token " + std::to_string(token) + " is not above " +
                 std::to_string(slot.highest_token) + " of slot " + std::to_string(number));
        slot.highest_token = token;
    }
}

void schedule::check_token(actor const& whose)
{
    for (subject* const each : whose.all_about)
        check_token(whose, *each);
}

// rules T2 and S16
void schedule::check_token(actor const& whose, subject& what)
{
    std::uint64_t const token = whose.held.fencing_token();
    if (token == 0)
        return;
    bool const reads = whose.held.shared();
    bool const is_readers = core::hand_offs_of(token) == core::readers_hand_off;
    if (is_readers != reads && whose.how != manner::fenced && !takes_several(whose.how))
        flaw(whose.name + "'s token " + std::to_string(token) + " has the place of another");
    auto const before = reads ? what.highest_of_writers : what.highest_token;
    if (token <= before)
        flaw(whose.name + "'s token " + std::to_string(token) + " is not above " + std::to_string(before));
    what.granted_by_all = true;
    what.highest_token = std::max(what.highest_token, token);
    if (!reads)
        what.highest_of_writers = std::max(what.highest_of_writers, token);
}

/// W1: the waiters of one client are served in their order. A waiter that takes several names one after the other may
/// lose one of them, and comes last again (M8). Requests for permits are asked in their order, several at a time (Q15).
// rule W1
void schedule::check_order(actor const& whose, std::uint64_t ticket)
{
    if (changes_nodes_) // programs with the former nodes and with the present ones use different queues
        return;
    for (auto const& other : whose.home.actors)
        if (&other->about == &whose.about && !takes_several(other->how) && other->ticket &&
            *other->ticket < ticket &&
            ++other->overtaken >
                (takes_permits(whose.how) && takes_permits(other->how) ? most_overtakings : 0))
            flaw(whose.name + " was served before " + other->name + ", who had come earlier");
}

/// W5: other clients can get the lock. A queued client opens windows only for unqueued clients that it has met (Q15),
/// and programs that call servers by different names use different queues.
// rule W5
void schedule::check_row(actor const& whose)
{
    if (whose.options.fair || whose.about.shared || whose.about.several || takes_permits(whose.how)) {
        whose.about.leases = {};
        return;
    }
    duration const length = whose.about.leases.granted(whose.home.host, time_.now());
    bool const began_quietly = time_.now() - length > faults_are_over;
    if (began_quietly && length > longest_row)
        flaw(whose.home.name() + " has kept " + whose.about.name + " to itself for " +
             std::to_string(length / 1ms) + " ms");
}

unsigned schedule::rivals_of(actor const& whose) const
{
    unsigned found = 0;
    for (auto const& p : programs_)
        for (auto const& a : p->actors)
            found += a.get() != &whose && &a->about == &whose.about && (a->ticket || a->held.valid()) ? 1 : 0;
    return found;
}

/// How long a position waits ("The queue"), where nothing bad happens: each of those before it has a lease or is of a phase of
/// readers, and some that have no position come between. Behind one of its own program that has none it has none either.
void schedule::check_bound(actor const& whose)
{
    auto const fair = [](auto const& a) { return a->options.fair; };
    if (!bounded_ || stage_ != stage::quiet || whose.came < std::max(late, one_queue_from_) ||
        !std::ranges::all_of(whose.home.actors, fair))
        return;
    duration const bound = (2 + whose.rivals) * (longest_row + longest_hand_off) + longest_wake_up;
    if (duration const waited = time_.now() - could_vote_since(whose); waited > bound)
        flaw(whose.name + " has waited for " + std::to_string(waited / 1ms) + " ms behind " +
             std::to_string(whose.rivals) + " others");
}

/// A8: no client asks without a pause while nothing changes.
// rules A8 and W3
void schedule::check_attempt(unsigned host, std::string_view lock)
{
    if (!quiet() || time_.now() < late)
        return;
    auto const asked_for = std::ranges::find(subjects_, lock, &subject::name);
    if (asked_for == subjects_.end() || asked_for->several)
        return;
    subject& what = *asked_for;
    if (++what.vain[host] > attempts_at_once + (time_.now() - what.changed) / between_attempts)
        flaw("program " + std::to_string(host) + " asks for " + what.name + " without pause");
}

/// Each writer writes one more than it has read. So a write that did not know the one before is noticed.
void schedule::written(actor const& by, subject& what, std::uint64_t token, std::uint64_t value)
{
    if (!what.counter.write(token, value))
        return came_late(by, token);
    ++seen_.writes;
    note(by.name + " writes " + std::to_string(value) + " with token " + std::to_string(token));
    if (++what.counted != value)
        flaw(by.name + " wrote over what a holder between its reading and its writing had written");
}

void schedule::came_late(actor const& by, std::uint64_t token)
{
    ++seen_.late;
    note(by.name + " comes too late with token " + std::to_string(token));
}

/// Only what a program does makes a lease valid.
void schedule::check(bool ran)
{
    if (ran) {
        check_exclusion();
        (void)in_office();
    }
    if (time_.now() - checked_ < check_interval)
        return;
    checked_ = time_.now();
    for (auto const* some : {&programs_, &leaving_})
        for (auto const& p : *some)
            for (auto const& a : p->actors) {
                check_told(*p, *a);
                check_length(*a);
                check_operations(*p, *a);
            }
    if (quiet() && time_.now() > late) {
        look_for_majorities();
        check_wake_ups();
        check_news();
    }
}

/// No two leases are valid at once, unless both are readers'.
// rule T1
void schedule::check_exclusion()
{
    for (subject& s : subjects_) {
        s.valid = nullptr;
        for (auto& [number, slot] : s.slots)
            slot.valid = nullptr;
    }
    for (auto const* some :
         {&programs_, &gone_}) // a killed program's last commands may still be on their way
        for (auto const& p : *some)
            for (auto const& a : p->actors) {
                if (!a->held.valid())
                    continue;
                for (subject* const each : a->all_about) {
                    if (actor const* const other = in_the_way(*a, *each))
                        flaw("both " + other->name + " and " + a->name + " hold " + each->name);
                    if (!takes_permits(a->how))
                        each->valid = a.get();
                }
                if (takes_permits(a->how))
                    check_slots(*a);
            }
}

/// Readers hold the lock together, and so do holders of permits.
schedule::actor const* schedule::in_the_way(actor const& a, subject const& what)
{
    if (what.valid && !(what.valid->held.shared() && a.held.shared()))
        return what.valid;
    if (takes_permits(a.how))
        return nullptr;
    for (auto const& [number, slot] : what.slots)
        if (slot.valid)
            return slot.valid;
    return nullptr;
}

/// No two leases have one slot, so never more are valid than there are.
// rule P2
void schedule::check_slots(actor const& a)
{
    for (auto const number : a.held.permits()) {
        if (number >= a.about.permits)
            flaw(a.name + " has slot " + std::to_string(number) + " of " + std::to_string(a.about.permits));
        actor const*& owner = a.about.slots[number].valid;
        if (owner)
            flaw("both " + owner->name + " and " + a.name + " have slot " + std::to_string(number) + " of " +
                 a.about.name);
        owner = &a;
    }
}

/// The holder of a lease that is over hears of it as soon as its thread runs. A suspect lease that is tolerated may
/// come back.
void schedule::check_told(program const& p, actor& a)
{
    bool const over = a.options.tolerate_suspect ? a.held.state() == lease_state::lost : !a.held.valid();
    if (a.held.empty() || a.told || !over || p.process->late_until() > time_.now()) {
        a.invalid_since.reset();
        return;
    }
    if (!a.invalid_since)
        a.invalid_since = time_.now();
    if (time_.now() - *a.invalid_since > promptness)
        flaw(a.name + " has not been told that its lease is over: it is " +
             std::string(to_string(a.held.state())));
}

/// H7, on a clock that is as slow as C2 allows.
void schedule::check_length(actor const& a)
{
    if (a.options.max_hold && a.held.valid() &&
        time_.now() - a.held_since > duration{*a.options.max_hold} * 102 / 100)
        flaw(a.name + " holds " + a.about.name + " for longer than its max_hold");
}

void schedule::check_operations(program const& p, actor& a)
{
    for (auto& [number, one] : a.under_way) {
        if (auto const until = p.process->late_until(); until > time_.now())
            one.until = std::max(one.until, until + one.after_pause);
        if (time_.now() > one.until + promptness)
            flaw(a.name + "'s " + one.what + " has not ended");
    }
}

/// A client that meets its nodes late, for the first time on this list of them, waits for their quarantines (N4, N9).
void schedule::look_for_majorities()
{
    for (auto const& p : programs_)
        if (p->locks && !has_majority(*p))
            p->had_no_majority = time_.now();
}

duration schedule::could_vote_since(actor const& a)
{
    return std::max(a.came, a.home.had_no_majority);
}

void schedule::check_wake_ups()
{
    for (subject& s : subjects_)
        check_wake_up(s);
}

/// W2: a waiter gets a free lock, unless it is behind one that waits for another name (M6), or one of two nodes has
/// just been added to the list: both have to vote, and the new one does not yet (F6).
// rule W2
void schedule::check_wake_up(subject& s)
{
    if (s.several || net_->size() == 2)
        return;
    bool taken = std::ranges::any_of(programs_, [&](auto const& p) {
        return std::ranges::any_of(p->actors,
                                   [&](auto const& a) { return &a->about == &s && a->held.valid(); });
    });
    for (std::size_t n = 0; n != net_->size(); ++n)
        taken = taken || is_there(n, s.name);
    if (taken)
        return s.free_since.reset();
    if (!s.free_since)
        s.free_since = time_.now();
    duration const longest = polls_ || enciphered_ ? longest_wake_up_by_asking : longest_wake_up;
    if (time_.now() - *s.free_since > longest && is_wanted_since(s, time_.now() - longest))
        flaw(s.name + " is free, and its waiter does not get it");
}

bool schedule::is_wanted_since(subject const& s, duration since) const
{
    return std::ranges::any_of(programs_, [&](auto const& p) {
        return std::ranges::any_of(p->actors, [&](auto const& a) {
            return &a->about == &s && a->ticket && could_vote_since(*a) < since;
        });
    });
}

bool schedule::has_majority(program const& p)
{
    auto const nodes = p.locks->node_table();
    auto const ready = std::ranges::count(nodes, node_state::ready, &node_status::state);
    return static_cast<unsigned>(ready) >= core::majority(static_cast<unsigned>(nodes.size()));
}

bool schedule::served_all() const
{
    return std::ranges::all_of(programs_, [](auto const& p) {
        return std::ranges::all_of(p->actors, [](auto const& a) { return a->served; });
    });
}

// rule T3
void schedule::check_progress()
{
    for (auto const& p : programs_)
        for (auto const& a : p->actors)
            if (!a->served)
                flaw(a->name + " has not had the lock since nothing bad happens");
    if (elects_)
        check_elections();
}

/// A client that is gone leaves nothing behind.
void schedule::check_forgotten(program const& p)
{
    for (auto const& a : p.actors)
        for (auto const& [number, one] : a->under_way)
            flaw(a->name + "'s " + one.what + " has not ended with its client");
    if (!p.process->done())
        flaw(p.name() + " is not done, although it has ended its client");
    if (!p.process->has_forgotten_clients())
        flaw("something of " + p.name() + "'s client is left");
}

/// A server that is down has no keys for clients.
bool schedule::is_there(std::size_t node, std::string const& key) const
{
    world::node& its = net_->at(node);
    return its.up && its.redis.keys().shows(key, its.wall_us(time_.now()) / 1000);
}

void schedule::check_keys()
{
    for (std::size_t n = 0; n != net_->size(); ++n) {
        for (subject const& s : subjects_) {
            if (!is_there(n, s.name))
                continue;
            auto const& key = net_->at(n).redis.keys().all().at(s.name);
            auto const abandoned = [&](auto const& one) { return s.abandoned.contains(one.name); };
            auto const readers = key.members.range(0, -1);
            bool const by_readers = !readers.empty() && std::ranges::all_of(readers, abandoned);
            bool const by_permits =
                !key.hash.empty() && std::ranges::all_of(key.hash, [&](auto const& permit) {
                    return permit.first == "next" ||
                           s.abandoned.contains(permit.second.substr(0, redis::nonce_length));
                });
            if (!by_readers && !by_permits && !s.abandoned.contains(key.text))
                flaw("a key of " + s.name + " is left on " + name_of(n));
        }
        for (auto const* key : {"election", "election:redlock-leader"})
            if (is_there(n, key))
                flaw(std::string(key) + " is left on " + name_of(n));
    }
}

} // namespace redlock::simulation
