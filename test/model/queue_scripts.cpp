// SPDX-License-Identifier: BSL-1.0
#include "model/queue_scripts.hpp"

#include "core/validity.hpp"
#include "model/rules.hpp"

#include <chrono>

// Votes, claims, extensions and releases. The queue itself is in queue_serve.cpp.

namespace redlock::model {

namespace {

using entry = queue_world::entry;
constexpr std::uint8_t exclusive = queue_world::exclusive;
constexpr std::uint8_t reader = queue_world::reader;

constexpr bool is_permits(std::uint8_t what)
{
    return what > reader;
}

} // namespace

bool wants_permits(queue_scope const& s, unsigned a)
{
    return s.attempts[a] == 'P' || s.attempts[a] == 'B';
}

bool asks_as_reader(queue_scope const& s, unsigned a)
{
    return s.attempts[a] == 'R';
}

bool is_reader(queue_scope const& s, queue_world const& w, unsigned a)
{
    return asks_as_reader(s, a) || w.attempts[a].reads == queue_world::reads_now;
}

unsigned wanted_permits(queue_scope const& s, unsigned a)
{
    return s.attempts[a] == 'B' ? permit_count : 1;
}

std::uint8_t names_of(queue_scope const& s, unsigned a)
{
    unsigned const names = s.attempts[a] == 'a' ? 1 : s.attempts[a] == 'b' ? 2 : s.attempts[a] == 'S' ? 3 : 0;
    return static_cast<std::uint8_t>(names << queue_world::first_permit);
}

bool exclude_each_other(queue_scope const& s, queue_world const& w, unsigned a, unsigned b)
{
    if (names_of(s, a) != 0)
        return (names_of(s, a) & names_of(s, b)) != 0;
    if (is_reader(s, w, a) && is_reader(s, w, b))
        return false;
    bool const permits = wants_permits(s, a) && wants_permits(s, b);
    return !permits || (w.attempts[a].permits & w.attempts[b].permits) != 0;
}

std::uint8_t queue_scripts::after(queue_world const& w, int ticks) const
{
    return static_cast<std::uint8_t>(w.now + ticks);
}

int queue_scripts::key_life() const
{
    using tick = std::chrono::seconds;
    return static_cast<int>(core::key_ttl(tick{scope_.lease}, tick{scope_.slack}) / tick{1});
}

/// Returns the kinds of the entries on a node, and the permits that are taken.
std::uint8_t queue_scripts::holders(queue_world const& w, unsigned node) const
{
    std::uint8_t all = 0;
    for (auto const& b : w.attempts)
        all = static_cast<std::uint8_t>(all | b.at[node].has.what);
    return all;
}

/// Returns the first free permits from `first` on and round; zero if there are too few.
std::uint8_t queue_scripts::choose(queue_world const& w, unsigned a, unsigned node, unsigned first) const
{
    std::uint8_t const taken = holders(w, node);
    unsigned found = 0;
    unsigned wanted = wanted_permits(scope_, a);
    for (unsigned i = 0; i != permit_count && wanted != 0; ++i) {
        unsigned const bit = 1U << (queue_world::first_permit + (first + i) % permit_count);
        if ((taken & bit) != 0)
            continue;
        found |= bit;
        --wanted;
    }
    return static_cast<std::uint8_t>(wanted == 0 ? found : 0);
}

void queue_scripts::take(queue_world& w, unsigned a, unsigned node, std::uint8_t what, int ticks) const
{
    entry const mine{what, after(w, ticks)};
    w.attempts[a].at[node].has = mine;
    for (auto& b : w.attempts)
        if (what == reader && b.at[node].has.what == reader && !applies(rule::each_reader_has_its_own_end))
            b.at[node].has.end = mine.end;
}

/// Returns what a vote gets; zero if it is refused.
std::uint8_t queue_scripts::grantable(queue_world const& w, unsigned a, unsigned node, unsigned first) const
{
    std::uint8_t const there = applies(rule::vote_only_if_free) ? holders(w, node) : std::uint8_t{0};
    if (std::uint8_t const names = names_of(scope_, a); names != 0) {
        if (!applies(rule::node_counts_with_all_names))
            return static_cast<std::uint8_t>(names & ~there);
        return (names & there) == 0 ? names : std::uint8_t{0};
    }
    if (wants_permits(scope_, a))
        return there == 0 || is_permits(there) ? choose(w, a, node, first) : std::uint8_t{0};
    if (asks_as_reader(scope_, a))
        return there == 0 || there == reader ? reader : std::uint8_t{0};
    return there == 0 ? exclusive : std::uint8_t{0};
}

/// Readers and permits heed the queue. Positions of the dead go before they are refused.
queue_scripts::vote queue_scripts::vote_for(queue_world& w, unsigned a, unsigned node, unsigned first) const
{
    if (!votes(w, node))
        return vote::failed;
    if (asks_as_reader(scope_, a) || wants_permits(scope_, a)) {
        serve(w, node, {});
        if (positions(w, node) != 0)
            return vote::refused;
    }
    std::uint8_t const what = grantable(w, a, node, first);
    if (what == 0)
        return vote::refused;
    take(w, a, node, what, key_life());
    w.attempts[a].at[node].gave = what;
    return vote::granted;
}

/// Is everything in the way ours, or a previous owner's? A reader replaces no permits, and permits replace no reader.
bool queue_scripts::may_take(queue_world const& w, unsigned a, unsigned node, std::uint8_t what) const
{
    auto const& me = w.attempts[a];
    bool among_them = false;
    bool others = false;
    for (unsigned b = 0; b != most_attempts; ++b) {
        std::uint8_t const theirs = w.attempts[b].at[node].has.what;
        bool const beside = (what == reader && theirs == reader) ||
                            (is_permits(what) && is_permits(theirs) && (what & theirs) == 0);
        if (b == a || theirs == 0 || beside)
            continue;
        bool const of_other_kind =
            (what == reader && is_permits(theirs)) || (is_permits(what) && theirs == reader);
        bool const given_up = !of_other_kind && (b + 1 == me.previous_owner || b + 1 == me.second_owner);
        among_them = among_them || given_up;
        others = others || !given_up;
    }
    return !others || (among_them && !applies(rule::claim_compares_all_owners));
}

void queue_scripts::replace(queue_world& w, unsigned a, unsigned node, std::uint8_t what) const
{
    for (unsigned b = 0; b != most_attempts; ++b) {
        entry& theirs = w.attempts[b].at[node].has;
        if (b == a || (what == reader && theirs.what == reader))
            continue;
        if (is_permits(what) && is_permits(theirs.what))
            theirs.what = static_cast<std::uint8_t>(theirs.what & ~what);
        else
            theirs = {};
    }
    take(w, a, node, what, key_life());
}

queue_scripts::vote queue_scripts::claim(queue_world& w, unsigned a, unsigned node) const
{
    auto& me = w.attempts[a];
    if (!votes(w, node))
        return vote::failed;
    std::uint8_t const names = names_of(scope_, a);
    std::uint8_t const what = names != 0                  ? names
                              : wants_permits(scope_, a)  ? me.permits
                              : asks_as_reader(scope_, a) ? reader
                                                          : exclusive;
    if (!may_take(w, a, node, what) && applies(rule::claim_compares_owners))
        return vote::refused;
    replace(w, a, node, what);
    me.at[node].gave = what;
    return vote::granted;
}

/// Frees the other permits that the node gave to the same attempt, all of them if it refuses. They are nobody's.
queue_scripts::vote queue_scripts::exactly(queue_world& w, unsigned a, unsigned node) const
{
    auto& me = w.attempts[a];
    if (!votes(w, node))
        return vote::failed;
    bool const refused = !may_take(w, a, node, me.permits) && applies(rule::exact_vote_compares_owners);
    bool const surplus = (me.at[node].has.what & ~(refused ? 0 : me.permits)) != 0;
    if (refused)
        me.at[node].has = {};
    else
        replace(w, a, node, me.permits);
    me.at[node].gave = refused ? std::uint8_t{0} : me.permits;
    if (surplus)
        serve(w, node, applies(rule::surplus_is_nobodys) ? previous_owner{} : previous_owner{a});
    return refused ? vote::refused : vote::granted;
}

bool queue_scripts::extend(queue_world& w, unsigned a, unsigned node, bool downgrade) const
{
    entry& mine = w.attempts[a].at[node].has;
    std::uint8_t const there = holders(w, node);
    if (!mine.exists() && there <= reader && there != exclusive && is_reader(scope_, w, a) &&
        !applies(rule::extension_adds_no_reader))
        mine.what = reader;
    std::uint8_t const permits = w.attempts[a].permits;
    if (!mine.exists() || (mine.what & permits) != permits)
        return false;
    if (downgrade && mine.what == exclusive) {
        mine = {reader, after(w, key_life())};
        call_readers(w, node, applies(rule::downgrade_names_nobody) ? previous_owner{} : previous_owner{a});
        return true;
    }
    mine.end = after(w, key_life());
    return true;
}

void queue_scripts::give_back(queue_world& w, unsigned a, unsigned node, bool named) const
{
    auto& me = w.attempts[a];
    if (me.place != 0 && me.queue == node)
        leave_queue(w, a);
    bool const had = me.at[node].has.exists();
    me.at[node].has = {};
    serve(w, node, had && named ? previous_owner{a} : previous_owner{});
}

} // namespace redlock::model
