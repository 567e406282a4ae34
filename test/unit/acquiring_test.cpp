// SPDX-License-Identifier: BSL-1.0
#include "core/acquiring.hpp"
#include "model/search.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::core;
using namespace redlock;

namespace {

using phase = acquiring::phase;
using step = acquiring::step;

/// An acquirer, and the facts around it.
struct world {
    acquiring state;
    std::uint8_t waiters = 0;
    std::uint8_t delivered = 0;
    bool timer = false;
    bool task = false;
    bool attempt = false;     ///< is open
    bool votes = false;       ///< were sent, and are nobody's yet
    bool held_up = false;     ///< waits at the limit
    bool under_way = false;   ///< counts at the limit
    bool pause = false;       ///< has begun
    bool position = false;    ///< is held
    bool called = false;      ///< the lock was handed to the position
    bool unanswered = false;  ///< something that was sent
    bool overlapping = false; ///< an attempt began before the one before it was over
    bool restless = false;    ///< an event had an effect on an acquirer that serves nobody
    std::uint8_t padding = 0;
};
static_assert(sizeof(world) == 16, "the search compares states byte by byte");

/// Does what engine/acquirer.cpp does. Where more than one thing may happen, the next bit of the choices says which.
struct acquirer {
    world& w;
    unsigned choices;
    unsigned made = 0; ///< choices
    unsigned gone = 0; ///< nodes that were found to be
    unsigned attempts = 0;

    bool may() { return (choices >> made++ & 1) != 0; }

