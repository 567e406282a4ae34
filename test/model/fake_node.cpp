#include "model/fake_node.hpp"

#include "model/rules.hpp"

#include <algorithm>

namespace redlock::model {

namespace {

reply number(std::uint64_t value)
{
    return {.what = reply::kind::number, .number = value};
}

constexpr reply stranger{.what = reply::kind::stranger};
constexpr millis for_ever = millis{1} << 50;

} // namespace

void fake_node::drop_expired()
{
    if (clock > lock.expires)
        lock = {};
    if (clock > counter.expires)
        counter = {};
}

void fake_node::restore(fake_node const& earlier)
{
    lock = earlier.lock;
    counter = earlier.counter;
    mark = earlier.mark;
    drop_expired();
}

reply fake_node::vote(nonce owner, millis px)
{
    drop_expired();
    if (lock.exists() && applies(rule::vote_only_if_free))
        return {.what = reply::kind::nil};
    lock = {owner, applies(rule::vote_expires) ? clock + px : for_ever};
    return {.what = reply::kind::ok};
}

reply fake_node::release(nonce owner)
{
    drop_expired();
    if (!lock.exists() || (lock.value != owner && applies(rule::release_compares)))
        return number(0);
    lock = {};
    return number(1);
}

reply fake_node::extend(nonce owner, millis px)
{
    drop_expired();
    if (!lock.exists() || (lock.value != owner && applies(rule::extend_compares)))
        return number(0);
    lock.expires = clock + px;
    return number(1);
}

reply fake_node::look()
{
    drop_expired();
    if (!lock.exists())
        return {.what = reply::kind::nil};
    return {.what = reply::kind::held, .left = lock.expires - clock};
}

reply fake_node::fenced_vote(fenced_call const& call)
{
    drop_expired();
    if (strange(call.expected) && applies(rule::strangers_do_not_vote))
        return stranger;
    if (lock.exists() && applies(rule::vote_only_if_free))
        return {.what = reply::kind::held, .number = counter.value, .left = lock.expires - clock};
    lock = {call.owner, applies(rule::vote_expires) ? clock + call.px : for_ever};
    auto const latest = static_cast<fence>(clock + call.px / 2);
    fence const proposed = applies(rule::proposal_is_clamped) ? std::min(call.number, latest) : call.number;
    set_counter(std::max(counter.value + (applies(rule::vote_counts_up) ? 1 : 0), proposed), call.fence_px);
    return number(counter.value);
}

reply fake_node::fenced_raise(fenced_call const& call)
{
    drop_expired();
    if (strange(call.expected) && applies(rule::strangers_do_not_extend))
        return stranger;
    if (lock.value != call.owner && applies(rule::raise_only_while_ours))
        return number(0);
    if (counter.value > call.number && applies(rule::raise_only_upwards))
        return number(0);
    set_counter(call.number, call.fence_px);
    return number(1);
}

reply fake_node::fenced_extend(fenced_call const& call)
{
    drop_expired();
    if (strange(call.expected) && applies(rule::strangers_do_not_extend))
        return stranger;
    if (counter.value > call.number && applies(rule::extension_bows_to_a_higher_fence))
        return number(0);
    if (lock.exists() && lock.value != call.owner && applies(rule::repair_only_what_is_gone))
        return number(0);
    if (lock.exists() && lock.value == call.owner && counter.value == call.number) {
        lock.expires = clock + call.px;
        counter.expires = clock + call.fence_px;
        return number(1);
    }
    bool const unbroken = lock.exists() && (counter.exists() || !applies(rule::lost_fence_proves_nothing));
    lock = {call.owner, clock + call.px};
    set_counter(call.number, call.fence_px);
    return number(unbroken ? 1 : 2);
}

} // namespace redlock::model
