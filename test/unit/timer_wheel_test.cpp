// SPDX-License-Identifier: BSL-1.0
#include "core/timer_wheel.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

using namespace redlock::core;
using tick = timer_wheel::tick;

namespace {

constexpr tick horizon = tick{1} << 42;

struct bell final : timer {
    void expire() override { ++rung; }
    unsigned rung = 0;
};

/// Everything due at `now`, counted by expire() as the wheel's owner does.
std::size_t drain(timer_wheel& wheel, tick now)
{
    std::size_t count = 0;
    for (; timer* due = wheel.pop_due(now); ++count)
        due->expire();
    return count;
}

/// Near ticks and far ones alike, so that every level of the wheel is met.
tick any_distance()
{
    auto const bits = *rc::gen::inRange(0, 45);
    return *rc::gen::inRange<tick>(0, (tick{1} << bits) + 1);
}

/// The wheel, compared with a sorted list.
class pair_of_wheels {
public:
    void schedule(std::size_t i, tick due)
    {
        forget(i);
        wheel_.schedule(bells_[i], due);
        sorted_.emplace(std::clamp(due, now_, horizon - 1), &bells_[i]);
    }

    void cancel(std::size_t i)
    {
        forget(i);
        wheel_.cancel(bells_[i]);
    }
    void suspend(std::size_t i)
    {
        forget(i);
        wheel_.suspend(bells_[i]);
    }

    /// At every bell that rings, something else may be done with any bell, this one too.
    template <class Meanwhile>
    void advance(tick distance, Meanwhile meanwhile)
    {
        now_ += distance;
        while (timer* const rung = wheel_.pop_due(now_)) {
            auto const found = std::find_if(sorted_.begin(), sorted_.end(),
                                            [rung](auto const& entry) { return entry.second == rung; });
            RC_ASSERT(found != sorted_.end()); // neither cancelled nor rung before
            RC_ASSERT(found->first <= now_);   // never early
            sorted_.erase(found);
            RC_ASSERT(!rung->scheduled());
            meanwhile();
        }
        RC_ASSERT((sorted_.empty() || sorted_.begin()->first > now_)); // never missed
    }

    void check() const
    {
        auto const next = wheel_.next_due();
        RC_ASSERT(wheel_.empty() == sorted_.empty());
        RC_ASSERT(next.has_value() == !sorted_.empty());
        if (next) {
            RC_ASSERT(*next <= sorted_.begin()->first);
            RC_ASSERT(*next >= std::min(now_, horizon - 1)); // looking again at what has passed finds nothing
        }
        for (bell const& a : bells_)
            RC_ASSERT(a.scheduled() == std::any_of(sorted_.begin(), sorted_.end(),
                                                   [&a](auto const& entry) { return entry.second == &a; }));
    }

    [[nodiscard]] tick now() const { return now_; }
    static constexpr std::size_t count = 8;

private:
    void forget(std::size_t i)
    {
        std::erase_if(sorted_, [this, i](auto const& entry) { return entry.second == &bells_[i]; });
    }

