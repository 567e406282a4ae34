// SPDX-License-Identifier: BSL-1.0
#include "chaos/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace redlock::chaos {

namespace {

std::size_t checked(ssize_t result)
{
    if (result < 0)
        throw std::system_error(errno, std::generic_category(), "journal");
    return static_cast<std::size_t>(result);
}

} // namespace

static_assert(4096 % sizeof(entry) == 0);

nanoseconds now()
{
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return std::chrono::seconds{t.tv_sec} + nanoseconds{t.tv_nsec};
}

journal::journal(std::string const& path)
    : file_(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600))
{
    (void)checked(file_);
}

journal::~journal()
{
    ::close(file_);
}

void journal::append(entry const& one) const
{
    (void)checked(::write(file_, &one, sizeof one));
}

std::size_t journal::size() const
{
    return checked(::lseek(file_, 0, SEEK_END)) / sizeof(entry);
}

std::vector<entry> journal::entries(std::size_t from) const
{
    std::vector<entry> all(size() - from);
    std::size_t const read = checked(
        ::pread(file_, all.data(), all.size() * sizeof(entry), static_cast<off_t>(from * sizeof(entry))));
    all.resize(read / sizeof(entry));
    std::ranges::stable_sort(all, {}, &entry::at);
    return all;
}

} // namespace redlock::chaos
