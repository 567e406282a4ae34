// SPDX-License-Identifier: BSL-1.0
#include "core/admission.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>

using namespace redlock::core;
using namespace std::chrono_literals;
using event = node_history::event;

namespace {

constexpr duration q = 10s;

instant at(duration since_start)
{
    return instant{1h, 2h} + since_start;
}

// A server that has run for a long time, as a new client sees it.
node_facts old_server()
{
    return {.run_id = "run", .replid = "data", .uptime = 1h};
}

node_facts young(duration uptime)
{
    node_facts facts = old_server();
    facts.uptime = uptime;
    return facts;
}

node_facts another(duration uptime)
{
    node_facts facts = young(uptime);
    facts.run_id = "another run";
    facts.replid = "other data";
    return facts;
}

template <class Change>
node_facts but(node_facts facts, Change change)
{
    change(facts);
    return facts;
}

void is_promoted(node_facts& f)
{
    f.promoted = true;
}

/// The master of three servers, which goes on for three seconds without the replica that it needs.
node_facts of_group(node_facts facts)
{
    facts.group = {.members = 3, .needed = 1, .stops = true, .outlasts = 3s};
    return facts;
}

void forgets(node_facts& f)
{
    f.forgetful = true;
}

/// A service that does not tell which process it is.
void has_no_run_id(node_facts& f)
{
    f.run_id.clear();
}

node_history first_seen(node_facts const& facts, admission_terms const& terms = {})
{
    return identify(facts, {}, {}, terms, at(0s));
}

// Met at 0 s, heard of until then; met again at `now`.
node_history again(node_facts const& first, node_facts const& then, duration now,
                   admission_terms const& terms = {})
{
    return identify(then, first_seen(first, terms), at(0s), terms, at(now));
}

// How long it must still wait at `now`.
std::optional<duration> waits(node_history const& known, duration now, duration length = q)
{
    auto const end = quarantined_until(known.certain_since, length, at(now));
    return end ? std::optional(remaining(*end, at(now))) : std::nullopt;
}

void votes(node_history const& known, duration now = 0s)
{
    BOOST_TEST(!waits(known, now).has_value());
}

void waits_for(node_history const& known, duration now, duration left)
{
    BOOST_TEST_REQUIRE(waits(known, now).has_value());
    BOOST_TEST((*waits(known, now) == left));
}

} // namespace

BOOST_AUTO_TEST_SUITE(admission)

BOOST_AUTO_TEST_SUITE(refusals)

// rule N3
BOOST_AUTO_TEST_CASE(replica_loading_cluster_or_evicting_server_is_refused)
{
    BOOST_TEST(!refuse(old_server(), {}).has_value());
    BOOST_TEST((refuse(but(old_server(), [](auto& f) { f.replica = true; }), {}) == refusal::replica));
    BOOST_TEST((refuse(but(old_server(), [](auto& f) { f.loading = true; }), {}) == refusal::loading));
    BOOST_TEST((refuse(but(old_server(), [](auto& f) { f.cluster = true; }), {}) == refusal::cluster_node));
    BOOST_TEST((refuse(but(old_server(), [](auto& f) { f.may_evict = true; }), {}) == refusal::evicting));
}

// rule N8
BOOST_AUTO_TEST_CASE(group_that_could_have_two_masters_is_refused)
{
    BOOST_TEST(!refuse(of_group(old_server()), {}).has_value());
    auto const with = [](replica_group const& group) {
        return but(old_server(), [&](auto& f) { f.group = group; });
    };
    BOOST_TEST((refuse(with({.members = 1, .stops = true}), {}) == refusal::two_masters));
    BOOST_TEST((refuse(with({.members = 3, .needed = 1}), {}) == refusal::two_masters));
    BOOST_TEST((refuse(with({.members = 4, .needed = 1, .stops = true}), {}) == refusal::two_masters));
    BOOST_TEST((!refuse(with({.members = 4, .needed = 2, .stops = true}), {})));
    BOOST_TEST((!refuse(with({.members = 5, .needed = 2, .stops = true}), {})));
    BOOST_TEST((!refuse(with({.members = 3}), {.trust_replication = true})));
}

