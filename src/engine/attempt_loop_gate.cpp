// SPDX-License-Identifier: BSL-1.0
#include "engine/attempt_loop.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <utility>

// Among the readers and writers who wait for a lock (docs/protocol.md, rule P7).
namespace redlock::detail {

namespace {

constexpr std::chrono::milliseconds longest_pause{400};

/// Until a node is free for us; nothing: it has not told.
std::optional<core::duration> time_left(node_report const& row, core::duration longest)
{
    if (row.result == node_result::granted)
        return core::duration{0};
    if (row.result == node_result::held_by_other && row.remaining)
        return std::min<core::duration>(*row.remaining, longest);
    return std::nullopt;
}

} // namespace

/// What the last attempt tells, before its rows are given away.
void attempt_loop::note_refusals()
{
    at_gate_ = {free_in(), {}};
    owned_ = {};
    for (unsigned i = 0; i != nodes().size(); ++i) {
        if (attempt_.rows()[i].result == node_result::granted)
            at_gate_.granted.insert(i);
        if (attempt_.rows()[i].owner != 0 || attempt_.rows()[i].holder == holder_kind::permits)
            owned_.insert(i);
    }
}

/// Of a majority the last. Nothing: too few have told it. It needs no memory: what is lost must go on without any.
std::optional<core::duration> attempt_loop::free_in() const
{
    auto const& rows = attempt_.rows();
    std::optional<core::duration> last;
    for (node_report const& row : rows) {
        auto const left = time_left(row, key_ttl_);
        if (!left || (last && *last <= *left))
            continue;
        auto const free_then = std::ranges::count_if(rows, [&](node_report const& other) {
            auto const its = time_left(other, key_ttl_);
            return its && *its <= *left;
        });
        if (free_then >= core::majority(nodes().size()))
            last = left;
    }
    return last;
}

void attempt_loop::wait_at_gate()
{
    if (!std::exchange(listening_, true))
        nodes().listen();
    core::instant const now = runtime_.loop().now();
    core::duration const round_trip = std::max<core::duration>(runtime_.round_trip(), core::duration{1});
    gate_.refused(now, {round_trip, longest_pause}, at_gate_, chances().dodge);
    again_ = hears_more();
    if (again_)
        return ask_at_gate(now); // what they read before they are told to tell, they do not tell of
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (outdated_.contains(i))
            gate_.changed(i, now);
    stand_at_gate();
}

/// From now on, of those who refused.
bool attempt_loop::hears_more()
{
    bool more = false;
    for (unsigned i = 0; i != nodes().size(); ++i) {
        if (!attempt_.refused().contains(i) || attempt_.heard().contains(i))
            continue;
        nodes().at(i).track();
        more = more || nodes().at(i).tracks();
    }
    return more;
}

/// Then, whatever the last refusal was.
void attempt_loop::ask_at_gate(core::instant then)
{
    gate_.leave_alone(then);
    stand_at_gate();
}

void attempt_loop::stand_at_gate()
{
    enter(phase::at_gate);
    cause_ = errc::contended;
    runtime_.loop().schedule_finely(*this, gate_.due());
}

/// What a node tells before it answers has happened before the vote.
void attempt_loop::gate_changed(unsigned node)
{
    if (phase_ == phase::voting && !attempt_.votes().awaits(node))
        outdated_.insert(node);
    if (phase_ != phase::at_gate)
        return;
    gate_.changed(node, runtime_.loop().now());
    runtime_.loop().schedule_finely(*this, gate_.due());
}

} // namespace redlock::detail
