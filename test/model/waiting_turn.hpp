#pragma once

#include "model/rules.hpp"
#include "model/waiting_steps.hpp"

#include <algorithm>

namespace redlock::model {
namespace waiting_detail {

using world = waiting_world;
using doing = world::doing;
using flaw = world::flaw;
using act = waiting_action::kind;
using core_step = core::attempt::step;

inline constexpr unsigned nobody = 2;
inline constexpr std::uint8_t stranger = 3;
inline constexpr std::int32_t short_time =
    8'000; ///< the longest pause after attempts that crossed, and the settling
inline constexpr std::chrono::milliseconds time_left{500};
inline constexpr unsigned most_in_vain = 8;

template <class Queue>
void put(Queue& q, unsigned what, unsigned attempt)
{
    for (auto& place : q)
        if (place == 0) {
            place = static_cast<std::uint8_t>(what | attempt << 4U);
            return;
        }
}

template <class Queue>
std::uint8_t pop(Queue& q)
{
    std::uint8_t const first = q[0];
    std::copy(q.begin() + 1, q.end(), q.begin());
    q.back() = 0;
    return first;
}

inline core::instant at(std::int32_t micros)
{
    return {std::chrono::microseconds{micros}, std::chrono::microseconds{micros}};
}

} // namespace waiting_detail

using namespace waiting_detail;

/// One client's part of a step, from the state to the state.
struct waiting_steps::turn {
    turn(waiting_steps const& how, world& w, unsigned who, std::int32_t passed = 0)
        : steps(how), terms(how.terms_), all(w), me(w.clients[who]), c(who), now(at(passed)),
          wait(waiter::unpack(how.terms_, me.wait))
    {}
    ~turn()
    {
        if (me.now == doing::idle || me.now == doing::holding) {
            me.wait = {};
            me.armed = -1;
            me.answers = {};
            return;
        }
        if (me.now != doing::voting)
            me.answers = {};
        me.wait = wait.pack(terms, now);
    }
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;

    [[nodiscard]] core::node_set ready() const
    {
        core::node_set those;
        for (unsigned n = 0; n != terms.nodes; ++n)
            if (all.lines[c][n].up != 0)
                those.insert(n);
        return those;
    }

    /// From the answers so far: their order does not matter to it.
    [[nodiscard]] core::attempt attempt() const
    {
        core::attempt made(core::attempt::kind::plain, terms.nodes, {});
        for (unsigned n = 0; n != terms.nodes; ++n)
            if (me.answers[n] != 0)
                (void)made.voted(n, static_cast<core::vote>(me.answers[n] - 1));
        return made;
    }

    void send(unsigned n, asked what)
    {
        put(all.lines[c][n].requests, static_cast<unsigned>(what), me.attempt);
    }

    void come(bool in_turn)
    {
        wait.open(terms);
        if (!in_turn)
            return vote();
        me.now = doing::waiting;
        wait.offer_turn(terms, ready(), now, {.poll = ~0U, .dodge = ~0U});
        plan();
    }

    void vote()
    {
        me.now = doing::voting;
        me.armed = -1;
        me.attempt = (me.attempt + 1U) & 15U;
        me.answers = {};
        if (++me.vain > most_in_vain)
            all.broken = flaw::asked_without_pause;
        if (auto const first = wait.attempt_begins())
            ask_in_turn(*first);
        else
            ask_all();
    }

    void ask_in_turn(unsigned n)
    {
        if (ready().contains(n)) {
            wait.asked(n);
            return send(n, asked::vote);
        }
        auto const s = voted(n, core::vote::failed);
        s == core_step::pending ? pass_over() : follow(s);
    }

    void pass_over()
    {
        if (auto const next = wait.pass_over(attempt()))
            ask_in_turn(*next);
        else
            ask_all();
    }

    void ask_all()
    {
        wait.ask_all();
        auto verdict = core_step::pending;
        for (unsigned n = 0; n != terms.nodes; ++n) {
            if (wait.was_asked(n) || me.answers[n] != 0)
                continue;
            if (ready().contains(n)) {
                wait.asked(n);
                send(n, asked::vote);
            } else
                verdict = std::max(verdict, voted(n, core::vote::failed));
        }
        follow(verdict);
    }

