#include "net/leaf/platform.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <new>
#include <utility>

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

void give_back(process_page::content* page) noexcept
{
    ::munmap(page, sizeof(*page));
}

bool is_not(std::size_t process) noexcept
{
    return static_cast<std::size_t>(::getpid()) != process;
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

process_page make_page()
{
    constexpr std::size_t size = sizeof(process_page::content);
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    process_page::memory page(static_cast<process_page::content*>(memory), give_back);
    page->maker = static_cast<std::size_t>(::getpid());
    bool wiped = false;
#ifdef MADV_WIPEONFORK
    wiped = ::madvise(memory, size, MADV_WIPEONFORK) == 0;
#endif
    return process_page(std::move(page), wiped ? nullptr : is_not);
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
