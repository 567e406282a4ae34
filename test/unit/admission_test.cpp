#include "core/admission.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>

using namespace redlock::core;
using namespace std::chrono_literals;
using event = acquaintance::event;

namespace {

constexpr duration q = 10s;

instant at(duration since_start)
{
    return instant{1h, 2h} + since_start;
}

// A server that has run for long, as a newcomer sees it.
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

acquaintance newcomer(node_facts const& facts, admission_terms const& terms = {})
{
    return meet(facts, {}, {}, terms, at(0s));
}

// Met at 0 s, heard of until then; met again at `now`.
acquaintance again(node_facts const& first, node_facts const& then, duration now,
                   admission_terms const& terms = {})
{
    return meet(then, newcomer(first, terms), at(0s), terms, at(now));
}

// How long it must still wait at `now`.
std::optional<duration> waits(acquaintance const& known, duration now, duration length = q)
{
    auto const end = quarantined_until(known, length, at(now));
    return end ? std::optional(remaining(*end, at(now))) : std::nullopt;
}

void votes(acquaintance const& known, duration now = 0s)
{
    BOOST_TEST(!waits(known, now).has_value());
}

void waits_for(acquaintance const& known, duration now, duration left)
{
    BOOST_TEST_REQUIRE(waits(known, now).has_value());
    BOOST_TEST((*waits(known, now) == left));
}

} // namespace

BOOST_AUTO_TEST_SUITE(admission)

BOOST_AUTO_TEST_SUITE(refusals)

BOOST_AUTO_TEST_CASE(what_may_not_vote)
{
    BOOST_TEST(!refuse(old_server(), {}).has_value());
    BOOST_TEST((refuse(but(old_server(), [](auto& f) { f.replica = true; }), {}) == refusal::replica));
    BOOST_TEST((refuse(but(old_server(), [](auto& f) { f.loading = true; }), {}) == refusal::loading));
    BOOST_TEST((refuse(but(old_server(), [](auto& f) { f.cluster = true; }), {}) == refusal::cluster_node));
    BOOST_TEST((refuse(but(old_server(), [](auto& f) { f.may_evict = true; }), {}) == refusal::evicting));
}

