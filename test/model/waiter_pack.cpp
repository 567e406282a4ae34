#include "model/waiter.hpp"

#include <algorithm>

// A waiter as a plain value, for the search.

namespace redlock::model {

namespace {

constexpr unsigned most_refusals = 8;   ///< pauses do not grow further
constexpr unsigned most_collisions = 6; ///< neither do these

std::int32_t micros_from(core::instant now, core::instant at)
{
    return static_cast<std::int32_t>(std::max<core::duration>(core::remaining(at, now), {}) /
                                     std::chrono::microseconds{1});
}

core::instant at(std::int32_t micros)
{
    return {std::chrono::microseconds{micros}, std::chrono::microseconds{micros}};
}

std::uint16_t bits(core::node_set s)
{
    unsigned all = 0;
    for (unsigned n = 0; n != 3; ++n)
        all |= s.contains(n) ? 1U << n : 0;
    return static_cast<std::uint16_t>(all);
}

core::node_set nodes(unsigned bits)
{
    core::node_set s;
    for (unsigned n = 0; n != 3; ++n)
        if ((bits >> n & 1U) != 0)
            s.insert(n);
    return s;
}

} // namespace

waiter::packed waiter::pack(waiting_terms const&, core::instant now) const
{
    packed p;
    if (knows_)
        for (unsigned n = 0; n != nodes_; ++n) {
            auto const& known = known_.of(n);
            p.rows[n].until = known.until ? micros_from(now, *known.until) : -1;
            p.rows[n].flags = static_cast<std::uint8_t>((known.taken ? 1U : 0U) | (known.usable ? 2U : 0U) |
                                                        (known.votes ? 4U : 0U));
        }
    p.times = {micros_from(now, not_before_), micros_from(now, poll_at_), micros_from(now, try_anyway_at_),
               micros_from(now, look_around_at_)};
    p.listening = bits(listening_);
    p.asked = bits(asked_);
    p.refused = bits(refused_);
    for (unsigned n = 0; n != 3; ++n)
        p.said[n] = static_cast<std::uint8_t>(said_[n]);
    p.asked_last = static_cast<std::uint8_t>(asked_last_);
    p.refusals = static_cast<std::uint8_t>(std::min(refusals_, most_refusals));
    p.collisions = static_cast<std::uint8_t>(std::min(collisions_, most_collisions));
    p.flags =
        static_cast<std::uint8_t>((knows_ ? 1U : 0U) | (in_turn_ ? 2U : 0U) | (looks_around_ ? 4U : 0U));
    return p;
}

waiter waiter::unpack(waiting_terms const& t, packed const& p)
{
    waiter w;
    w.open(t);
    w.knows_ = (p.flags & 1U) != 0;
    w.in_turn_ = (p.flags & 2U) != 0;
    w.looks_around_ = (p.flags & 4U) != 0;
    if (w.knows_)
        w.known_.start(t.nodes, t.first);
    for (unsigned n = 0; w.knows_ && n != t.nodes; ++n) {
        w.known_.usable(n, (p.rows[n].flags & 2U) != 0);
        if (p.rows[n].until >= 0)
            w.known_.found_held_until(n, at(p.rows[n].until));
        else if ((p.rows[n].flags & 1U) != 0)
            w.known_.found_held(n);
        w.known_.votes(n, (p.rows[n].flags & 4U) != 0);
    }
    w.not_before_ = at(p.times[0]);
    w.poll_at_ = at(p.times[1]);
    w.try_anyway_at_ = at(p.times[2]);
    w.look_around_at_ = at(p.times[3]);
    w.listening_ = nodes(p.listening);
    w.asked_ = nodes(p.asked);
    w.refused_ = nodes(p.refused);
    for (unsigned n = 0; n != 3; ++n)
        w.said_[n] = static_cast<said>(p.said[n]);
    w.asked_last_ = p.asked_last;
    w.refusals_ = p.refusals;
    w.collisions_ = p.collisions;
    return w;
}

} // namespace redlock::model
