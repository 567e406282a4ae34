// SPDX-License-Identifier: BSL-1.0
// Waiters in the queue are served in order, and in time, although some are stopped or killed, or leave (docs/protocol.md,
// rule Q19 and "How long a position waits").
#include "component/queue_fixture.hpp"
#include "kit/dice.hpp"

namespace redlock::test {

namespace {

constexpr duration longest_hold = 20ms;
/// Between two looks at what has happened.
constexpr duration step = 500us;
/// A hand-over, and the open window for unqueued clients (rule Q19).
constexpr duration a_turn = longest_hold + 7 * round_trip + 2 * a_tick + 2 * step;
/// For a holder that does not know of other clients yet (rules Q11 and W5).
constexpr duration longest_batch = 250ms + longest_hold;
constexpr duration longest_pause = 300ms;

/// A client that comes again as soon as it has had the lock.
struct visitor {
    explicit visitor(contender& its) : who(its) {}

    void come()
    {
        who.acquire();
        told_before = who.told->before.size();
        placed = {};
        disturbed = false;
    }
    /// Notes the bound for its wait, when it has a position.
    void look(duration now)
    {
        if (waits() && !placed && who.told->before.size() != told_before) {
            placed = now;
            until = now + longest_batch + static_cast<duration::rep>(who.told->before.back() + 1) * a_turn;
        }
    }
    [[nodiscard]] bool waits() const { return !who.ended; }
    [[nodiscard]] bool in_order() const { return placed && !disturbed; }
    /// It may be the next owner, or hold the lock and not know it yet.
    [[nodiscard]] bool may_hold() const
    {
        return who.holds() || !waits() || (placed && who.told->before.back() == 0);
    }

    contender& who;
    std::size_t told_before = 0;
    std::optional<duration> placed{}; ///< since when it has a position
    duration until{};                 ///< at the latest
    duration leaves_at{};
    bool disturbed = false;
};

struct visitors : queue_fixture {
    visitors(std::uint64_t seed, unsigned nodes) : queue_fixture(nodes), dice(seed)
    {
        options.ttl = 500ms;
        options.slack = 50ms;
    }

    void run(std::size_t size, duration length)
    {
        for (std::size_t i = 0; i != size; ++i) {
            some.emplace_back(add());
            some.back().come();
            pass(dice.between(1, 20) * 1ms);
        }
        pass(100ms);
        for (duration const end = time.now() + length; time.now() < end; pass(step)) {
            for (visitor& one : some)
                visit(one);
            if (dice.one_in(800))
                disturb(some[dice.below(some.size())]);
        }
        BOOST_TEST(served > static_cast<std::size_t>(length / a_turn / 4));
    }

private:
    void visit(visitor& one)
    {
        one.look(time.now());
        if (one.in_order() && one.waits() && time.now() > one.until)
            BOOST_FAIL("who stands in line since " << *one.placed / 1us << " is not served by "
                                                   << one.until / 1us);
        if (one.waits())
            return;
        if (*one.who.ended) // it left
            return one.come();
        if (one.leaves_at == duration{}) {
            check_order(one);
            ++served;
            one.leaves_at = time.now() + dice.between(0, longest_hold / 1us) * 1us;
        }
        if (time.now() < one.leaves_at)
            return;
        one.leaves_at = {};
        one.who.release();
        one.come();
    }
    /// A client that resumes after a pause may be late, and overtake waiters (rule Q16).
    void check_order(visitor const& served_now)
    {
        for (visitor const& one : some)
            if (one.waits() && one.in_order() && served_now.in_order() && *one.placed > all_run_from)
                BOOST_TEST((*one.placed + round_trip + step > *served_now.placed),
                           "who stands in line since " << *one.placed / 1us << " waits, who came at "
                                                       << *served_now.placed / 1us << " is served");
    }
    void others_wait_for(visitor const& one, duration more)
    {
        for (visitor& other : some)
            if (&other != &one)
                other.until += more;
    }
    void disturb(visitor& one)
    {
        bool const holds = one.may_hold();
        one.disturbed = true;
        if (dice.one_in(2)) {
            duration const length = dice.between(1, longest_pause / 1ms) * 1ms;
            one.who.process.pause_until(time.now() + length);
            all_run_from = std::max(all_run_from, time.now() + length + claim_window);
            return others_wait_for(one,
                                   holds ? length + 2 * claim_window + a_turn : 2 * claim_window + a_tick);
        }
        if (one.waits()) {
            one.who.stop.emit(asio::cancellation_type::terminal);
            others_wait_for(one, hand_over);
        }
    }

    static constexpr duration hand_over = 5 * round_trip;

    test::dice dice;
    std::deque<visitor> some;
    std::size_t served = 0;
    duration all_run_from{}; ///< for all that is known
};

} // namespace

BOOST_AUTO_TEST_SUITE(queue_bounds)

// rule T3
BOOST_AUTO_TEST_CASE(queued_waiters_are_served_in_order_and_in_time)
{
    for (std::uint64_t seed = 1; seed != 11; ++seed)
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            visitors its(seed, seed % 3 == 0 ? 1 : seed % 3 == 1 ? 3 : 5);
            its.run(2 + seed % 7, 2s);
        }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
