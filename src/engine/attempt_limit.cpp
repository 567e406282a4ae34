// SPDX-License-Identifier: BSL-1.0
#include "engine/attempt_limit.hpp"

namespace redlock::detail {

bool attempt_limit::enter(throttled& one)
{
    if (under_way_ >= allowed_) {
        waiting_.push_back(one);
        return false;
    }
    ++under_way_;
    return true;
}

void attempt_limit::leave()
{
    --under_way_;
    if (!waiting_.empty())
        loop_.enqueue(static_cast<net::task&>(*this));
}

/// Halves the limit once for all attempts that were sent before the last change.
void attempt_limit::too_many(core::instant sent)
{
    if (core::reached(sent, halved_))
        return;
    halved_ = loop_.now();
    allowed_ = std::max(allowed_ / 2, least);
}

void attempt_limit::forget(throttled& one)
{
    if (one.hook.is_linked())
        waiting_.erase(waiting_.iterator_to(one));
}

void attempt_limit::run()
{
    while (under_way_ < allowed_ && !waiting_.empty()) {
        throttled& next = waiting_.front();
        waiting_.pop_front();
        next.on_admitted();
    }
}

} // namespace redlock::detail
