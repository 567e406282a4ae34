#include "component/held_clock.hpp"
#include "component/stage.hpp"
#include "lock/resource.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
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

struct its_clock {
    held_clock clock;
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
        return lock::resources{""}.at("resource")->meeting_point(names);
    }

    /// Longer than anybody waits here.
    void others_take_it(std::string const& owner)
    {
        for (std::size_t i = 0; i != 3; ++i)
            servers.eye(i).command({"SET", "resource", owner, "PX", "1000000"});
    }
    void others_leave(std::size_t node) { servers.eye(node).command({"DEL", "resource"}); }

    template <class Condition>
    void pass_time_until(Condition met)
    {
        run_until(s.context, [&] {
            clock.advance(100us);
            return met();
        });
    }
    /// The key has been looked at everywhere: a while after the refusal where nobody meets, too.
    void meet(std::string const& owner)
    {
        pass_time_until([&] {
            auto const table = wanted.last_attempt();
            auto const looked_at = [](node_outcome const& row) { return row.remaining.has_value(); };
            return !table.empty() && std::ranges::all_of(table, looked_at) &&
                   table[meeting_point].owner == owner;
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

/// It has met two others between two leases of its own, and one since. It has waited for so long that it would ask at any
/// word: that the key is gone where all meet says nothing of a majority, and yet the pause begins with it.
BOOST_AUTO_TEST_CASE(begin_where_all_meet_whatever_is_known_of_the_others)
{
    others_take_it("owner-01");
    wanted.acquire(keeps_outcome{first});
    meet("owner-01");
    others_take_it("owner-02");
    meet("owner-02");
    for (std::size_t i = 0; i != 3; ++i)
        others_leave(i);
    pass_time_until([&] { return first->done(); });

    longer.acquire(keeps_outcome{second});
    others_take_it("owner-03");
    first->granted = {};
    meet("owner-03");
    clock.advance(1s);
    settle();
    auto const votes = told->votes;
    others_leave(meeting_point);
    settle();
    BOOST_TEST(told->votes == votes);
    clock.advance(1s);
    run_until(s.context, [&] { return told->votes != votes; });
}

BOOST_AUTO_TEST_SUITE_END()