// rule N3
BOOST_AUTO_TEST_CASE(refusal_is_lifted_only_by_its_own_permission)
{
    node_facts const every{.replica = true, .loading = true, .cluster = true, .may_evict = true};
    auto const cluster = but(old_server(), [](auto& f) { f.cluster = true; });
    auto const evicting = but(old_server(), [](auto& f) { f.may_evict = true; });
    admission_terms const allow_cluster{.allow_cluster_node = true};
    admission_terms const allow_eviction{.allow_eviction = true};
    admission_terms const all{.assume_fresh = true,
                              .durable = true,
                              .trust_restarted_nodes = true,
                              .trust_promoted = true,
                              .allow_cluster_node = true,
                              .allow_eviction = true,
                              .trust_server_clocks = true};
    BOOST_TEST(!refuse(cluster, allow_cluster).has_value());
    BOOST_TEST(!refuse(evicting, allow_eviction).has_value());
    BOOST_TEST((refuse(cluster, allow_eviction) == refusal::cluster_node));
    BOOST_TEST((refuse(evicting, allow_cluster) == refusal::evicting));
    BOOST_TEST((refuse(every, all) == refusal::replica)); // nobody can answer for a replica
    BOOST_TEST((refuse(but(every, [](auto& f) { f.replica = false; }), all) == refusal::loading));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(new_nodes)

// rule N4
BOOST_AUTO_TEST_CASE(new_node_older_than_any_key_votes)
{
    votes(first_seen(old_server()));
    votes(first_seen(young(q + 1s)));
    waits_for(first_seen(young(q)), 0s, 1s); // whole seconds: 10 may be 9.1
    waits_for(first_seen(young(4s)), 0s, 7s);
    waits_for(first_seen(young(0s)), 0s, q);
    BOOST_TEST((first_seen(young(0s)).last == event::started));
}

// rule N8
BOOST_AUTO_TEST_CASE(master_of_group_is_waited_for_whatever_it_tells)
{
    for (admission_terms const& terms : {admission_terms{}, admission_terms{.durable = true},
                                         admission_terms{.trust_restarted_nodes = true}}) {
        waits_for(first_seen(of_group(old_server()), terms), 0s, q + 3s);
        waits_for(again(of_group(old_server()), of_group(another(1h)), 30s, terms), 30s, q + 3s);
    }
    votes(first_seen(of_group(old_server()), {.assume_fresh = true}));
    votes(first_seen(of_group(old_server()), {.trust_promoted = true}));
}

// rule N8
BOOST_AUTO_TEST_CASE(group_whose_replicas_were_away_is_waited_for_anew)
{
    auto const changed = but(of_group(old_server()), [](auto& f) { f.group->attachments = 1; });
    waits_for(again(of_group(old_server()), changed, 30s), 30s, q + 3s);
    waits_for(again(of_group(old_server()), changed, 30s, {.assume_fresh = true}), 30s, q + 3s);
    votes(again(of_group(old_server()), of_group(old_server()), 30s), 30s);
    votes(again(changed, changed, 30s, {.trust_promoted = true}), 30s);
}

// rule N8
BOOST_AUTO_TEST_CASE(what_happens_later_shortens_no_quarantine)
{
    auto const known = first_seen(of_group(old_server()));
    waits_for(lost_data(known, at(1s)), 1s, q + 2s);
    waits_for(set_forward(known, 1s, at(1s)), 1s, q + 2s);
    waits_for(lost_data(known, at(5s)), 5s, q);
}

// rule N8
BOOST_AUTO_TEST_CASE(absence_on_a_group_is_not_excused_by_durability)
{
    BOOST_TEST(is_durable(old_server(), {.durable = true}));
    BOOST_TEST(!is_durable(of_group(old_server()), {.durable = true}));
}

// rule N8
BOOST_AUTO_TEST_CASE(data_that_tell_of_earlier_waits_shorten_the_wait_for_a_group)
{
    auto const known = known_since(first_seen(of_group(old_server())), at(-9s));
    waits_for(known, 0s, q + 3s - 9s);
}

// rule N4
BOOST_AUTO_TEST_CASE(quarantine_of_young_node_ends_after_key_lifetime)
{
    auto const known = first_seen(young(0s));
    waits_for(known, 9s, 1s);
    votes(known, 10s);
}

// rule N4
BOOST_AUTO_TEST_CASE(quarantine_lasts_longer_for_longer_lock)
{
    auto const known = first_seen(young(11s));
    BOOST_TEST(!waits(known, 0s, 10s).has_value());
    BOOST_TEST((waits(known, 0s, 60s) == 50s));
    BOOST_TEST((waits(known, 20s, 60s) == 30s));
    BOOST_TEST(!waits(first_seen(young(0s)), 0s, 0s).has_value()); // no lock yet
}

// rule N4
BOOST_AUTO_TEST_CASE(young_node_that_settings_vouch_for_votes)
{
    votes(first_seen(young(0s), {.assume_fresh = true}));
    votes(first_seen(young(0s), {.durable = true}));
    votes(first_seen(young(0s), {.trust_restarted_nodes = true}));
}

/// The settings excuse nothing by themselves: they may be new, or the volume empty.
// rule N4
BOOST_AUTO_TEST_CASE(durable_setting_that_server_contradicts_is_ignored)
{
    auto const denied = first_seen(but(young(0s), forgets), {.durable = true});
    waits_for(denied, 0s, q);
    BOOST_TEST(denied.word_is_denied);
    BOOST_TEST(!first_seen(but(young(0s), forgets)).word_is_denied); // nobody gave it
}

// rule N5
BOOST_AUTO_TEST_CASE(promoted_server_is_quarantined_from_first_meeting)
{
    for (admission_terms const terms :
         {admission_terms{}, {.durable = true}, {.trust_restarted_nodes = true}}) {
        auto const met = first_seen(but(old_server(), is_promoted), terms);
        waits_for(met, 0s, q);
        BOOST_TEST((met.last == event::met_promoted));
    }
    votes(first_seen(but(old_server(), is_promoted), {.trust_promoted = true}));
    waits_for(first_seen(but(young(4s), is_promoted), {.trust_promoted = true}), 0s, 7s); // by its age
    votes(first_seen(but(young(0s), is_promoted), {.assume_fresh = true}));
}

// rule N6
BOOST_AUTO_TEST_CASE(node_without_uptime_is_quarantined_from_first_meeting)
{
    auto const ageless = [](auto& f) { f.uptime.reset(); };
    waits_for(first_seen(but(old_server(), ageless)), 0s, q);
    BOOST_TEST((first_seen(but(old_server(), ageless)).last == event::first_met));
    waits_for(first_seen({}), 0s, q);
    votes(first_seen({}, {.assume_fresh = true}));
    votes(first_seen({}, {.trust_restarted_nodes = true}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(reconnected_nodes)

// rule N4
BOOST_AUTO_TEST_CASE(reconnected_node_with_same_run_id_keeps_its_quarantine)
{
    votes(again(old_server(), old_server(), 5s), 5s);
    waits_for(again(young(0s), young(5s), 5s), 5s, 5s);
    waits_for(again(young(0s), young(1h), 5s), 5s, 5s); // its clock was set forward meanwhile
    votes(again(young(0s), young(5s), 5s, {.assume_fresh = true}), 5s);
}

// rule N4
BOOST_AUTO_TEST_CASE(restarted_node_is_quarantined_from_last_contact_before_restart)
{
    auto const met = again(old_server(), another(3s), 20s);
    waits_for(met, 20s, 8s);
    BOOST_TEST((met.last == event::restarted));
    votes(again(old_server(), another(12s), 20s), 20s);
    // The uptime is too long to be true: the earlier life may have lasted until now.
    waits_for(again(old_server(), another(1h), 4s), 4s, q);
    waits_for(again(old_server(), another(1h), 11s), 11s, q);
}

// rule N4
BOOST_AUTO_TEST_CASE(witnessed_restart_is_quarantined_despite_assume_fresh)
{
    admission_terms const fresh{.assume_fresh = true};
    waits_for(again(young(0s), another(0s), 2s, fresh), 2s, q);
    waits_for(again(old_server(), another(1h), 2s, fresh), 2s, q);
    votes(again(young(0s), another(0s), 2s, {.trust_restarted_nodes = true}), 2s);
}

// rule N4
BOOST_AUTO_TEST_CASE(durable_node_votes_at_once_after_restart)
{
    admission_terms const durable{.durable = true};
    votes(again(old_server(), another(0s), 2s, durable), 2s);
    votes(again(old_server(), another(2s), 2s, durable), 2s);
    waits_for(again(old_server(), but(another(0s), forgets), 2s, durable), 2s, q);
    // The server kept the data of its earlier life, which were not complete.
    auto const emptied = lost_data(first_seen(young(0s), durable), at(1s));
    waits_for(identify(another(0s), emptied, at(1s), durable, at(2s)), 2s, 9s);
}

// rule N4
BOOST_AUTO_TEST_CASE(replaced_durable_node_is_quarantined)
{
    auto const met = again(old_server(), another(1h), 2s, {.durable = true});
    waits_for(met, 2s, q);
    BOOST_TEST((met.last == event::replaced));
}

// rule N5
BOOST_AUTO_TEST_CASE(promoted_successor_is_quarantined_from_reconnection)
{
    for (admission_terms const terms :
         {admission_terms{}, {.durable = true}, {.assume_fresh = true}, {.trust_restarted_nodes = true}})
        waits_for(again(old_server(), but(another(1h), is_promoted), 30s, terms), 30s, q);
    votes(again(old_server(), but(another(1h), is_promoted), 30s, {.trust_promoted = true}), 30s);
    // A restarted master that has had replicas looks promoted, too, and has forgotten all the same.
    waits_for(again(old_server(), but(another(3s), is_promoted), 20s, {.trust_promoted = true}), 20s, 8s);
}

// rule N5
BOOST_AUTO_TEST_CASE(node_with_changed_replication_id_is_quarantined)
{
    auto const flipped = but(old_server(), [](auto& f) { f.replid = "other data"; });
    for (admission_terms const terms :
         {admission_terms{}, {.durable = true}, {.assume_fresh = true}, {.trust_restarted_nodes = true}}) {
        auto const met = again(old_server(), flipped, 30s, terms);
        waits_for(met, 30s, q);
        BOOST_TEST((met.last == event::changed_history));
    }
    votes(again(old_server(), flipped, 30s, {.trust_promoted = true}), 30s);
}

// rule N7
BOOST_AUTO_TEST_CASE(node_with_clock_set_forward_is_quarantined)
{
    auto const stepped = set_forward(first_seen(old_server()), 20s, at(5s));
    BOOST_TEST((stepped.last == event::set_forward));
    BOOST_TEST((stepped.forward == 20s));
    waits_for(stepped, 5s, q);
    // Neither a new connection nor a restart lifts it: keys come back from the disk as they were.
    for (auto const& facts : {old_server(), another(0s)})
        for (admission_terms const terms :
             {admission_terms{.durable = true}, {.trust_restarted_nodes = true}})
            waits_for(identify(facts, stepped, at(6s), terms, at(7s)), 7s, q - 2s);
    auto const trusted = identify(another(0s), stepped, at(6s), {.trust_restarted_nodes = true}, at(7s));
    BOOST_TEST(trusted.run_id == "another run");
    BOOST_TEST(trusted.replid == "other data");
}

/// No word of the user's excuses what this client has seen itself.
// rule F6
BOOST_AUTO_TEST_CASE(node_with_lost_data_is_quarantined_despite_all_settings)
{
    for (admission_terms const terms : {admission_terms{.assume_fresh = true},
                                        {.durable = true},
                                        {.trust_restarted_nodes = true},
                                        {.trust_promoted = true}}) {
        auto const emptied = lost_data(first_seen(old_server(), terms), at(5s));
        BOOST_TEST((emptied.last == event::lost_data));
        waits_for(identify(old_server(), emptied, at(6s), terms, at(7s)), 7s, q - 2s);
    }
}

// rule N6
BOOST_AUTO_TEST_CASE(node_without_run_id_is_known_by_replication_id)
{
    auto const first = but(old_server(), has_no_run_id);
    votes(again(first, first, 30s), 30s);
    auto const other = again(first, but(another(3s), has_no_run_id), 30s);
    waits_for(other, 30s, 8s);
    BOOST_TEST((other.last == event::restarted));
}

// rule N6
BOOST_AUTO_TEST_CASE(node_without_any_id_is_quarantined_at_each_connection)
{
    auto const nameless = but(but(old_server(), has_no_run_id), [](auto& f) { f.replid.clear(); });
    auto const met = again(nameless, nameless, 3s);
    waits_for(met, 3s, q); // it may be another one, which has come a moment ago
    BOOST_TEST((met.last == event::maybe_restarted));
    waits_for(again({}, {}, 3s), 3s, q); // nor its age
    waits_for(again(nameless, nameless, 3s, {.assume_fresh = true}), 3s, q);
    votes(again(nameless, nameless, 3s, {.trust_restarted_nodes = true}), 3s);
    votes(again({}, {}, 3s, {.durable = true}), 3s);
}

BOOST_AUTO_TEST_SUITE_END()

// rule N4
BOOST_AUTO_TEST_CASE(quarantine_is_one_percent_longer_than_key_lifetime)
{
    BOOST_TEST((quarantine_length(11s) == 11110ms));
    BOOST_TEST((quarantine_length(0s) == 0s));
}

/// A clock that is corrected may run faster for a while.
// rule N4
BOOST_AUTO_TEST_CASE(quarantine_lasts_on_both_clocks)
{
    BOOST_TEST(quarantined_until(at(0s), 10s, {at(10s).boot, at(9s).raw}).has_value());
    BOOST_TEST(quarantined_until(at(0s), 10s, {at(9s).boot, at(10s).raw}).has_value());
    BOOST_TEST(!quarantined_until(at(0s), 10s, at(10s)).has_value());
}

/// A replica was replaced, and the Sentinels were reset.
// rule N8
BOOST_AUTO_TEST_CASE(group_gets_smaller_if_it_has_been_for_a_minute)
{
    group_size size;
    BOOST_TEST(size.observe(3, at(0s)) == 3U);
    BOOST_TEST(size.observe(4, at(100s)) == 4U);
    BOOST_TEST(size.observe(3, at(200s)) == 4U);
    BOOST_TEST(size.observe(4, at(230s)) == 4U);
    BOOST_TEST(size.observe(1, at(270s)) == 4U);
    BOOST_TEST(size.observe(3, at(329s)) == 4U);
    BOOST_TEST(size.observe(1, at(330s)) == 3U); // that one may begin anew, too
    BOOST_TEST(size.observe(2, at(331s)) == 3U);
    BOOST_TEST(size.observe(2, at(391s)) == 2U);
}

BOOST_AUTO_TEST_CASE(later_of_two_instants_is_taken_on_each_clock)
{
    BOOST_TEST((later(at(1s), at(2s)) == at(2s)));
    BOOST_TEST((later(instant{1s, 5s}, instant{2s, 3s}) == instant{2s, 5s}));
    BOOST_TEST((later(at(1s), std::nullopt) == at(1s)));
    BOOST_TEST((later(std::nullopt, at(1s)) == at(1s)));
    BOOST_TEST(!later(std::nullopt, std::nullopt).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