    step settle(acquiring::answer a)
    {
        phase const before = w.state.at;
        if (a.takes_back)
            take_back();
        if (a.ends_pause)
            end_pause();
        if (w.state.at != before)
            return step::nothing;
        w.state.at = a.next;
        if (before != a.next && before == phase::voting)
            w.under_way = false;
        if (before != a.next && before == phase::held_up)
            w.held_up = false;
        return a.then;
    }
    void go(acquiring::answer a)
    {
        switch (settle(a)) {
        case step::connect: return connect();
        case step::enter: return enter();
        case step::pause: return begin_pause(false);
        case step::watch: return watch();
        case step::reschedule:
        case step::retry:
        case step::back_off: w.timer = true; return;
        case step::end_of_pause: return w.position ? watch() : hear(pause_step::vote);
        case step::finish: return finish();
        default: return;
        }
    }
    void start()
    {
        w.waiters = 1;
        w.delivered = 0;
        may() ? connect() : begin_pause(true);
    }
    void leave()
    {
        bool const pauses = w.state.at == phase::pausing || w.called;
        if (--w.waiters == 0)
            return go(w.state.no_waiter());
        bool const fits = w.state.has_votes() || pauses ? may() : true;
        go(w.state.next_waiter(fits));
    }
    /// A command that is sent may show that a node is gone, which is an event before the call returns.
    void may_find_node_gone()
    {
        if (gone != 2 && may()) {
            ++gone;
            nodes_change();
        }
    }
    void expire()
    {
        w.timer = false;
        go(w.state.time_is_up(may(), may()));
    }
    void nodes_change() { go(w.state.nodes_changed(may(), may())); }
    void connect()
    {
        auto const before = std::pair(w.state.at, attempts);
        may_find_node_gone();
        if (std::pair(w.state.at, attempts) != before)
            return;
        if (settle(w.state.connected(may())) == step::enter)
            return enter();
        w.timer = true;
    }
    void enter()
    {
        w.timer = false;
        w.held_up = !may();
        if (w.held_up)
            return;
        (void)settle(w.state.admitted());
        w.under_way = true;
        if (!may()) // there is no memory
            return fail_waiter();
        w.overlapping |= w.attempt || w.votes;
        w.attempt = w.votes = true;
        ++attempts;
        if (w.called)
            w.position = w.called = w.pause = false;
        if (gone != 0 && may()) // no node can be asked
            lose();
    }
    void fail_waiter()
    {
        end_pause();
        --w.waiters;
        back_off_or_finish(w.waiters != 0);
    }
    void back_off_or_finish(bool wanted)
    {
        settle(w.state.lost(wanted, false)) == step::back_off ? void(w.timer = true) : finish();
    }
    void win()
    {
        w.attempt = false;
        w.task = true;
        (void)settle(w.state.won());
    }
    void run()
    {
        w.task = false;
        if (w.state.at != phase::won)
            return;
        if (may())
            return lose(); // too late
        w.votes = false;
        ++w.delivered;
        --w.waiters;
        finish();
    }
    void lose()
    {
        w.attempt = false;
        while (w.waiters != 0 && may())
            --w.waiters; // its last attempt
        take_back();
        bool const wanted = w.waiters != 0 && may();
        if (wanted && may())
            return settle(w.state.lost(wanted, true)) == step::pause ? begin_pause(true, true) : finish();
        back_off_or_finish(wanted);
    }
    void take_back()
    {
        w.attempt = w.votes = false;
        may_find_node_gone();
    }
    void begin_pause(bool queued, bool refused = false)
    {
        may_find_node_gone();
        w.position = queued && may();
        bool const open = w.position || refused || may();
        w.pause = open;
        if (settle(w.state.paused(open)) == step::connect)
            return connect();
        w.timer = true;
    }
    void watch()
    {
        w.timer = true;
        if (w.position && may())
            close();
    }
    void hear(pause_step what) { go(w.state.pause_says(what)); }
    void close()
    {
        if (w.state.at == phase::pausing)
            w.pause = w.position = false;
        hear(pause_step::closed);
    }
    void call()
    {
        w.called = true;
        hear(pause_step::claim);
    }
    void end_pause()
    {
        w.pause = w.position = w.called = false;
        may_find_node_gone();
    }
    void finish()
    {
        (void)settle({step::nothing, phase::draining});
        w.timer = false;
        end_pause();
        w.waiters = 0;
        w.unanswered = may();
        drained();
    }
    void all_is_answered()
    {
        w.unanswered = false;
        drained();
    }
    void drained()
    {
        if (w.state.at == phase::draining && !w.unanswered)
            w.state.at = phase::idle;
    }
};

struct event {
    char const* name;
    bool (*can_happen)(world const&);
    void (*happens)(acquirer&);
};
event const events[] = {
    {"a waiter comes", [](world const& w) { return w.state.at == phase::idle; },
     [](acquirer& a) { a.start(); }},
    {"everything is answered", [](world const& w) { return w.unanswered; },
     [](acquirer& a) { a.all_is_answered(); }},
    {"a second waiter comes", [](world const& w) { return w.waiters == 1; },
     [](acquirer& a) { ++a.w.waiters; }},
    {"the second waiter leaves", [](world const& w) { return w.waiters == 2; },
     [](acquirer& a) { --a.w.waiters; }},
    {"the first waiter leaves", [](world const& w) { return w.waiters != 0; },
     [](acquirer& a) { a.leave(); }},
    {"the time is up", [](world const& w) { return w.timer; }, [](acquirer& a) { a.expire(); }},
    {"nodes change", [](world const&) { return true; }, [](acquirer& a) { a.nodes_change(); }},
    {"there is room", [](world const& w) { return w.held_up; }, [](acquirer& a) { a.connect(); }},
    {"a majority grants", [](world const& w) { return w.attempt; }, [](acquirer& a) { a.win(); }},
    {"the attempt is lost", [](world const& w) { return w.attempt; }, [](acquirer& a) { a.lose(); }},
    {"the task runs", [](world const& w) { return w.task; }, [](acquirer& a) { a.run(); }},
    {"the pause says wait", [](world const&) { return true; }, [](acquirer& a) { a.hear(pause_step::wait); }},
    {"the pause says vote", [](world const&) { return true; }, [](acquirer& a) { a.hear(pause_step::vote); }},
    {"the pause is closed", [](world const& w) { return w.state.at != phase::pausing || w.position; },
     [](acquirer& a) { a.close(); }},
    {"the position is called", [](world const& w) { return w.position && !w.called; },
     [](acquirer& a) { a.call(); }},
};

bool rests(world const& w)
{
    return w.state.at == phase::idle || w.state.at == phase::draining;
}

/// The world as `model::breadth_first` searches it.
struct acquiring_steps {
    struct scope {
        std::uint64_t most_states;
    };
    using world = ::world;
    using action = std::uint32_t; ///< the event, and 24 choices

