// SPDX-License-Identifier: BSL-1.0
#include "core/server_clock.hpp"

#include <chrono>

namespace redlock::core {
namespace {

/// Clocks that run at different rates are no step, nor is a server that reads its clock before it reads the question.
constexpr int rate_divisor = 100;
constexpr duration resolution = std::chrono::milliseconds{1};

} // namespace

/// Assumes no step since then.
duration server_clock::furthest(instant at) const
{
    duration const passed = elapsed(bound_->at, at);
    return bound_->theirs + passed + passed / rate_divisor + resolution;
}

// rule N7
duration server_clock::observe(duration theirs, instant sent, instant received, duration memory)
{
    duration const gained = bound_ ? theirs - furthest(received) : duration::zero();
    if (gained > duration::zero())
        remember({gained, received});
    // After a slow answer the earlier bound may be tighter than the new one.
    if (!bound_ || gained > duration::zero() || theirs < furthest(sent))
        bound_ = {theirs, sent};
    while (!steps_.empty() && elapsed(steps_.front().noticed, received) > memory)
        steps_.pop_front();
    duration sum{};
    for (step const& s : steps_)
        sum += s.by;
    return sum;
}

void server_clock::remember(step latest)
{
    steps_.push_back(latest);
    if (steps_.size() <= most_steps)
        return;
    steps_[1].by += steps_[0].by; // counts for longer: the safe side
    steps_.pop_front();
}

} // namespace redlock::core
