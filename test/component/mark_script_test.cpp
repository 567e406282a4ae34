// SPDX-License-Identifier: BSL-1.0
// What a node's marker tells on a real server (docs/protocol.md, rule F6).
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace redlock::test {

namespace {

struct marked_node {
    struct account {
        std::string life;
        std::string lineage;
        long long since;
        long long placed;
        long long now; ///< when it was told
    };

    /// Asked for by a client that knows this life of the server, and has seen that marker, and when.
    account mark(std::string const& life, std::string const& answered_for, std::string const& seen = "",
                 std::string const& when = "")
    {
        std::string const told = node.command({"EVAL", std::string(redis::scripts::mark.text), "1", "marker",
                                               life, "drawn", "", answered_for, seen, when});
        auto const space = told.find(' ');
        std::vector<std::string> parts{""};
        for (char const c : told.substr(space + 1))
            c == '/' ? (void)parts.emplace_back() : parts.back().push_back(c);
        BOOST_TEST_REQUIRE(parts.size() == 4U, told);
        BOOST_TEST((node.get("marker") == told.substr(space + 1)));
        return {parts[0], parts[1], std::stoll(parts[2]), std::stoll(parts[3]), std::stoll(told)};
    }
    void set(std::string const& text) { node.command({"SET", "marker", text}); }
    void forget() { node.command({"DEL", "marker"}); }

    redis_server server;
    probe node{server.port()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mark_script, marked_node)

BOOST_AUTO_TEST_CASE(absence_of_marker_proves_nothing)
{
    auto const first = mark("life", "");
    BOOST_TEST(first.lineage == "drawn");
    BOOST_TEST(first.since == first.now);
    BOOST_TEST(first.placed == first.now);
    forget();
    auto const answered_for = mark("life", "1");
    BOOST_TEST(answered_for.since == 0);
    BOOST_TEST(answered_for.placed == answered_for.now);
    forget();
    auto const lost = mark("life", "1", "life/old/50/50", "200"); // there was one
    BOOST_TEST(lost.since == lost.now);
}

BOOST_AUTO_TEST_CASE(marker_that_came_after_a_loss_is_replaced)
{
    set("life/new/100/100");
    auto const of_before = mark("life", "", "life/old/50/50", "200");
    BOOST_TEST(of_before.lineage == "drawn");
    BOOST_TEST(of_before.since == of_before.now);
    BOOST_TEST(of_before.placed == of_before.now);
    set("life/new/300/300");
    BOOST_TEST(mark("life", "", "life/old/50/50", "200").since == 300); // it says so itself
}

BOOST_AUTO_TEST_CASE(clients_that_answer_for_a_node_lift_nothing)
{
    set("life/lineage/100/100");
    auto const in_its_life = mark("life", "1");
    BOOST_TEST(in_its_life.since == 100);
    BOOST_TEST(in_its_life.placed == 100);
    auto const in_the_next = mark("next", "1");
    BOOST_TEST(in_the_next.life == "next");
    BOOST_TEST(in_the_next.since == 100);
    BOOST_TEST(in_the_next.placed == in_the_next.now);
}

BOOST_AUTO_TEST_CASE(clock_that_was_set_back_leaves_no_date_ahead)
{
    for (std::string const life : {"life", "next"}) {
        set("life/lineage/9000000000000/9000000000000");
        auto const now = mark(life, "");
        BOOST_TEST(now.since == now.now);
        BOOST_TEST(now.placed == now.now);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
