// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/lone_client.hpp"
#include "core/rendezvous.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A client that waits for a lock on three real servers; who has it before is the test.
struct three_nodes_fixture : cleared_servers, held_clock_base {
    std::shared_ptr<recorder> const told = std::make_shared<recorder>();
    lone_client s{settings()};
    mutex wanted = s.lock("resource", by_turns(long_lived));
    mutex longer =
        s.lock("resource", by_turns({.ttl = 20min, .node_timeout = 20s})); ///< nothing is handed over to it
    outcome_ptr first = std::make_shared<outcome>();
    outcome_ptr second = std::make_shared<outcome>();

    std::size_t const meeting_point = where_all_meet();

    [[nodiscard]] config settings() const
    {
        config with = servers.settings();
        with.observer = told;
        return with;
    }

    [[nodiscard]] std::size_t where_all_meet() const
    {
        std::vector<std::string> names;
        for (auto const& row : s.locks->node_table())
            names.push_back(row.node);
        return core::rendezvous_node(names, "", "resource");
    }

    [[nodiscard]] std::ptrdiff_t votes_for(std::string const& name) const
    {
        return std::ranges::count(told->votes, name, &recorder::vote::resource);
    }

    /// Longer than anybody waits here.
    void others_take_it(std::string const& owner)
    {
        servers.command({"SET", "resource", owner, "PX", "1000000"});
    }
    void others_leave() { servers.command({"DEL", "resource"}); }

    template <class Condition>
    void pass_time_until(Condition met)
    {
        run_until(s.context, [&] {
            clock.advance(50us);
            return met();
        });
    }
    void meet(std::string const& owner)
    {
        pass_time_until([&] {
            auto const table = wanted.last_attempt();
            return !table.empty() && table[meeting_point].owner == owner;
        });
    }

    /// All nodes have answered something that was asked later, and the answers to that as well: what was on its way to the
    /// client has been read, and what it sent was answered.
    void settle()
    {
        for (auto const* name : {"one", "other"}) {
            auto const got = std::make_shared<outcome>();
            s.lock(name).try_acquire(keeps_outcome{got});
            run_until(s.context, [&] { return got->granted.votes() == 3; });
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(pauses, three_nodes_fixture)

/// Somebody else had it between two leases of its own, and since then it has met nobody new. It has waited for so long that
/// it would ask at any word: that the key is gone where all meet says nothing of a majority, and yet the pause begins with it.
BOOST_AUTO_TEST_CASE(pause_after_release_starts_with_peek_at_rendezvous_node)
{
    settle(); // all nodes are connected
    others_take_it("stranger");
    wanted.acquire(keeps_outcome{first});
    meet("stranger");
    others_leave();
    pass_time_until([&] { return first->done(); });

    longer.acquire(keeps_outcome{second});
    others_take_it("stranger");
    first->granted = {};
    meet("stranger");
    clock.advance(20ms); // it would have asked again by itself, had nobody promised word
    settle();
    auto const votes = votes_for("resource");
    servers.ask(meeting_point).command({"DEL", "resource"});
    settle();
    BOOST_TEST(votes_for("resource") == votes);
    others_leave();
    pass_time_until([&] { return second->done(); });
}

BOOST_AUTO_TEST_SUITE_END()
