// SPDX-License-Identifier: BSL-1.0
#include "model/small_node.hpp"

#include "model/rules.hpp"

#include <algorithm>

namespace redlock::model {

namespace {

reply number(std::uint64_t value)
{
    return {.what = reply::kind::number, .number = value};
}

} // namespace

void small_node::drop_expired()
{
    if (clock > lock.expires)
        lock = {};
    if (clock > counter.expires)
        counter = {};
}

reply small_node::vote(nonce owner, millis px)
{
    drop_expired();
    if (lock.exists() && applies(rule::vote_only_if_free))
        return {.what = reply::kind::nil};
    lock = {owner, clock + px};
    return {.what = reply::kind::ok};
}

reply small_node::release(nonce owner)
{
    drop_expired();
    if (!lock.exists() || (lock.value != owner && applies(rule::release_compares)))
        return number(0);
    lock = {};
    return number(1);
}

reply small_node::extend(nonce owner, millis px)
{
    drop_expired();
    if (!lock.exists() || (lock.value != owner && applies(rule::extend_compares)))
        return number(0);
    lock.expires = clock + px;
    return number(1);
}

reply small_node::fenced_vote(fenced_call const& call)
{
    drop_expired();
    if (lock.exists() && applies(rule::vote_only_if_free))
        return {.what = reply::kind::held, .number = counter.value, .left = lock.expires - clock};
    lock = {call.owner, clock + call.px};
    auto const latest = static_cast<fence>(clock + call.px / 2);
    fence const proposed = std::min(call.number, latest);
    set_counter(std::max(counter.value + (applies(rule::vote_counts_up) ? 1 : 0), proposed), call.fence_px);
    return number(counter.value);
}

reply small_node::fenced_raise(fenced_call const& call)
{
    drop_expired();
    if (lock.value != call.owner && applies(rule::raise_only_while_ours))
        return number(0);
    if (counter.value > call.number)
        return number(0);
    set_counter(call.number, call.fence_px);
    return number(1);
}

reply small_node::fenced_extend(fenced_call const& call)
{
    drop_expired();
    if (counter.value > call.number && applies(rule::extension_bows_to_a_higher_fence))
        return number(0);
    if (lock.exists() && lock.value != call.owner && applies(rule::repair_only_what_is_gone))
        return number(0);
    if (lock.exists() && lock.value == call.owner && counter.value == call.number) {
        lock.expires = clock + call.px;
        counter.expires = clock + call.fence_px;
        return number(1);
    }
    bool const unbroken = lock.exists() && counter.exists();
    lock = {call.owner, clock + call.px};
    set_counter(call.number, call.fence_px);
    return number(unbroken ? 1 : 2);
}

} // namespace redlock::model
