#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::chaos {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// CLOCK_BOOTTIME: all processes of a machine read the same one.
[[nodiscard]] nanoseconds now();

enum class event : std::uint32_t {
    none,       ///< its writer was killed before it was complete
    ready,      ///< has met all servers
    asks,       ///< value: how
    refused,    ///< value: the error
    holds,      ///< value: the token
    valid,      ///< value: until when, as the library tells
    lets_go,    ///< and only then tells the library
    told,       ///< that the lease is over; value: how many of its looks before had found that
    not_told,   ///< for far too long
    extended,   ///< value: the error
    released,   ///< value: the error
    reads,      ///< what the lock guards
    has_read,   ///< value: the register's
    reads_late, ///< a larger token had been there
    writes,     ///< value: the register's
    has_written,
    writes_late,
    overdue, ///< an operation has not ended; value: which, an `event`
    leaves,
};
[[nodiscard]] std::string_view to_string(event);

struct entry {
    nanoseconds at{};
    std::uint64_t value = 0;
    std::uint32_t lease = 0; ///< the number of that actor's operation
    std::uint16_t client = 0;
    std::uint8_t actor = 0;
    std::uint8_t lock = 0;
    event what = event::none;

    /// Of one operation and the lease that it got.
    [[nodiscard]] std::uint64_t owner() const
    {
        return std::uint64_t{client} << 40U | std::uint64_t{actor} << 32U | lease;
    }
};

enum class phase : std::uint32_t {
    busy,
    calm, ///< nothing bad happens any more
    over, ///< everybody leaves
};

inline constexpr std::size_t most_clients = 4096;

/// Memory that all processes of a run share: what happened, and what the clients are to do. What was written stays, however
/// its writer ends.
class journal {
public:
    /// \param capacity of entries; zero: join one that exists
    explicit journal(std::string const& path, std::size_t capacity = 0);
    journal(journal const&) = delete;
    journal& operator=(journal const&) = delete;
    ~journal();

    /// What does not fit is counted only.
    void append(entry const&) noexcept;
    /// Those from number `from` on, in the order of their instants.
    [[nodiscard]] std::vector<entry> entries(std::size_t from = 0) const;
    [[nodiscard]] std::size_t size() const { return page_->used; }
    [[nodiscard]] bool full() const { return size() > capacity_; }

    [[nodiscard]] phase now_is() const { return page_->now_is; }
    void set(phase p) { page_->now_is = p; }
    [[nodiscard]] bool leaves(unsigned client) const { return page_->leaves.at(client); }
    void let_leave(unsigned client) { page_->leaves.at(client) = true; }

private:
    struct slot {
        entry content;
        std::atomic<bool> complete;
    };
    struct page {
        std::atomic<std::size_t> used;
        std::atomic<phase> now_is;
        std::array<std::atomic<bool>, most_clients> leaves;
    };
    [[nodiscard]] slot* slots() const { return reinterpret_cast<slot*>(page_ + 1); }

    std::size_t size_ = 0; ///< in bytes
    std::size_t capacity_ = 0;
    page* page_ = nullptr;
};

} // namespace redlock::chaos
