// SPDX-License-Identifier: BSL-1.0
#include "world/timeline.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace redlock::world {

void timeline::at(duration when, std::function<void()> what)
{
    if (over_)
        return;
    events_.push_back({std::max(when, now_), orders_++, std::move(what)});
    std::ranges::push_heap(events_, std::less<>());
    if (when <= now_ && due_)
        due_();
}

void timeline::end()
{
    over_ = true;
    due_ = nullptr;
    auto const dropped = std::exchange(events_, {}); // their destructors may add events
}

bool timeline::step(duration until)
{
    if (events_.empty() || events_.front().when > until) {
        if (until != duration::max())
            now_ = std::max(now_, until);
        return false;
    }
    std::ranges::pop_heap(events_, std::less<>());
    event const next = std::move(events_.back()); // it may add events
    events_.pop_back();
    now_ = next.when;
    ++happened_;
    next.what();
    return true;
}

} // namespace redlock::world