    explicit acquiring_steps(scope const&) {}
    static world first() { return {}; }
    static std::vector<action> situation() { return {}; }
    static void clear_padding(world&) {}
    static std::string tell(world const&, action a, world const& after)
    {
        return events[a >> 24].name + (", in phase " + std::to_string(static_cast<unsigned>(after.state.at)));
    }

    /// Every event, with every sequence of choices that it asks for.
    static void possible(world const& w, std::vector<action>& out)
    {
        for (action each = 0; each != std::size(events); ++each) {
            action choices = 0;
            for (bool more = events[each].can_happen(w); more; more = choices != 0) {
                out.push_back(each << 24 | choices);
                world after = w;
                acquirer one{after, choices};
                events[each].happens(one);
                BOOST_REQUIRE_MESSAGE(one.made <= 24,
                                      events[each].name << ": one thing follows another without end");
                unsigned last = one.made;
                for (; last != 0 && (choices >> (last - 1) & 1) != 0; --last)
                    choices &= ~(1U << (last - 1));
                if (last != 0)
                    choices |= 1U << (last - 1);
            }
        }
    }

    static void take(world& w, action a)
    {
        world still = w;
        acquirer one{w, a & 0xffffff};
        events[a >> 24].happens(one);
        still.task = w.task;
        using bytes = std::array<char, sizeof w>;
        w.restless = a >> 24 > 1 && rests(still) && std::bit_cast<bytes>(w) != std::bit_cast<bytes>(still);
    }

    static char const* flaw(world const& w)
    {
        phase const at = w.state.at;
        if (w.overlapping || w.attempt != (at == phase::voting))
            return "an attempt is open that should not be, or the other way round";
        if (w.votes != w.state.has_votes())
            return "votes are neither taken back nor delivered";
        if (w.called && at != phase::connecting && at != phase::held_up)
            return "a lock that was handed over is neither claimed nor given up";
        if (w.pause != (at == phase::pausing || w.called) || w.position > w.pause)
            return "a pause or its position is forgotten";
        if (w.under_way != (at == phase::voting) || w.held_up != (at == phase::held_up))
            return "the place at the limit is wrong";
        if (w.delivered > 1)
            return "a lock is delivered twice";
        if (rests(w) != (w.waiters == 0) || (at == phase::draining && !w.unanswered))
            return "an acquirer serves nobody, or somebody has no acquirer";
        if (!rests(w) && !w.timer && !w.attempt && !w.held_up && (!w.task || at != phase::won))
            return "nothing wakes the acquirer";
        if (w.restless)
            return "something happens that is over";
        return nullptr;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(acquirers)

BOOST_AUTO_TEST_CASE(no_order_of_events_breaks_a_promise)
{
    auto const found = model::breadth_first<acquiring_steps>({.most_states = 100'000}).run();
    BOOST_TEST(found.flaw == nullptr, found.trace);
    BOOST_TEST(found.complete);
    BOOST_TEST(found.states >= 40U);
    BOOST_TEST_MESSAGE(found.states << " states, " << found.transitions << " transitions");
}

/// An operation with a time limit has no patience that could end, and keeps its position.
// rule Q15
BOOST_AUTO_TEST_CASE(pause_goes_on_until_it_or_its_waiters_patience_is_over)
{
    acquiring pausing;
    pausing.at = acquiring::phase::pausing;
    BOOST_TEST((pausing.time_is_up(false, false).then == acquiring::step::reschedule));
    BOOST_TEST((pausing.time_is_up(false, true).then == acquiring::step::connect));
    BOOST_TEST((pausing.time_is_up(true, false).then == acquiring::step::end_of_pause));
}

BOOST_AUTO_TEST_SUITE_END()