BOOST_AUTO_TEST_CASE(each_permission_permits_its_own)
{
    node_facts const every{.replica = true, .loading = true, .cluster = true, .may_evict = true};
    auto const cluster = but(old_server(), [](auto& f) { f.cluster = true; });
    auto const evicting = but(old_server(), [](auto& f) { f.may_evict = true; });
    admission_terms const allow_cluster{.allow_cluster_node = true};
    admission_terms const allow_eviction{.allow_eviction = true};
    admission_terms const all{true, true, true, true};
    BOOST_TEST(!refuse(cluster, allow_cluster).has_value());
    BOOST_TEST(!refuse(evicting, allow_eviction).has_value());
    BOOST_TEST((refuse(cluster, allow_eviction) == refusal::cluster_node));
    BOOST_TEST((refuse(evicting, allow_cluster) == refusal::evicting));
    BOOST_TEST((refuse(every, all) == refusal::replica)); // nobody can answer for a replica
    BOOST_TEST((refuse(but(every, [](auto& f) { f.replica = false; }), all) == refusal::loading));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(first_meeting)

BOOST_AUTO_TEST_CASE(who_is_older_than_any_key_votes)
{
    votes(newcomer(old_server()));
    votes(newcomer(young(q + 1s)));
    waits_for(newcomer(young(q)), 0s, 1s); // whole seconds: 10 may be 9.1
    waits_for(newcomer(young(4s)), 0s, 7s);
    waits_for(newcomer(young(0s)), 0s, q);
    BOOST_TEST((newcomer(young(0s)).last == event::started));
}

BOOST_AUTO_TEST_CASE(the_quarantine_ends_by_itself)
{
    auto const known = newcomer(young(0s));
    waits_for(known, 9s, 1s);
    votes(known, 10s);
}

BOOST_AUTO_TEST_CASE(a_longer_lock_lengthens_it)
{
    auto const known = newcomer(young(11s));
    BOOST_TEST(!waits(known, 0s, 10s).has_value());
    BOOST_TEST((waits(known, 0s, 60s) == 50s));
    BOOST_TEST((waits(known, 20s, 60s) == 30s));
    BOOST_TEST(!waits(newcomer(young(0s)), 0s, 0s).has_value()); // no lock yet
}

BOOST_AUTO_TEST_CASE(who_cannot_have_lost_anything_votes)
{
    votes(newcomer(but(young(0s), [](auto& f) { f.durable = true; })));
    votes(newcomer(young(0s), {.assume_fresh = true}));
    votes(newcomer(young(0s), {.trust_restarted_nodes = true}));
}

// When it was promoted cannot be told: only its age can be judged, and its disk proves nothing.
BOOST_AUTO_TEST_CASE(a_promoted_server_is_judged_by_its_age)
{
    auto const promoted = [](auto& f) {
        f.promoted = true;
        f.durable = true;
    };
    votes(newcomer(but(old_server(), promoted)));
    waits_for(newcomer(but(young(4s), promoted)), 0s, 7s);
}

BOOST_AUTO_TEST_CASE(who_tells_nothing_is_not_guarded)
{
    votes(newcomer({}));
    BOOST_TEST(!newcomer({}).met());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(meeting_again)

BOOST_AUTO_TEST_CASE(the_same_life_stays_what_it_was)
{
    votes(again(old_server(), old_server(), 5s), 5s);
    waits_for(again(young(0s), young(5s), 5s), 5s, 5s);
    waits_for(again(young(0s), young(1h), 5s), 5s, 5s); // its clock was set forward meanwhile
    votes(again(young(0s), young(5s), 5s, {.assume_fresh = true}), 5s);
}

BOOST_AUTO_TEST_CASE(a_restart_is_counted_from_where_the_last_life_was_heard)
{
    auto const met = again(old_server(), another(3s), 20s);
    waits_for(met, 20s, 8s);
    BOOST_TEST((met.last == event::restarted));
    votes(again(old_server(), another(12s), 20s), 20s);
    // Its uptime is more than can be: the clock was set forward.
    waits_for(again(old_server(), another(1h), 4s), 4s, 6s);
    votes(again(old_server(), another(1h), 11s), 11s);
}

BOOST_AUTO_TEST_CASE(a_witnessed_restart_is_not_assumed_to_be_fresh)
{
    admission_terms const fresh{.assume_fresh = true};
    waits_for(again(young(0s), another(0s), 2s, fresh), 2s, q);
    waits_for(again(old_server(), another(1h), 2s, fresh), 2s, 8s);
    votes(again(young(0s), another(0s), 2s, {.trust_restarted_nodes = true}), 2s);
}

BOOST_AUTO_TEST_CASE(a_durable_node_votes_again_at_once)
{
    auto const durable = [](auto& f) { f.durable = true; };
    votes(again(old_server(), but(another(0s), durable), 2s), 2s);
    votes(again(old_server(), but(another(2s), durable), 2s), 2s);
    // It kept what the life before had, which was not everything.
    waits_for(again(young(0s), but(another(0s), durable), 2s), 2s, 8s);
}

BOOST_AUTO_TEST_CASE(another_machine_has_nothing_of_ours_however_durable)
{
    auto const durable = [](auto& f) { f.durable = true; };
    auto const met = again(old_server(), but(another(1h), durable), 2s);
    waits_for(met, 2s, 8s);
    BOOST_TEST((met.last == event::replaced));
}

BOOST_AUTO_TEST_CASE(a_promoted_successor_waits_from_now_on)
{
    for (bool const durable : {false, true})
        waits_for(again(old_server(),
                        but(another(1h),
                            [&](auto& f) {
                                f.promoted = true;
                                f.durable = durable;
                            }),
                        30s),
                  30s, q);
}

BOOST_AUTO_TEST_CASE(a_changed_history_waits_from_now_on)
{
    for (admission_terms const terms : {admission_terms{}, {.assume_fresh = true}})
        for (bool const durable : {false, true}) {
            auto const flipped = but(old_server(), [&](auto& f) {
                f.replid = "other data";
                f.durable = durable;
            });
            auto const met = again(old_server(), flipped, 30s, terms);
            waits_for(met, 30s, q);
            BOOST_TEST((met.last == event::changed_history));
        }
    votes(again(old_server(), but(old_server(), [](auto& f) { f.replid = "other"; }), 30s,
                {.trust_restarted_nodes = true}),
          30s);
}

BOOST_AUTO_TEST_CASE(a_clock_that_was_set_forward_waits_from_now_on)
{
    auto const durable = [](auto& f) { f.durable = true; };
    auto const stepped = set_forward(newcomer(old_server()), 20s, at(5s));
    BOOST_TEST((stepped.last == event::set_forward));
    BOOST_TEST((stepped.forward == 20s));
    waits_for(stepped, 5s, q);
    // Neither a new connection nor a restart lifts it: keys come back from the disk as they were.
    for (auto const& facts : {old_server(), but(another(0s), durable)})
        for (bool const trusted : {false, true})
            waits_for(meet(facts, stepped, at(6s), {.trust_restarted_nodes = trusted}, at(7s)), 7s, q - 2s);
    auto const trusted = meet(another(0s), stepped, at(6s), {.trust_restarted_nodes = true}, at(7s));
    BOOST_TEST(trusted.run_id == "another run");
    BOOST_TEST(trusted.replid == "other data");
}

BOOST_AUTO_TEST_CASE(a_connection_that_told_nothing_changes_nothing)
{
    auto const silent = again(young(0s), {}, 2s);
    waits_for(silent, 2s, 8s);
    auto const then = meet(another(0s), silent, at(1s), {.assume_fresh = true}, at(3s));
    waits_for(then, 3s, q);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(a_quarantine_outlasts_every_key)
{
    BOOST_TEST((quarantine_length(11s) == 11110ms));
    BOOST_TEST((quarantine_length(0s) == 0s));
}

BOOST_AUTO_TEST_SUITE_END()
