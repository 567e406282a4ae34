#include "net/leaf/platform.hpp"

#include <fcntl.h>
#include <poll.h>

#include <chrono>
#include <ctime>

namespace redlock::net::platform {

namespace {

core::duration read(clockid_t which) noexcept
{
    std::timespec t{};
    ::clock_gettime(which, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

bool has(descriptor socket, short event) noexcept
{
    pollfd asked{socket, event, 0};
    return ::poll(&asked, 1, 0) != 0;
}

} // namespace

core::instant read_clocks() noexcept
{
#if defined(CLOCK_BOOTTIME) && defined(CLOCK_MONOTONIC_RAW)
    return {read(CLOCK_BOOTTIME), read(CLOCK_MONOTONIC_RAW)};
#else
    auto const steady = read(CLOCK_MONOTONIC);
    return {steady, steady};
#endif
}

void close_on_exec(descriptor socket) noexcept
{
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

bool readable(descriptor socket) noexcept
{
    return has(socket, POLLIN);
}

bool hung_up(descriptor socket) noexcept
{
#ifdef POLLRDHUP
    return has(socket, POLLRDHUP);
#else
    return has(socket, 0);
#endif
}

} // namespace redlock::net::platform
