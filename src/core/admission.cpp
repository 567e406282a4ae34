// SPDX-License-Identifier: BSL-1.0
#include "core/admission.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::core {
namespace {

using event = node_history::event;

constexpr duration uptime_resolution = std::chrono::seconds{1};
/// A Sentinel asks a master for its replicas every ten seconds.
constexpr duration sentinels_learn = std::chrono::seconds{60};

/// Without an uptime, it started when it was first met.
// rule N6
instant started(node_facts const& facts, instant now)
{
    return facts.uptime ? now - std::max(*facts.uptime - uptime_resolution, duration::zero()) : now;
}

/// A server without a run id is known by its data set.
// rule N6
std::string const& name_of(node_facts const& facts)
{
    return facts.run_id.empty() ? facts.replid : facts.run_id;
}

/// A group's master can be another one each time, and forgets its promotion in time (rule N5).
bool is_promoted(node_facts const& facts)
{
    return facts.promoted || facts.group;
}

node_history identity(node_facts const& facts, event what, std::optional<instant> certain_since = {})
{
    node_history known{.met = true,
                       .run_id = name_of(facts),
                       .replid = facts.replid,
                       .last = what,
                       .attachments = facts.group ? facts.group->attachments : 0,
                       .outlasted = facts.group ? facts.group->outlasts : duration::zero()};
    if (certain_since)
        known.certain_since = *certain_since + known.outlasted;
    return known;
}

/// A promoted server does not tell when it was promoted, so it counts from now on; other servers' uptime is believed.
// rules N4 and N5
node_history first_seen(node_facts const& facts, admission_terms const& terms, instant now)
{
    if (terms.assume_fresh)
        return identity(facts, event::started);
    if (is_promoted(facts) && !terms.trust_promoted)
        return identity(facts, event::met_promoted, now);
    if (is_durable(facts, terms) || terms.trust_restarted_nodes)
        return identity(facts, event::started);
    return identity(facts, facts.uptime ? event::started : event::first_met, started(facts, now));
}

/// Another life of the same data: earlier uncertainty remains.
node_history continued(node_facts const& facts, node_history earlier)
{
    earlier.run_id = name_of(facts);
    earlier.replid = facts.replid;
    earlier.attachments = facts.group ? facts.group->attachments : 0;
    return earlier;
}

/// Another process, as far as can be told: a restart, a promoted replica behind one address, or another machine.
// rules N4 and N5
node_history successor(node_facts const& facts, node_history const& earlier, instant heard,
                       admission_terms const& terms, instant now)
{
    if (is_promoted(facts) && !terms.trust_promoted)
        return identity(facts, event::changed_history, now);
    bool const anonymous = name_of(facts).empty();
    instant const start = started(facts, now);
    // It ran while the earlier one still answered.
    bool const older = facts.uptime && remaining(start, heard) < duration::zero();
    bool const overlaps = older && !anonymous;
    // A master with replicas that is restarted looks promoted, too.
    bool const took_over = is_promoted(facts) && overlaps;
    if (took_over || terms.trust_restarted_nodes || (is_durable(facts, terms) && !overlaps))
        return continued(facts, earlier);
    event const alone = anonymous ? event::maybe_restarted : event::restarted;
    // Then its age is wrong, or it is another machine: nobody knows when the earlier one ended, and it may have voted
    // for other clients until now.
    return identity(facts, overlaps ? event::replaced : alone, older ? now : start);
}

node_history judged(node_facts const& facts, node_history const& earlier, instant heard,
                    admission_terms const& terms, instant now)
{
    if (!earlier.met)
        return first_seen(facts, terms, now);
    if (name_of(facts).empty() || name_of(facts) != earlier.run_id)
        return successor(facts, earlier, heard, terms, now);
    if (facts.group && facts.group->attachments != earlier.attachments && !terms.trust_promoted)
        return identity(facts, event::replicas_came, now);
    if (facts.replid == earlier.replid || terms.trust_promoted)
        return continued(facts, earlier);
    // Its data were another server's meanwhile: our writes were thrown away, whatever is on its disk.
    return identity(facts, event::changed_history, now);
}

} // namespace

// rule N3
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
    if (facts.group && !is_exclusive(*facts.group) && !terms.trust_replication)
        return refusal::two_masters;
    return {};
}

// rule N5
node_history identify(node_facts const& facts, node_history const& earlier, instant heard,
                      admission_terms const& terms, instant now)
{
    node_history known = judged(facts, earlier, heard, terms, now);
    known.word_is_denied = terms.durable && facts.forgetful;
    return known;
}

node_history set_forward(node_history const& known, duration by, instant now)
{
    node_history changed = known;
    changed.last = event::set_forward;
    changed.certain_since = later(known.certain_since, now);
    changed.forward = by;
    return changed;
}

node_history known_since(node_history const& known, instant since)
{
    node_history changed = known;
    changed.certain_since = since + known.outlasted;
    return changed;
}

// rule F6
node_history lost_data(node_history const& known, instant now)
{
    node_history changed = known;
    changed.last = event::lost_data;
    changed.certain_since = later(known.certain_since, now);
    return changed;
}

unsigned group_size::observe(unsigned counted, instant now)
{
    if (counted < members_) {
        fewer_ = fewer_ ? fewer{fewer_->since, std::max(fewer_->most, counted)} : fewer{now, counted};
        if (!surely_reached(fewer_->since + sentinels_learn, now))
            return members_;
        counted = fewer_->most;
    }
    fewer_.reset();
    return members_ = counted;
}

std::optional<instant> later(std::optional<instant> a, std::optional<instant> b)
{
    if (!a || !b)
        return a ? a : b;
    return instant{std::max(a->boot, b->boot), std::max(a->raw, b->raw)};
}

// rule N4
std::optional<instant> quarantined_until(std::optional<instant> certain_since, duration length, instant now)
{
    if (!certain_since || surely_reached(*certain_since + length, now))
        return {};
    return *certain_since + length;
}

} // namespace redlock::core
