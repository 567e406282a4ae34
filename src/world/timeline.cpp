#include "world/timeline.hpp"

#include <algorithm>
#include <utility>

namespace redlock::world {

void timeline::at(duration when, std::function<void()> what)
{
    if (over_)
        return;
    events_.push({std::max(when, now_), orders_++, std::move(what)});
    if (when <= now_ && due_)
        due_();
}

void timeline::end()
{
    over_ = true;
    due_ = nullptr;
    auto const dropped = std::exchange(events_, {}); // what they hold may ask for more
}

bool timeline::step(duration until)
{
    if (events_.empty() || events_.top().when > until) {
        if (until != duration::max())
            now_ = std::max(now_, until);
        return false;
    }
    now_ = events_.top().when;
    auto const what = events_.top().what; // a copy: it may add events
    events_.pop();
    ++happened_;
    what();
    return true;
}

} // namespace redlock::world
