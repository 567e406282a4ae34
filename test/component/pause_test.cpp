#include "component/held_clock.hpp"
#include "component/stage.hpp"
#include "core/rendezvous.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

struct vote_counter final : observer {
    unsigned votes = 0;
    void on_vote(vote_event const& v) noexcept override { votes += v.resource == "resource" ? 1U : 0U; }
};

/// A client that waits for a lock on three real servers; who has it before is the test.
struct three_nodes : its_clock {
    real_servers& servers = real_servers::get();
    std::shared_ptr<vote_counter> const told = std::make_shared<vote_counter>();
    stage s{settings()};
    mutex wanted = s.lock();
    mutex longer =
        s.lock("resource", lock_options{.ttl = 20min, .node_timeout = 20s}); ///< nothing is handed over to it
    outcome_ptr first = std::make_shared<outcome>();
    outcome_ptr second = std::make_shared<outcome>();

    std::size_t const meeting_point = where_all_meet();

    three_nodes() { servers.clear(); }
    ~three_nodes() { servers.clear(); }

    [[nodiscard]] config settings() const
    {
        config with = servers.settings();
        with.observer = told;
        return with;
    }

    [[nodiscard]] std::size_t where_all_meet() const
    {
        std::vector<std::string> names;
        for (auto const& row : s.locks->nodes())
            names.push_back(row.node);
        return core::rendezvous_node(names, "", "resource");
    }

    /// Longer than anybody waits here.
    void others_take_it(std::string const& owner)
    {
        for (std::size_t i = 0; i != 3; ++i)
            servers.eye(i).command({"SET", "resource", owner, "PX", "1000000"});
    }
    void others_leave()
    {
        for (std::size_t i = 0; i != 3; ++i)
            servers.eye(i).command({"DEL", "resource"});
    }

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

BOOST_FIXTURE_TEST_SUITE(pauses, three_nodes)

/// Somebody else had it between two leases of its own, and since then it has met nobody new. It has waited for so long that
/// it would ask at any word: that the key is gone where all meet says nothing of a majority, and yet the pause begins with it.
BOOST_AUTO_TEST_CASE(begin_where_all_meet_whatever_is_known_of_the_others)
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
    auto const votes = told->votes;
    servers.eye(meeting_point).command({"DEL", "resource"});
    settle();
    BOOST_TEST(told->votes == votes);
    others_leave();
    pass_time_until([&] { return second->done(); });
}

BOOST_AUTO_TEST_SUITE_END()