    core_step voted(unsigned n, core::vote v)
    {
        wait.answered(n, v == core::vote::failed ? waiter::said::no : waiter::said::yes);
        auto before = attempt();
        if (me.answers[n] == 0)
            me.answers[n] = static_cast<std::uint8_t>(static_cast<unsigned>(v) + 1);
        return before.voted(n, v);
    }

    void follow(core_step s)
    {
        if (s == core_step::won)
            return win();
        if (s == core_step::lost)
            lose(attempt().contended());
    }

    void win()
    {
        me.now = doing::holding;
        --me.wishes;
        for (auto& any : all.clients)
            any.vain = 0;
    }

    void lose(bool contended)
    {
        core::attempt const lost = attempt();
        for (unsigned n = 0; n != terms.nodes; ++n)
            if (wait.perhaps().contains(n))
                release(n);
        if (!contended) {
            wait.took_back();
            me.now = doing::pausing;
            me.armed = 200'000;
            return;
        }
        me.now = doing::waiting;
        wait.wait(terms, lost, ready(), now, {.poll = ~0U, .dodge = ~0U});
        if (wait.must_look_at_first())
            look(*wait.meeting_point());
        plan();
    }

    void release(unsigned n)
    {
        if (all.lines[c][n].up != 0)
            send(n, asked::release);
        else
            all.lines[c][n].owes = 1;
    }

    void look(unsigned n)
    {
        if (!ready().contains(n))
            return;
        all.lines[c][n].tracks = 1;
        wait.looks(n);
        send(n, asked::look);
    }

    void plan()
    {
        auto const next = wait.plan(now);
        if (next.vote)
            return vote();
        if (next.look_around)
            for (unsigned n = 0; n != terms.nodes; ++n)
                if (!wait.listens(n))
                    look(n);
        me.armed =
            next.until
                ? static_cast<std::int32_t>(core::remaining(*next.until, now) / std::chrono::microseconds{1})
                : -1;
    }

    void timer()
    {
        if (core::elapsed({}, now) > core::duration::zero())
            me.vain = 0;
        if (me.now == doing::waiting)
            return plan();
        wait.ask_all();
        vote();
    }

    /// The first is silent, or time is up.
    void silence()
    {
        if (wait.in_turn() && applies(rule::silent_is_passed_over))
            return pass_over();
        core::attempt late = attempt();
        for (unsigned n = 0; n != terms.nodes; ++n)
            if (me.answers[n] == 0)
                wait.answered(n, waiter::said::no);
        (void)late.time_out();
        lose(late.contended());
    }

    void nodes_changed()
    {
        wait.disconnected(ready());
        if (!applies(rule::come_back_wakes))
            return;
        if (me.now == doing::pausing && ready().size() >= core::majority(terms.nodes))
            return vote();
        if (me.now != doing::waiting)
            return;
        wait.ready_changed(ready());
        plan();
    }

    /// \param courtesy what a client that was not left out pauses; how often others were first is any number
    void read(unsigned n, reply what, unsigned number, core::duration courtesy)
    {
        bool const current = number == me.attempt;
        switch (what) {
        case reply::word:
            if (!wait.ends_a_row(n))
                courtesy = {};
            if ((me.now == doing::waiting || me.now == doing::voting) && wait.changed(n, now, courtesy) &&
                me.now == doing::waiting && applies(rule::word_wakes))
                plan();
            return;
        case reply::held:
        case reply::gone:
            if (!current || me.now != doing::waiting)
                return;
            wait.found(n, what == reply::held ? std::optional<core::duration>(time_left) : std::nullopt, now,
                       terms);
            return plan();
        case reply::refused:
            if (current && me.now != doing::idle)
                wait.refused(n, false, std::nullopt, now, terms);
            break;
        default: break;
        }
        if (!current || me.now != doing::voting)
            return;
        bool const in_turn = wait.in_turn();
        auto const s = voted(n, what == reply::granted ? core::vote::granted : core::vote::denied);
        if (s != core_step::pending || !in_turn)
            return follow(s);
        if (what == reply::granted || !applies(rule::first_refusal_is_final))
            return ask_all();
        lose(true);
    }

    waiting_steps const& steps;
    waiting_terms const& terms;
    world& all;
    world::client& me;
    unsigned c;
    core::instant now;
    waiter wait;
};

} // namespace redlock::model
