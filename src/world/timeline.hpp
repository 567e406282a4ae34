// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace redlock::world {

using core::duration;

/// Future events, in order. Time advances only from one event to the next.
class timeline {
public:
    [[nodiscard]] duration now() const { return now_; }
    /// True if there is no event.
    [[nodiscard]] bool empty() const { return events_.empty(); }
    void at(duration when, std::function<void()> what);
    void after(duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    /// Advances to the next event and runs it. False: there is none until then.
    bool step(duration until = duration::max());
    /// \param due called when there is an event at the present moment
    void on_due(std::function<void()> due) { due_ = std::move(due); }
    /// Drops all events, and accepts no more.
    void end();
    [[nodiscard]] std::uint64_t happened() const { return happened_; }

private:
    struct event {
        duration when;
        std::uint64_t order;
        std::function<void()> what;
        friend bool operator<(event const& a, event const& b)
        {
            return a.when != b.when ? a.when > b.when : a.order > b.order;
        }
    };

    std::vector<event> events_; ///< a heap
    std::function<void()> due_;
    duration now_{};
    std::uint64_t orders_ = 0;
    std::uint64_t happened_ = 0;
    bool over_ = false;
};

} // namespace redlock::world
