// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>
#include <initializer_list>

// The linker leads the calls of what is linked statically here (--wrap); libraries that are loaded, such as that of the
// steady clock, keep the system's.

namespace {

constexpr std::int64_t second = 1'000'000'000;

struct hand {
    clockid_t const which;
    std::atomic<std::int64_t> reading = 0; // taken on any thread
};

std::atomic<bool> holding = false;
hand boot{CLOCK_BOOTTIME};
hand raw{CLOCK_MONOTONIC_RAW};
hand plain{CLOCK_MONOTONIC};

hand* of(clockid_t which)
{
    for (hand* const h : {&boot, &raw, &plain})
        if (h->which == which)
            return h;
    return nullptr;
}

void move(std::initializer_list<hand*> hands, std::chrono::nanoseconds by)
{
    for (hand* const h : hands)
        h->reading += by.count();
}

} // namespace

extern "C" int __real_clock_gettime(clockid_t which, timespec* t) noexcept;

extern "C" int __wrap_clock_gettime(clockid_t which, timespec* t) noexcept
{
    hand const* const stopped = holding ? of(which) : nullptr;
    if (!stopped)
        return __real_clock_gettime(which, t);
    std::int64_t const now = stopped->reading;
    *t = {now / second, now % second};
    return 0;
}

namespace redlock::test {

held_clock::held_clock()
{
    for (hand* const h : {&boot, &raw, &plain}) {
        timespec now{};
        __real_clock_gettime(h->which, &now);
        h->reading = now.tv_sec * second + now.tv_nsec;
    }
    holding = true;
}

held_clock::~held_clock()
{
    holding = false;
}

void held_clock::advance(std::chrono::nanoseconds by)
{
    move({&boot, &raw, &plain}, by);
}

void held_clock::suspend(std::chrono::nanoseconds by)
{
    move({&boot}, by);
}

void held_clock::advance_while_others_are_slewed(std::chrono::nanoseconds by)
{
    move({&raw}, by);
}

} // namespace redlock::test
