#include "lock/clock.hpp"

#include <ctime>

namespace redlock::lock {

namespace {

core::duration read(clockid_t which)
{
    std::timespec t{};
    ::clock_gettime(which, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

} // namespace

core::instant read_clocks()
{
#if defined(CLOCK_BOOTTIME) && defined(CLOCK_MONOTONIC_RAW)
    return {read(CLOCK_BOOTTIME), read(CLOCK_MONOTONIC_RAW)};
#else
    auto const steady = read(CLOCK_MONOTONIC);
    return {steady, steady};
#endif
}

std::chrono::milliseconds wall_clock()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
}

} // namespace redlock::lock
