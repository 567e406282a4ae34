// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"
#include "component/separate_node.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// No turn ends, and none has passed, but where the test says so.
struct one_node_fixture : held_clock_base, separate_node {
    mutex lock{locks, "resource", by_turns(long_lived)};
    outcome_ptr first = std::make_shared<outcome>();
    outcome_ptr second = std::make_shared<outcome>();

    void get()
    {
        lock.acquire(keeps_outcome{first});
        run_both([&] { return first->done(); });
        BOOST_TEST(first->granted.valid());
    }

    void get_from_another()
    {
        refuse();
        lock.acquire(keeps_outcome{first});
        run_both([&] { return node.done(); });
        node.say(canned::invalidation);
        run_both([&] { return first->done(); });
        BOOST_TEST(first->granted.valid());
    }

    /// What it says of the lock right after the release.
    std::string after_the_release()
    {
        auto const scripts = [&] { return node.count("EVAL") + node.count("EVALSHA"); };
        auto const before = scripts();
        first->granted = {};
        lock.acquire(keeps_outcome{second});
        run_both([&] { return scripts() != before && node.heard().back()[0].find("EVAL") != 0; });
        auto const& all = node.heard();
        auto const release = std::ranges::find_if(all.rbegin(), all.rend(),
                                                  [](auto const& w) { return w[0].starts_with("EVAL"); });
        for (auto at = release.base(); at != all.end(); ++at)
            if (at->size() > 1 && at->at(1) == "resource")
                return at->front();
        return {};
    }
};

struct several_waiters_fixture : one_node_fixture {
    mutex longer{locks, "resource",
                 by_turns({.ttl = 20min, .node_timeout = 20s})}; ///< nothing is handed over to it
    mutex control{locks, "control", by_turns(long_lived)};
    outcome_ptr third = std::make_shared<outcome>();

    /// In one segment: the client reads of all of them in one turn.
    void become_free(std::vector<std::string> const& keys)
    {
        std::string words;
        for (auto const& key : keys)
            words += ">2\r\n" + bulk("invalidate") + "*1\r\n" + bulk(key);
        node.say(words);
    }
    std::vector<std::string> last_votes(std::size_t many) const
    {
        std::vector<std::string> keys;
        for (auto const& words : node.heard())
            if (words[0] == "SET")
                keys.push_back(words[1]);
        keys.erase(keys.begin(), keys.end() - static_cast<std::ptrdiff_t>(std::min(many, keys.size())));
        return keys;
    }
};

struct held_clock_cluster_fixture : held_clock_base, scripted_cluster {};

} // namespace

BOOST_FIXTURE_TEST_SUITE(turns, one_node_fixture)

BOOST_AUTO_TEST_CASE(waiter_without_rivals_votes_right_after_release)
{
    get();
    BOOST_TEST(after_the_release() == "SET");
}

BOOST_AUTO_TEST_CASE(waiter_with_known_rival_peeks_after_release)
{
    get_from_another();
    node.expect("EVAL", reply(canned::one))
        .expect("PTTL", reply(":-2\r\n"))
        .expect("GET", reply(canned::nil));
    BOOST_TEST(after_the_release() == "PTTL");
    run_both([&] { return node.done(); });
    BOOST_TEST(!second->done());
    clock.advance(1s); // nobody comes
    run_both([&] { return second->done(); });
    BOOST_TEST(second->granted.valid());
    BOOST_TEST(node.surprises().empty());
}

/// Who waits waits on; who only tries is refused.
BOOST_AUTO_TEST_CASE(try_acquire_is_refused_by_client_that_took_the_turn)
{
    get_from_another();
    node.expect("EVAL", reply(canned::one))
        .expect("PTTL", reply(":100000\r\n"))
        .expect("GET", reply("$8\r\nstranger\r\n"))
        .expect("SET", reply(canned::nil));
    first->granted = {};
    lock.try_acquire(keeps_outcome{second});
    run_both([&] { return second->done(); });
    BOOST_TEST(second->ec == errc::contended);
    BOOST_TEST(node.surprises().empty());
}

/// What the last attempt met says nothing of the turn that follows.
BOOST_FIXTURE_TEST_CASE(waiter_denied_by_one_node_still_offers_the_turn, held_clock_cluster_fixture)
{
    auto one_in_a_row = by_turns(unrenewed);
    one_in_a_row.handover.batch = 1;
    auto wanted = lock("resource", one_in_a_row);
    nodes[2]->expect("SET", reply(canned::nil));
    auto const first = try_acquire(wanted);
    BOOST_TEST(first->ec == error_code());
    come_to_rest(); // the refusal has been read, too
    auto const second = std::make_shared<outcome>();
    wanted.acquire(keeps_outcome{second});
    first->granted = {};
    run_until_each([](auto const& n) { return n.count("EVAL") == 1; });
    clock.advance(1ms); // more than any pause of one who dodges, less than the turn
    come_to_rest();
    for (auto const& node : nodes)
        BOOST_TEST(node->count("SET") == 1U);
    clock.advance(1s); // nobody comes
    run_until(context, [&] { return second->done(); });
    BOOST_TEST(second->ec == error_code());
}

/// It has met two others between two leases of its own, and one since: the next one's turn. A lock for which it lets nobody
/// go first becomes free in the same moment.
BOOST_FIXTURE_TEST_CASE(waiter_that_waited_less_yields_to_others, several_waiters_fixture)
{
    refuse("stranger");
    lock.acquire(keeps_outcome{first});
    run_both([&] { return node.done(); });
    refuse("another one");
    become_free({"resource"});
    run_both([&] { return node.done(); });
    become_free({"resource"});
    run_both([&] { return first->done(); });
    BOOST_TEST(first->granted.valid());

    node.expect("EVAL", reply(canned::one));
    refuse("stranger");
    longer.acquire(
        keeps_outcome{second}); // in the queue already: it votes behind the release, without a turn before
    first->granted = {};
    run_both([&] { return node.done(); });
    refuse("stranger");
    control.acquire(keeps_outcome{third});
    run_both([&] { return node.done(); });
    become_free({"resource", "control"});
    run_both([&] { return third->done(); });
    BOOST_TEST(!second->done());
    clock.advance(1s); // the others do not come
    run_both([&] { return second->done(); });
    BOOST_TEST(last_votes(2) == (std::vector<std::string>{"control", "resource"}),
               boost::test_tools::per_element());
    BOOST_TEST(node.surprises().empty());
}

BOOST_AUTO_TEST_SUITE_END()
