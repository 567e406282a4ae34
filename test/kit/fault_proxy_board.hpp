// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

namespace redlock::test::proxy {

/// The figures that the proxy's thread reports to the test's.
struct figures {
    std::array<std::uint64_t, 2> bytes{};
    std::array<std::uint64_t, 2> forwarded{};
    std::array<std::uint64_t, 2> held{};
    std::size_t open = 0;
    std::size_t accepted = 0;
};

/// Publishes the figures: any thread may read them or wait for them.
class board {
public:
    explicit board(std::chrono::nanoseconds patience) : patience_(patience) {}

    std::chrono::nanoseconds patience() const noexcept { return patience_; }

    template <class Change>
    void write(Change change)
    {
        {
            std::lock_guard const lock(mutex_);
            change(figures_);
        }
        changed_.notify_all();
    }

    figures read() const
    {
        std::lock_guard const lock(mutex_);
        return figures_;
    }

    template <class Condition>
    void wait(char const* what, Condition condition) const
    {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, patience_, [&] { return condition(figures_); }))
            return;
        throw std::runtime_error(std::string("fault_proxy: waited in vain: ") + what);
    }

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    figures figures_;
    std::chrono::nanoseconds patience_;
};

} // namespace redlock::test::proxy
