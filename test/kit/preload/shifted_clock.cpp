// SPDX-License-Identifier: BSL-1.0
// Loaded into a server in front of libc (LD_PRELOAD): its wall clock, and no other, is ahead by the milliseconds that
// stand in the file which REDLOCK_SHIFTED_CLOCK names, also when they change while it runs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

std::int64_t volatile const* shift = nullptr;

[[gnu::constructor]] void map_shift()
{
    char const* const name = std::getenv("REDLOCK_SHIFTED_CLOCK");
    int const file = name != nullptr ? ::open(name, O_RDONLY | O_CLOEXEC) : -1;
    void* const mapped = ::mmap(nullptr, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
        std::abort(); // a test with a clock that cannot be set would prove nothing
    shift = static_cast<std::int64_t const*>(mapped);
    ::close(file);
}

} // namespace

extern "C" int clock_gettime(clockid_t which, timespec* t) noexcept
{
    long const failed = ::syscall(SYS_clock_gettime, which, t);
    if (failed != 0 || (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE) || shift == nullptr)
        return static_cast<int>(failed);
    constexpr std::int64_t million = 1'000'000;
    std::int64_t const ns = t->tv_sec * 1000 * million + t->tv_nsec + *shift * million;
    *t = {ns / (1000 * million), ns % (1000 * million)};
    return 0;
}

extern "C" int gettimeofday(timeval* t, void*) noexcept
{
    timespec now{};
    int const failed = clock_gettime(CLOCK_REALTIME, &now);
    *t = {now.tv_sec, now.tv_nsec / 1000};
    return failed;
}

extern "C" std::time_t time(std::time_t* t) noexcept
{
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (t != nullptr)
        *t = now.tv_sec;
    return now.tv_sec;
}
