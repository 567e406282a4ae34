#include "core/admission.hpp"

#include <algorithm>

namespace redlock::core {
namespace {

constexpr duration uptime_resolution = std::chrono::seconds{1};

/// The later on each clock.
instant later(instant a, instant b)
{
    return {std::max(a.boot, b.boot), std::max(a.raw, b.raw)};
}

instant started(node_facts const& facts, instant now)
{
    return now - std::max(facts.uptime - uptime_resolution, duration::zero());
}

acquaintance identity(node_facts const& facts, acquaintance::event what)
{
    return {.run_id = facts.run_id, .replid = facts.replid, .last = what};
}

/// Never seen before: what its uptime says must be believed. When a promoted server was promoted, it does not tell.
acquaintance newcomer(node_facts const& facts, admission_terms const& terms, instant now)
{
    acquaintance met = identity(facts, acquaintance::event::started);
    bool const durable = facts.durable && !facts.promoted;
    if (!durable && !terms.assume_fresh)
        met.whole_since = started(facts, now);
    return met;
}

/// The same endpoint, another process: a restart, a promoted replica behind one address, or another machine.
acquaintance successor(node_facts const& facts, acquaintance const& earlier, instant heard, instant now)
{
    instant const start = started(facts, now);
    bool const overlaps =
        remaining(start, heard) < duration::zero(); // it ran while the earlier one still answered
    using event = acquaintance::event;
    acquaintance met = identity(facts, overlaps ? event::replaced : event::restarted);
    if (facts.promoted)
        met.whole_since = now;
    else if (facts.durable &&
             !overlaps) // it has what the earlier life had, which may have been quarantined itself
        met.whole_since = earlier.whole_since;
    else
        met.whole_since = later(start, heard);
    return met;
}

/// Whoever trusts in restarts trusts in what is on the disk, where keys stand with the date at which they expire: a step
/// of the clock is not undone by one.
acquaintance trusted(node_facts const& facts, acquaintance const& earlier)
{
    using event = acquaintance::event;
    if (earlier.last != event::set_forward)
        return identity(facts, event::started);
    acquaintance met = earlier;
    met.run_id = facts.run_id;
    met.replid = facts.replid;
    return met;
}

} // namespace

std::optional<refusal> refuse(node_facts const& facts, admission_terms const& terms)
{
    if (facts.replica)
        return refusal::replica;
    if (facts.loading)
        return refusal::loading;
    if (facts.cluster && !terms.allow_cluster_node)
        return refusal::cluster_node;
    if (facts.may_evict && !terms.allow_eviction)
        return refusal::evicting;
    return {};
}

acquaintance meet(node_facts const& facts, acquaintance const& earlier, instant heard,
                  admission_terms const& terms, instant now)
{
    if (facts.run_id.empty()) // it told nothing: what was known stays known, until it tells again
        return earlier;
    if (terms.trust_restarted_nodes)
        return trusted(facts, earlier);
    if (!earlier.met())
        return newcomer(facts, terms, now);
    if (facts.run_id != earlier.run_id)
        return successor(facts, earlier, heard, now);
    if (facts.replid == earlier.replid)
        return earlier;
    // Its data were another server's meanwhile: writes of ours were thrown away, whatever is on its disk.
    acquaintance changed = identity(facts, acquaintance::event::changed_history);
    changed.whole_since = now;
    return changed;
}

acquaintance set_forward(acquaintance const& known, duration by, instant now)
{
    acquaintance changed = known;
    changed.last = acquaintance::event::set_forward;
    changed.whole_since = now;
    changed.forward = by;
    return changed;
}

marker_trust trust_in_marker(node_facts const& facts, acquaintance const& known, admission_terms const& terms)
{
    if (terms.trust_restarted_nodes || !known.whole_since)
        return marker_trust::any;
    if (known.last != acquaintance::event::started) // this client has waited until nothing lost could count
        return marker_trust::any;
    return facts.promoted ? marker_trust::none : marker_trust::absent;
}

std::optional<instant> quarantined_until(acquaintance const& known, duration length, instant now)
{
    if (!known.whole_since)
        return {};
    instant const end = *known.whole_since + length;
    if (reached(end, now))
        return {};
    return end;
}

} // namespace redlock::core