    timer_wheel wheel_;
    std::array<bell, count> bells_;
    std::multimap<tick, timer*> sorted_;
    tick now_ = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(timing_wheel)

BOOST_AUTO_TEST_CASE(timer_expires_at_its_tick_and_not_before)
{
    // The edges of the levels, which hold 64 ticks, 64^2 ticks, and so on.
    for (tick due : {tick{0}, tick{1}, tick{63}, tick{64}, tick{65}, tick{4095}, tick{4096}, tick{262144},
                     (tick{1} << 36) - 1, tick{1} << 36, horizon - 2}) {
        for (tick start : {tick{0}, due / 2, due == 0 ? 0 : due - 1, due}) {
            BOOST_TEST_CONTEXT("scheduled at " << start << " for " << due)
            {
                timer_wheel wheel;
                bell a;
                BOOST_TEST(drain(wheel, start) == 0U);
                wheel.schedule(a, due);
                BOOST_TEST(a.scheduled());
                BOOST_TEST(*wheel.next_due() <= due);
                if (due > start)
                    BOOST_TEST(drain(wheel, due - 1) == 0U);
                BOOST_TEST(*wheel.next_due() <= due);
                BOOST_TEST(drain(wheel, due) == 1U);
                BOOST_TEST(a.rung == 1U);
                BOOST_TEST(!a.scheduled());
                BOOST_TEST(wheel.empty());
                BOOST_TEST(!wheel.next_due().has_value());
                BOOST_TEST(drain(wheel, horizon) == 0U);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(timer_with_past_tick_is_due_at_once)
{
    timer_wheel wheel;
    bell a;
    BOOST_TEST(drain(wheel, 100000) == 0U);
    wheel.schedule(a, 5);
    BOOST_TEST(*wheel.next_due() <= 100000U);
    BOOST_TEST(drain(wheel, 100000) == 1U);
}

BOOST_AUTO_TEST_CASE(timer_beyond_horizon_is_due_at_horizon)
{
    for (tick due : {horizon - 1, horizon, horizon + 1, horizon * 1000, ~tick{0}}) {
        timer_wheel wheel;
        bell a;
        bell later;
        wheel.schedule(a, due);
        BOOST_TEST(*wheel.next_due() <= horizon);
        BOOST_TEST(drain(wheel, horizon - 2) == 0U);
        BOOST_TEST(drain(wheel, horizon) == 1U);
        wheel.schedule(later, ~tick{0}); // time has come to an end: everything is due
        BOOST_TEST(*wheel.next_due() <= horizon);
        BOOST_TEST(drain(wheel, horizon) == 1U);
    }
}

BOOST_AUTO_TEST_CASE(jump_over_all_levels_expires_all_timers)
{
    timer_wheel wheel;
    std::array<bell, 43> bells;
    for (unsigned i = 0; i != bells.size(); ++i)
        wheel.schedule(bells[i], tick{1} << i);
    BOOST_TEST(drain(wheel, 0) == 0U);
    BOOST_TEST(drain(wheel, ~tick{0}) == bells.size());
    BOOST_TEST(wheel.empty());
}

BOOST_AUTO_TEST_CASE(timer_scheduled_again_moves_and_cancelled_twice_is_harmless)
{
    timer_wheel wheel;
    bell a;
    bell same_slot;
    wheel.schedule(a, 5000);
    wheel.schedule(same_slot, 5000);
    wheel.schedule(a, 10);
    BOOST_TEST(drain(wheel, 4999) == 1U);
    BOOST_TEST(a.rung == 1U);
    wheel.schedule(a, 5000);
    wheel.cancel(a);
    wheel.cancel(a);
    BOOST_TEST(!a.scheduled());
    BOOST_TEST(drain(wheel, 5000) == 1U);
    BOOST_TEST(same_slot.rung == 1U);
    wheel.schedule(a, 6000);
    wheel.cancel(a);
    BOOST_TEST(wheel.empty());
    BOOST_TEST(!wheel.next_due().has_value());
    BOOST_TEST(drain(wheel, 7000) == 0U);
}

BOOST_AUTO_TEST_CASE(suspended_timer_is_not_due_and_may_be_scheduled_again)
{
    timer_wheel wheel;
    bell a;
    for (tick const due : {tick{10}, tick{5000}, tick{40}}) {
        wheel.schedule(a, 20);
        wheel.suspend(a);
        wheel.suspend(a);
        BOOST_TEST(!a.scheduled());
        BOOST_TEST(wheel.empty());
        BOOST_TEST(!wheel.next_due().has_value());
        wheel.schedule(a, due);
        BOOST_TEST(a.scheduled());
    }
    BOOST_TEST(drain(wheel, 39) == 0U);
    BOOST_TEST(drain(wheel, 40) == 1U);
    wheel.schedule(a, 50);
    wheel.suspend(a);
    BOOST_TEST(drain(wheel, 5000) == 0U);
}

/// A cancelled timer may be destroyed by any thread. A suspended one may not.
BOOST_AUTO_TEST_CASE(cancelled_timer_stands_in_no_wheel)
{
    timer_wheel wheel;
    bell a;
    wheel.schedule(a, 70);
    wheel.suspend(a);
    BOOST_TEST(a.stands());
    wheel.cancel(a);
    BOOST_TEST(!a.stands());
    wheel.schedule(a, 70);
    wheel.cancel(a);
    BOOST_TEST(!a.stands());
    BOOST_TEST(wheel.empty());
    BOOST_TEST(drain(wheel, 70) == 0U);
}

BOOST_AUTO_TEST_CASE(expired_timer_may_schedule_and_cancel_timers)
{
    timer_wheel wheel;
    std::array<bell, 3> bells;
    for (bell& a : bells)
        wheel.schedule(a, 70);
    timer* const first = wheel.pop_due(1000);
    BOOST_REQUIRE(first != nullptr);
    wheel.schedule(*first, 900); // still before the tick that is being worked off
    for (bell& a : bells)
        if (&a != first) {
            wheel.cancel(a);
            break;
        }
    BOOST_TEST(drain(wheel, 1000) == 2U);
    BOOST_TEST(wheel.empty());
}

BOOST_AUTO_TEST_CASE(wheel_may_be_destroyed_before_its_timers)
{
    auto wheel = std::make_unique<timer_wheel>();
    std::array<bell, 3> bells;
    for (tick due = 0; bell & a : bells)
        wheel->schedule(a, due += 3000);
    BOOST_TEST(drain(*wheel, 3000) == 1U);
    wheel.reset();
    BOOST_TEST((bells[0].rung == 1 && bells[1].rung == 0 && bells[2].rung == 0));
}

RC_BOOST_PROP(wheel_expires_timers_like_a_sorted_list, ())
{
    pair_of_wheels both;
    auto const any_bell = rc::gen::inRange(std::size_t{0}, pair_of_wheels::count);
    auto const change = [&] {
        auto const i = *any_bell;
        switch (*rc::gen::inRange(0, 6)) {
        case 0: return both.cancel(i);
        case 1:
        case 2: return both.suspend(i);
        case 3: return both.schedule(i, *rc::gen::inRange<tick>(0, both.now() + 1));
        default: return both.schedule(i, both.now() + any_distance());
        }
    };
    auto const steps = *rc::gen::inRange(1, 80);
    for (int step = 0; step != steps; ++step) {
        if (*rc::gen::inRange(0, 3) != 0)
            change();
        else
            both.advance(any_distance(), [&] {
                if (*rc::gen::inRange(0, 3) == 0)
                    change();
            });
        both.check();
    }
}

RC_BOOST_PROP(wheel_polled_only_when_due_is_never_late, ())
{
    timer_wheel wheel;
    std::array<bell, 20> bells;
    std::map<timer*, tick> due;
    for (bell& a : bells) {
        due[&a] = std::min(any_distance(), horizon - 1);
        wheel.schedule(a, due[&a]);
    }
    unsigned looks = 0;
    std::optional<tick> last;
    while (auto const next = wheel.next_due()) {
        RC_ASSERT((!last || *next > *last));
        RC_ASSERT(++looks <= 7 * bells.size()); // once per level and timer at the most
        while (timer* const rung = wheel.pop_due(*next))
            RC_ASSERT(due.at(rung) == *next);
        last = next;
    }
}

BOOST_AUTO_TEST_SUITE_END()
