#include "chaos/journal.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace redlock::chaos {

nanoseconds now()
{
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return std::chrono::seconds{t.tv_sec} + nanoseconds{t.tv_nsec};
}

std::string_view to_string(event what)
{
    constexpr std::array<std::string_view, 19> words{
        "nothing",     "ready",           "asks",          "refused",        "holds",
        "valid",       "lets go",         "told",          "not told",       "extended",
        "released",    "reads",           "has read",      "reads too late", "writes",
        "has written", "writes too late", "has not ended", "leaves"};
    return words.at(static_cast<std::size_t>(what));
}

journal::journal(std::string const& path, std::size_t capacity)
{
    int const file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat found {};
    bool good = file >= 0;
    if (capacity != 0)
        good = good && ::ftruncate(file, static_cast<off_t>(sizeof(page) + capacity * sizeof(slot))) == 0;
    good = good && ::fstat(file, &found) == 0;
    size_ = static_cast<std::size_t>(found.st_size);
    void* const mapped =
        good ? ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    int const reason = errno;
    ::close(file);
    if (mapped == MAP_FAILED)
        throw std::system_error(reason, std::generic_category(), path);
    page_ = static_cast<page*>(mapped); // zeros, as a new page and new slots are
    capacity_ = (size_ - sizeof(page)) / sizeof(slot);
}

journal::~journal()
{
    ::munmap(page_, size_);
}

void journal::append(entry const& one) noexcept
{
    std::size_t const number = page_->used.fetch_add(1);
    if (number >= capacity_)
        return;
    slots()[number].content = one;
    slots()[number].complete.store(true, std::memory_order_release);
}

std::vector<entry> journal::entries(std::size_t from) const
{
    std::vector<entry> all;
    for (std::size_t const end = std::min(size(), capacity_); from < end; ++from)
        if (slots()[from].complete.load(std::memory_order_acquire))
            all.push_back(slots()[from].content);
    std::ranges::stable_sort(all, {}, &entry::at);
    return all;
}

} // namespace redlock::chaos
