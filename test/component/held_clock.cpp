#include "component/held_clock.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>

// The linker leads the calls of what is linked statically here (--wrap); libraries that are loaded, such as that of the
// steady clock, keep the system's.

namespace {

constexpr std::int64_t second = 1'000'000'000;

std::atomic<bool> held = false; // readings are taken on any thread
std::atomic<std::int64_t> reading = 0;

} // namespace

extern "C" int __real_clock_gettime(clockid_t which, timespec* t) noexcept;

extern "C" int __wrap_clock_gettime(clockid_t which, timespec* t) noexcept
{
    bool const of_leases = which == CLOCK_BOOTTIME || which == CLOCK_MONOTONIC_RAW;
    if (!of_leases || !held)
        return __real_clock_gettime(which, t);
    std::int64_t const now = reading;
    *t = {now / second, now % second};
    return 0;
}

namespace redlock::test {

held_clock::held_clock()
{
    timespec now{};
    __real_clock_gettime(CLOCK_BOOTTIME, &now);
    reading = now.tv_sec * second + now.tv_nsec;
    held = true;
}

held_clock::~held_clock()
{
    held = false;
}

void held_clock::advance(std::chrono::nanoseconds by)
{
    reading += by.count();
}

} // namespace redlock::test
