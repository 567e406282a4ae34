// SPDX-License-Identifier: BSL-1.0
// rule H2
#include "net/leaf/platform.hpp"

#ifdef _WIN32
#include <winsock2.h>
#else
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <new>
#include <utility>

namespace redlock::net::platform {

#ifdef _WIN32

namespace {

bool has(descriptor socket, short event) noexcept
{
    WSAPOLLFD asked{socket, event, 0};
    return ::WSAPoll(&asked, 1, 0) != 0;
}

void give_back(process_page::content* page) noexcept
{
    delete page;
}

} // namespace

/// The steady clock is the performance counter, which counts while the machine sleeps and is not slewed.
core::instant read_clocks() noexcept
{
    core::duration const steady = std::chrono::steady_clock::now().time_since_epoch();
    return {steady, steady};
}

/// Without fork there is nothing to wipe.
process_page make_page()
{
    process_page::memory page(new process_page::content{}, give_back);
    page->maker = ::GetCurrentProcessId();
    return process_page(std::move(page));
}

void close_on_exec(descriptor socket) noexcept
{
    SOCKET const number = socket;
    ::SetHandleInformation(reinterpret_cast<HANDLE>(number), HANDLE_FLAG_INHERIT, 0);
}

#else

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
    int found = -1;
    while ((found = ::poll(&asked, 1, 0)) < 0 && errno == EINTR)
        ;
    return found > 0;
}

void give_back(process_page::content* page) noexcept
{
    ::munmap(page, sizeof(*page));
}

bool is_not(std::size_t process) noexcept
{
    return static_cast<std::size_t>(::getpid()) != process;
}

/// Will a forked child find zeros in this memory?
bool wiped_on_fork([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept
{
#if defined(MADV_WIPEONFORK)
    return ::madvise(memory, size, MADV_WIPEONFORK) == 0;
#elif defined(INHERIT_ZERO)
    return ::minherit(memory, size, INHERIT_ZERO) == 0;
#else
    return false;
#endif
}

} // namespace

core::instant read_clocks() noexcept
{
#if defined(__APPLE__) // this clock counts while an Apple machine sleeps, too
    auto const raw = read(CLOCK_MONOTONIC_RAW);
    return {raw, raw};
#elif defined(CLOCK_BOOTTIME) && defined(CLOCK_MONOTONIC_RAW)
    return {read(CLOCK_BOOTTIME), read(CLOCK_MONOTONIC_RAW)};
#else
    auto const steady = read(CLOCK_MONOTONIC);
    return {steady, steady};
#endif
}

process_page make_page()
{
    constexpr std::size_t size = sizeof(process_page::content);
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    process_page::memory page(static_cast<process_page::content*>(memory), give_back);
    page->maker = static_cast<std::size_t>(::getpid());
    return process_page(std::move(page), wiped_on_fork(memory, size) ? nullptr : is_not);
}

void close_on_exec(descriptor socket) noexcept
{
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

#endif

bool readable(descriptor socket) noexcept
{
    return has(socket, POLLIN);
}

bool hung_up(descriptor socket) noexcept
{
#ifdef POLLRDHUP
    return has(socket, POLLRDHUP);
#else // seen only once all else has been read
    char next = 0;
    return has(socket, POLLIN) && ::recv(socket, &next, 1, MSG_PEEK) <= 0;
#endif
}

} // namespace redlock::net::platform
