// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"
#include "core/rendezvous.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// One who waits, and who is woken before a node has said whose the key is there.
struct peek_fixture : scripted_cluster {
    outcome_ptr result = std::make_shared<outcome>();
    mutex wanted = lock("resource", without_polling(by_turns(unrenewed)));
    std::size_t const first = where_all_meet();
    scripted_node& meeting_point = *nodes[first];
    scripted_node& left = *nodes[(first + 1) % 3];
    std::size_t const late_one = (first + 2) % 3;
    scripted_node& slow = *nodes[late_one];

    [[nodiscard]] std::size_t where_all_meet() const
    {
        std::vector<std::string> names;
        for (auto const& row : locks->node_table())
            names.push_back(row.node);
        return core::rendezvous_node(names, "", "resource");
    }
    static void is_taken(scripted_node& node, answer const& time_left = reply(":100000\r\n"))
    {
        node.expect("SET", reply(canned::nil))
            .expect("PTTL", time_left)
            .expect("GET", reply("$8\r\nstranger\r\n"));
    }
    /// The attempt is lost elsewhere, and its vote is taken back.
    static void is_had_for_a_moment(scripted_node& node, answer const& vote = reply(canned::ok))
    {
        node.expect("SET", vote).expect("EVALSHA", reply(canned::one)).expect("PTTL", reply(":-2\r\n"));
    }
    static void has_changed(scripted_node& node) { node.say(canned::invalidation); }
    /// An attempt that is lost everywhere. Afterwards `left` has no key any more.
    void lose_first_attempt(answer const& time_left_of_slow)
    {
        warm_up();
        is_taken(meeting_point);
        left.expect("SET", late(canned::nil))
            .expect("EVALSHA", reply(canned::zero))
            .expect("PTTL", reply(":-2\r\n"));
        is_taken(slow, time_left_of_slow);
        wanted.acquire(keeps_outcome{result});
        run_until_all_is_said();
        left.deliver_late();
    }
};

