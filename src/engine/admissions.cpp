// SPDX-License-Identifier: BSL-1.0
#include "engine/admissions.hpp"

#include "core/validity.hpp"
#include "engine/in_words.hpp"
#include "redis/info.hpp"
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace redlock::detail {
namespace {

/// A master looks after its replicas once a second, and counts their silence in whole seconds.
constexpr core::duration replica_resolution = std::chrono::seconds{2};
/// By a server's own defaults.
constexpr std::chrono::seconds unknown_silence{10};

core::replica_group to_group(redis::server_facts const& facts, core::admission_terms const& terms)
{
    redis::server_info const info = facts.info.value_or(redis::server_info{});
    redis::replica_settings const settings =
        facts.replication.value_or(redis::replica_settings{.longest_silence = unknown_silence});
    bool const stops = facts.replication && settings.longest_silence > core::duration::zero();
    return {.members = std::max(facts.known_replicas, info.replicas) + 1,
            .needed = settings.needed,
            .stops = stops,
            .outlasts = settings.longest_silence + replica_resolution + terms.longest_unheard,
            .attachments = info.attachments};
}

core::node_facts to_core(redis::server_facts const& facts, core::admission_terms const& terms)
{
    core::node_facts converted{
        .replica = facts.replica, .cluster = facts.cluster, .forgetful = !facts.forgetful.empty()};
    if (facts.group)
        converted.group = to_group(facts, terms);
    if (!facts.info)
        return converted;
    converted.run_id = facts.info->run_id;
    converted.replid = facts.info->replid;
    converted.uptime = facts.info->uptime;
    converted.promoted = facts.info->promoted;
    converted.loading = facts.info->loading;
    converted.may_evict = facts.info->may_evict.value_or(false);
    return converted;
}

/// Why two servers of a group may be master at once.
std::string to_words(core::replica_group const& group)
{
    std::string const enough = std::to_string(std::max(group.members / 2, 1U));
    std::string const found = group.stops ? "min-replicas-to-write is " + std::to_string(group.needed)
                                          : "min-replicas-max-lag is 0, or CONFIG GET is not permitted";
    return "two servers of its group may be master at once: " + found + ", and with " +
           std::to_string(group.members - 1) + " replicas it must be " + enough +
           " at least; see admission_settings::trust_replication";
}

net::failure to_failure(core::refusal why, core::node_facts const& facts)
{
    switch (why) {
    case core::refusal::replica: return {node_result::refused, server_error::readonly, "a replica"};
    case core::refusal::loading: return {node_result::refused, server_error::loading, "loading its data"};
    case core::refusal::cluster_node:
        return {node_result::refused, server_error::other,
                "a cluster node; see admission_settings::allow_cluster_node"};
    case core::refusal::two_masters:
        return {node_result::refused, server_error::other, to_words(*facts.group)};
    case core::refusal::evicting: break;
    }
    return {node_result::refused, server_error::other,
            "it may evict keys (maxmemory is set, maxmemory-policy is not noeviction); see "
            "admission_settings::allow_eviction"};
}

std::string to_words(core::node_history const& known)
{
    using event = core::node_history::event;
    switch (known.last) {
    case event::started: return "started";
    case event::first_met: return "first met, and INFO does not tell its age,";
    case event::met_promoted: return "first met, and was promoted or re-synchronised before,";
    case event::restarted: return "restarted";
    case event::maybe_restarted: return "connected anew, and does not tell whether it restarted,";
    case event::replaced: return "replaced by another server";
    case event::lost_data: return "lost its data";
    case event::replicas_came:
        return "a replica came to the master of its group, and may have had another one,";
    case event::set_forward: // the certain part of the step is a little smaller
        return "its clock was set forward by " + in_words(known.forward + std::chrono::milliseconds{50});
    case event::changed_history: break;
    }
    return "re-synchronised or promoted";
}

/// This value means that no lock has been made yet. Then the smallest default slack counts, see note_clock_step.
constexpr core::duration unknown_slack = core::duration::max();

} // namespace

admissions::admissions(client_settings const& settings)
    : names_(settings.names),
      expected_(new expectations{settings.longest_ttl.count(), unknown_slack.count()}),
      records_(settings.names.size())
{
    for (std::size_t i = 0; i != records_.size(); ++i)
        records_[i].terms = settings.admission[i];
}

void admissions::expect_keys(core::duration ttl, core::duration slack)
{
    auto known = expected_->longest.load(std::memory_order_relaxed);
    while (known < ttl.count() && !expected_->longest.compare_exchange_weak(known, ttl.count()))
        ;
    auto& smallest = expected_->smallest_slack;
    auto least = smallest.load(std::memory_order_relaxed);
    while (least > slack.count() && !smallest.compare_exchange_weak(least, slack.count()))
        ;
}

/// Its settings are the present ones, but for what the user said of the time before the client met it.
void admissions::inherit(std::size_t node, admissions const& former, std::size_t before)
{
    expected_ = former.expected_; // from now on
    core::admission_terms terms = records_[node].terms;
    terms.assume_fresh = former.records_[before].terms.assume_fresh;
    records_[node] = former.records_[before];
    records_[node].terms = terms;
}

/// A former master may have waited for longer.
// rule N8
void admissions::remember(record& its, core::replica_group& group, core::instant now)
{
    group.members = its.members.observe(group.members, now);
    its.outlasts = group.outlasts = std::max(its.outlasts, group.outlasts);
}

// rule N2
std::optional<net::failure> admissions::disqualification(unsigned node, net::node const& server,
                                                         core::instant now)
{
    record& its = records_[node];
    core::node_facts facts = to_core(server.facts(), its.terms);
    its.denied_by = server.facts().forgetful;
    if (facts.group)
        remember(its, *facts.group, now);
    its.known = core::identify(facts, its.known, server.heard(), its.terms, now);
    (void)note_clock_step(its, server, now);
    auto refused = refusal(node, facts);
    its.votes_as.clear(); // from here on without memory: a name is never lost on the way
    if (!refused)
        its.votes_as = std::move(facts.run_id);
    return refused;
}

/// Starts a quarantine if the server's clock gained more than the smallest slack of any lock, and returns true then. Another
/// process may run on another machine: its clock is measured anew.
// rule N7
bool admissions::note_clock_step(record& its, net::node const& server, core::instant now)
{
    auto const& reading = server.server_time();
    if (its.terms.trust_server_clocks || !reading)
        return false;
    std::string const run_id = server.facts().info ? server.facts().info->run_id : std::string();
    if (its.clock_of != run_id)
        its.clock = {};
    its.clock_of = run_id;
    auto const smallest = expected_->smallest_slack.load(std::memory_order_relaxed);
    core::duration const allowed =
        smallest == unknown_slack.count() ? core::default_slack({}) : core::duration{smallest};
    core::duration const forward =
        its.clock.observe(reading->theirs, reading->sent, reading->received, longest_quarantine());
    if (forward <= allowed)
        return false;
    auto changed = core::set_forward(its.known, forward, now); // may throw: then the steps are kept
    its.clock.settle();
    its.known = std::move(changed);
    return true;
}

bool admissions::excuses_absence(unsigned node, net::node const& server) const
{
    record const& its = records_[node];
    bool const fresh = its.terms.assume_fresh && its.known.last == core::node_history::event::started;
    return fresh || core::is_durable(to_core(server.facts(), its.terms), its.terms);
}

std::optional<net::failure> admissions::refusal(unsigned node, core::node_facts const& facts) const
{
    if (auto const why = core::refuse(facts, records_[node].terms))
        return to_failure(*why, facts);
    if (auto const other = same_server(node, facts.run_id))
        return net::failure{node_result::refused, server_error::other,
                            "the same server as " + names_[*other]};
    return {};
}

/// Returns the other node that was admitted last under this run id. An absent node keeps its entry. Otherwise two names of one
/// server would take turns, and both could count.
// rule N3
std::optional<unsigned> admissions::same_server(unsigned node, std::string const& run_id) const
{
    if (run_id.empty())
        return {};
    for (unsigned other = 0; other != records_.size(); ++other)
        if (other != node && records_[other].votes_as == run_id)
            return other;
    return {};
}

namespace {

void note(std::string& text, bool missing, std::string_view words)
{
    if (missing)
        text.append(text.empty() ? "" : "; ").append(words);
}

} // namespace

// rule N6
std::string admissions::blind_spots(unsigned node, net::node const& server) const
{
    core::admission_terms const& terms = records_[node].terms;
    redis::server_facts const& facts = server.facts();
    redis::server_info const info = facts.info.value_or(redis::server_info{});
    bool const identified = !info.run_id.empty();
    std::string text;
    note(text, !facts.info, "INFO is not permitted");
    bool const trusted = terms.trust_restarted_nodes || core::is_durable(to_core(facts, terms), terms);
    note(text, !identified && info.replid.empty() && !trusted,
         "no run_id: each new connection counts as a restart");
    note(text, !identified && !info.replid.empty(),
         "no run_id: a restart that keeps the data set is not noticed");
    note(text, !identified, "no run_id: a second name of one server is not noticed");
    note(text, !info.uptime && !terms.assume_fresh,
         "no uptime_in_seconds: its age counts from when it is first met");
    note(text, !facts.role_known, "no role: a replica is not noticed");
    note(text, !info.may_evict && !terms.allow_eviction,
         "no maxmemory or maxmemory_policy: eviction is not noticed");
    note(text, !facts.time && !terms.trust_server_clocks,
         "TIME is not permitted: steps of its clock are not noticed");
    return text;
}

bool admissions::first_mention(unsigned node)
{
    return !std::exchange(records_[node].mentioned, true);
}

std::string admissions::what_happened(unsigned node) const
{
    record const& its = records_[node];
    std::string const what = to_words(its.known);
    return its.known.word_is_denied ? "called durable, but " + its.denied_by + "; " + what : what;
}

std::optional<net::failure> objection(redis::server_facts const& facts, core::admission_terms const& terms)
{
    core::node_facts const known = to_core(facts, terms);
    if (auto const why = core::refuse(known, terms))
        return to_failure(*why, known);
    return {};
}

std::chrono::milliseconds quarantine_left(core::instant until, core::instant now)
{
    auto const left = std::max(-core::elapsed_at_least(until, now), core::duration::zero());
    return std::chrono::ceil<std::chrono::milliseconds>(left);
}

} // namespace redlock::detail
