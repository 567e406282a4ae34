#include "lock/admissions.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace redlock::lock {
namespace {

core::node_facts to_core(redis::server_facts const& told)
{
    core::node_facts facts{.replica = told.replica, .cluster = told.cluster, .durable = told.durable};
    if (!told.info)
        return facts;
    facts.run_id = told.info->run_id;
    facts.replid = told.info->replid;
    facts.uptime = told.info->uptime;
    facts.promoted = !told.info->replid2.empty();
    facts.loading = told.info->loading;
    facts.may_evict = told.info->may_evict;
    return facts;
}

net::failure to_failure(core::refusal why)
{
    switch (why) {
    case core::refusal::replica: return {node_result::refused, server_error::readonly, "a replica"};
    case core::refusal::loading: return {node_result::refused, server_error::loading, "loading its data"};
    case core::refusal::cluster_node:
        return {node_result::refused, server_error::other,
                "a cluster node; see admission_settings::allow_cluster_node"};
    case core::refusal::evicting: break;
    }
    return {node_result::refused, server_error::other,
            "it may evict keys (maxmemory is set, maxmemory-policy is not noeviction); see "
            "admission_settings::allow_eviction"};
}

/// "2.1 s"
std::string seconds(core::duration time)
{
    auto const tenths = std::max<core::duration::rep>(time / std::chrono::milliseconds{100}, 0);
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
}

std::string to_words(core::acquaintance const& known)
{
    using event = core::acquaintance::event;
    switch (known.last) {
    case event::started: return "started";
    case event::restarted: return "restarted";
    case event::replaced: return "replaced by another server";
    case event::set_forward: // what is certain is a little less than the step
        return "its clock was set forward by " + seconds(known.forward + std::chrono::milliseconds{50});
    case event::changed_history: break;
    }
    return "re-synchronised or promoted";
}

/// No lock was made yet: the smallest default counts.
constexpr core::duration unknown_slack = core::duration::max();

} // namespace

admissions::admissions(client_settings const& settings)
    : terms_(settings.admission), names_(settings.names), longest_(settings.longest_ttl.count()),
      smallest_slack_(unknown_slack.count()), judged_for_(longest_), records_(settings.names.size())
{}

void admissions::expect_keys(core::duration ttl, core::duration slack)
{
    auto known = longest_.load(std::memory_order_relaxed);
    while (known < ttl.count() && !longest_.compare_exchange_weak(known, ttl.count()))
        ;
    auto smallest = smallest_slack_.load(std::memory_order_relaxed);
    while (smallest > slack.count() && !smallest_slack_.compare_exchange_weak(smallest, slack.count()))
        ;
}

bool admissions::outgrown()
{
    auto const longest = longest_.load(std::memory_order_relaxed);
    return std::exchange(judged_for_, longest) != longest;
}

core::marker_trust admissions::marker_trust(unsigned node, net::node const& told) const
{
    return core::trust_in_marker(to_core(told.facts()), records_[node].known, terms_);
}

std::optional<net::failure> admissions::objection(unsigned node, net::node const& told, core::instant now)
{
    core::node_facts facts = to_core(told.facts());
    record& its = records_[node];
    its.known = core::meet(facts, its.known, told.heard(), terms_, now);
    (void)set_forward(its, told, now);
    auto refused = refusal(node, facts);
    its.votes_as.clear(); // from here on without memory: a name is never lost on the way
    if (refused)
        return refused;
    its.votes_as = std::move(facts.run_id);
    return quarantine(its, now);
}

std::optional<net::failure> admissions::clock_objection(unsigned node, net::node const& told,
                                                        core::instant now)
{
    record& its = records_[node];
    return set_forward(its, told, now) ? quarantine(its, now) : std::nullopt;
}

std::optional<net::failure> admissions::quarantine(record const& its, core::instant now) const
{
    auto const end = core::quarantined_until(its.known, quarantine_length(), now);
    if (!end)
        return {};
    return net::failure{node_result::quarantined, server_error::none, to_words(its.known),
                        *its.known.whole_since, *end};
}

/// Another process may run on another machine, whose clock says nothing of this one's.
bool admissions::set_forward(record& its, net::node const& told, core::instant now)
{
    auto const& reading = told.server_time();
    if (terms_.trust_server_clocks || !reading)
        return false;
    std::string const run_id = told.facts().info ? told.facts().info->run_id : std::string();
    if (its.clock_of != run_id)
        its.clock = {};
    its.clock_of = run_id;
    auto const smallest = smallest_slack_.load(std::memory_order_relaxed);
    core::duration const allowed =
        smallest == unknown_slack.count() ? core::default_slack({}) : core::duration{smallest};
    core::duration const forward =
        its.clock.observe(reading->theirs, reading->sent, reading->received, quarantine_length());
    if (forward <= allowed)
        return false;
    auto changed = core::set_forward(its.known, forward, now); // before the steps are forgotten
    its.clock.settle();
    its.known = std::move(changed);
    return true;
}

std::optional<net::failure> admissions::refusal(unsigned node, core::node_facts const& facts) const
{
    if (auto const why = core::refuse(facts, terms_))
        return to_failure(*why);
    if (auto const other = same_server(node, facts.run_id))
        return net::failure{node_result::refused, server_error::other,
                            "the same server as " + names_[*other]};
    return {};
}

/// Who was admitted keeps the vote also while it is away: otherwise the two names would take turns, and what one server
/// said under either could be counted twice.
std::optional<unsigned> admissions::same_server(unsigned node, std::string const& run_id) const
{
    if (run_id.empty())
        return {};
    for (unsigned other = 0; other != records_.size(); ++other)
        if (other != node && records_[other].votes_as == run_id)
            return other;
    return {};
}

std::string_view admissions::blind_spot(net::node const& node) const
{
    bool const timeless = !node.facts().time && !terms_.trust_server_clocks;
    if (node.facts().info)
        return timeless ? "TIME is not permitted: steps of its clock are not noticed" : "";
    return timeless
               ? "INFO is not permitted, or tells too little, and TIME is not: restarts, eviction, a second "
                 "name of one server and steps of its clock are not noticed"
               : "INFO is not permitted, or tells too little: restarts, eviction and a second name of one "
                 "server are not noticed";
}

bool admissions::first_mention(unsigned node)
{
    return !std::exchange(records_[node].mentioned, true);
}

std::string quarantine_story(net::failure const& why, core::instant now)
{
    return why.detail + ' ' + seconds(core::elapsed(why.since, now)) + " ago";
}

std::string quarantine_notice(net::failure const& why, core::instant now)
{
    return quarantine_story(why, now) + "; votes again in " + seconds(quarantine_left(why.until, now));
}

std::chrono::milliseconds quarantine_left(core::instant until, core::instant now)
{
    auto const left = std::max(core::remaining(until, now), core::duration::zero());
    return std::chrono::ceil<std::chrono::milliseconds>(left);
}

} // namespace redlock::lock