struct held_clock_peek_fixture : held_clock_base, peek_fixture {
    held_clock_peek_fixture()
    {
        config quick = defaults();
        quick.reconnect.min_delay = 1ms;
        connect_with(quick);
        wanted = lock("resource", without_polling(by_turns(unrenewed)));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(peeks, peek_fixture)

/// The others may have it meanwhile.
BOOST_AUTO_TEST_CASE(vote_after_peek_does_not_wait_for_silent_node)
{
    lose_first_attempt(reply(":100000\r\n"));
    meeting_point.expect("SET", late(canned::nil));
    auto const votes_before = meeting_point.count("SET");
    has_changed(meeting_point);
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == error_code());
    be_idle();
    BOOST_TEST(meeting_point.count("SET") == votes_before + 1); // and not again when the others are asked
    meeting_point.deliver_late();
}

/// It is asked first, and is refused by the next one before it has answered.
BOOST_AUTO_TEST_CASE(node_that_was_silent_counts_as_free_once_it_answers)
{
    lose_first_attempt(reply(":100000\r\n"));
    is_had_for_a_moment(meeting_point, late(canned::ok));
    is_taken(left);
    has_changed(meeting_point);
    run_until_all_is_said();
    come_to_rest();

    meeting_point.deliver_late();
    come_to_rest();
    BOOST_TEST(!result->done());
    has_changed(left);
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(!surprised());
    BOOST_TEST(result->ec == error_code());
}

/// Two are, and one of them still is in the attempt after that, which does not ask it.
BOOST_AUTO_TEST_CASE(node_that_answers_attempts_later_counts_as_free)
{
    lose_first_attempt(reply(":100000\r\n"));
    is_had_for_a_moment(meeting_point, late(canned::ok));
    is_had_for_a_moment(left, late(canned::ok));
    is_taken(slow);
    has_changed(meeting_point);
    run_until_all_is_said();
    come_to_rest();
    meeting_point.deliver_late();
    come_to_rest();

    is_taken(meeting_point);
    left.expect("PTTL", reply(":-2\r\n"));
    slow.expect("PTTL", reply(":100000\r\n"));
    has_changed(slow);
    run_until_all_is_said();
    come_to_rest();

    left.deliver_late();
    come_to_rest();
    BOOST_TEST(!result->done());
    has_changed(meeting_point);
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(!surprised());
    BOOST_TEST(result->ec == error_code());
}

/// The next attempt is lost where all meet, and its number is not that of the question: what was asked before is asked again.
BOOST_AUTO_TEST_CASE(peek_overtaken_by_attempt_is_repeated)
{
    lose_first_attempt(late(":100000\r\n"));

    is_taken(meeting_point);
    slow.expect("PTTL", reply(":90000\r\n")).expect("GET", reply("$8\r\nstranger\r\n"));
    be_idle();
    has_changed(meeting_point);
    run_until(context, [&] { return meeting_point.done(); });
    slow.deliver_late();
    run_until(context, [&] { return wanted.last_attempt().at(late_one).remaining.has_value(); });
    BOOST_TEST(!surprised());
    BOOST_TEST(!result->done());
}

/// Its own vote has changed the key, and its own release: a server tells nobody of what he does himself, and forgets that he
/// listens.
BOOST_AUTO_TEST_CASE(peek_follows_undone_vote)
{
    warm_up();
    is_had_for_a_moment(meeting_point);
    is_taken(left);
    is_taken(slow);
    wanted.acquire(keeps_outcome{result});
    run_until_all_is_said();
    come_to_rest(); // an answer that comes behind the change would be asked for again

    is_had_for_a_moment(meeting_point);
    is_taken(left);
    slow.expect("SET", reply(canned::nil));
    has_changed(left);
    run_until_all_is_said();
    BOOST_TEST(!surprised());
    BOOST_TEST(!result->done());
}

/// The script was forgotten. So the key was still there when somebody looked, behind the release that came to nothing.
BOOST_AUTO_TEST_CASE(peek_follows_release_that_was_resent)
{
    warm_up();
    is_taken(meeting_point);
    is_taken(slow);
    left.expect("SET", reply(canned::ok))
        .expect("EVALSHA", late(canned::noscript))
        .expect("PTTL", reply(":100000\r\n"));
    wanted.acquire(keeps_outcome{result});
    run_until_all_is_said();

    left.expect("EVAL", reply(canned::one)).expect("PTTL", reply(":-2\r\n"));
    left.deliver_late();
    run_until_all_is_said();
    BOOST_TEST(!surprised());
    BOOST_TEST(!result->done());
}

/// While an attempt is under way that does not ask that node.
BOOST_FIXTURE_TEST_CASE(peek_follows_new_connection, held_clock_peek_fixture)
{
    auto const look_around = [&] {
        clock.advance(2ms);
        run_until_all_is_said();
    };
    warm_up();
    is_taken(meeting_point);
    is_had_for_a_moment(left);
    is_taken(slow);
    wanted.acquire(keeps_outcome{result});
    run_until(context, [&] { return meeting_point.done(); });
    look_around();

    meeting_point.expect("SET", late(canned::nil));
    has_changed(meeting_point);
    run_until(context, [&] { return meeting_point.done(); });
    auto const slow_is = [&](node_state state) { return locks->node_table()[late_one].state == state; };
    slow.close_all();
    run_until(context, [&] { return slow_is(node_state::down); });
    clock.advance(1ms);
    run_until(context, [&] { return slow_is(node_state::ready); });
    for (scripted_node* const node : {&meeting_point, &slow})
        node->expect("PTTL", reply(":100000\r\n")).expect("GET", reply("$8\r\nstranger\r\n"));
    meeting_point.deliver_late();
    run_until(context, [&] { return meeting_point.done(); });
    look_around();
    BOOST_TEST(!surprised());
    BOOST_TEST(!result->done());
}

BOOST_AUTO_TEST_SUITE_END()
