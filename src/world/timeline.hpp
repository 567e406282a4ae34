// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace redlock::world {

using core::duration;

/// What is going to happen, in order. Time goes on only from one event to the next.
class timeline {
public:
    [[nodiscard]] duration now() const { return now_; }
    /// Nothing is going to happen.
    [[nodiscard]] bool empty() const { return events_.empty(); }
    void at(duration when, std::function<void()> what);
    void after(duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    /// Goes on to the next event and lets it happen. False: there is none until then.
    bool step(duration until = duration::max());
    /// \param due called when something is to happen at the present moment
    void on_due(std::function<void()> due) { due_ = std::move(due); }
    /// Nothing happens any more.
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
