// SPDX-License-Identifier: BSL-1.0
#include "component/lone_node.hpp"
#include "component/scripted_cluster.hpp"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::size_t a_crowd = 32;

std::vector<outcome_ptr> outcomes(std::size_t count)
{
    std::vector<outcome_ptr> made;
    while (made.size() != count)
        made.push_back(std::make_shared<outcome>());
    return made;
}

bool all_done(std::vector<outcome_ptr> const& results)
{
    return std::ranges::all_of(results, &outcome::done);
}

/// Starts `a_crowd` try_acquires in one turn, each on its own name.
std::vector<outcome_ptr> try_many(scripted_cluster& three)
{
    auto results = outcomes(a_crowd);
    asio::post(three.context, [&] {
        for (std::size_t i = 0; i != a_crowd; ++i)
            three.lock("name" + std::to_string(i)).try_acquire(keeps_outcome{results[i]});
    });
    run_until(three.context, [&] { return all_done(results); });
    return results;
}

} // namespace

BOOST_AUTO_TEST_SUITE(transport)

BOOST_AUTO_TEST_CASE(commands_of_one_turn_are_one_write_per_node)
{
    scripted_cluster three;
    three.warm_up();
    std::vector<std::uint32_t> before;
    for (auto const& node : three.nodes)
        before.push_back(node->writes_received());
    auto const heard_all = [&](std::string_view command, std::size_t times) {
        return std::ranges::all_of(three.nodes, [&](auto const& n) { return n->count(command) == times; });
    };

    auto const results = try_many(three);
    run_until(three.context, [&] { return heard_all("SET", 2 + a_crowd); });
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(three[i].writes_received() - before[i] == 1U);

    asio::post(three.context, [&] {
        for (auto const& r : results)
            r->granted = {};
    });
    run_until(three.context, [&] { return heard_all("EVALSHA", 1 + a_crowd); });
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(three[i].writes_received() - before[i] == 2U);
}

BOOST_AUTO_TEST_CASE(replies_are_matched_to_commands_in_order)
{
    scripted_cluster three;
    three.warm_up();
    for (std::size_t i = 0; i != a_crowd; ++i)
        three.expect_everywhere("SET", reply(i % 3 == 0 ? canned::nil : canned::ok));
    auto const results = try_many(three);
    for (std::size_t i = 0; i != a_crowd; ++i) {
        bool const refused = i % 3 == 0;
        BOOST_TEST(results[i]->ec == (refused ? make_error_code(errc::contended) : error_code()));
        BOOST_TEST(!results[i]->granted.empty() == !refused);
    }
}

/// The other half would be the beginning of the answer to the first vote.
BOOST_AUTO_TEST_CASE(half_reply_after_handshake_closes_connection)
{
    scripted_cluster three;
    three[0].expect("TIME", reply(std::string(canned::time) + "$5\r\n"));
    auto const got = three.try_acquire(three.lock());
    BOOST_TEST(got->ec == error_code());
    auto const first = [&] { return three.locks->node_table().front(); };
    run_until(three.context, [&] { return first().state == node_state::down; });
    BOOST_TEST(first().detail == "handshake: a reply that nobody asked for");
}

// rule A4
BOOST_AUTO_TEST_CASE(empty_push_is_no_answer)
{
    scripted_cluster three;
    three.warm_up();
    three[0].expect("SET", reply(">0\r\n" + std::string(canned::ok)));
    auto const got = three.try_acquire(three.lock());
    run_until(three.context, [&] { return got->granted.votes() == 3; });
}

/// Both releases are about to be sent once more when the third reply is read.
BOOST_AUTO_TEST_CASE(reply_to_what_is_not_sent_yet_closes_connection)
{
    scripted_cluster three;
    three.warm_up();
    std::vector<outcome_ptr> held;
    for (auto const* name : {"one", "other"}) {
        held.push_back(three.try_acquire(three.lock(name)));
        run_until(three.context, [&] { return held.back()->granted.votes() == 3; });
    }
    three[0].expect("EVALSHA", reply(canned::noscript));
    three[0].expect("EVALSHA", reply(std::string(canned::noscript) + std::string(canned::one)));
    asio::post(three.context, [&] { held.clear(); });
    run_until(three.context, [&] { return three[0].accepted() == 2; });
}

BOOST_AUTO_TEST_CASE(answer_after_node_timeout_is_not_taken_for_the_next)
{
    lock_options options = unrenewed;
    options.node_timeout = 20ms;
    scripted_cluster three;
    three.warm_up();
    three[0].expect("SET", late(canned::ok));
    three[1].expect("SET", late(canned::ok));
    auto lock = three.lock("slow", options);
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    BOOST_TEST((lock.last_attempt().at(0).result == node_result::timed_out));

    three.run_until_heard(6);
    three[0].deliver_late();
    three[1].deliver_late();
    three[0].expect("SET", reply(canned::nil));
    three[1].expect("SET", reply(canned::nil));
    BOOST_TEST(three.try_acquire(three.lock("next"))->ec == errc::contended);
    auto last = three.lock("last");
    auto const got = three.try_acquire(last);
    BOOST_TEST_INFO(to_string(last.last_attempt()));
    BOOST_TEST(got->ec == error_code());
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(three[i].accepted() == 1U);
    BOOST_TEST(!three.surprised());
}

/// The votes of a lost attempt are taken back on every node, also on one that has not answered.
// rule A6
BOOST_AUTO_TEST_CASE(lost_attempt_is_undone_on_nodes_that_did_not_deny)
{
    scripted_cluster three;
    three.warm_up();
    three[0].expect("SET", reply(canned::nil));
    three[1].expect("SET", reply(canned::nil));
    three[2].expect("SET", late(canned::ok));
    auto const before = three[0].count("EVALSHA") + three[1].count("EVALSHA");
    BOOST_TEST(three.try_acquire(three.lock())->ec == errc::contended);
    auto const taken_back = [](scripted_node const& n) {
        auto const& last = n.heard().back();
        auto const vote = std::ranges::find_if(
            n.heard(), [](auto const& w) { return w[0] == "SET" && w[1] == "resource"; });
        return last[0] == "EVALSHA" && last[3] == "resource" && last[4] == vote->at(2);
    };
    run_until(three.context, [&] { return taken_back(three[2]); });
    BOOST_TEST(three[0].count("EVALSHA") + three[1].count("EVALSHA") == before);
}

/// A dead connection is replaced before a vote is lost to it.
BOOST_AUTO_TEST_CASE(closed_idle_connection_is_replaced_before_next_vote)
{
    scripted_cluster three;
    three.warm_up();
    for (auto const& node : three.nodes)
        node->close_all();
    three.be_idle();
    auto const got = three.try_acquire(three.lock());
    BOOST_TEST(got->ec == error_code());
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(three[i].accepted() == 2U);
}

BOOST_AUTO_TEST_CASE(client_does_not_connect_after_shutdown)
{
    scripted_cluster three;
    three.warm_up();
    auto const shut = std::make_shared<outcome>();
    three.locks->shutdown(keeps_outcome{shut});
    run_until(three.context, [&] { return shut->done(); });
    BOOST_TEST(shut->ec == error_code());
    BOOST_TEST(three.try_acquire(three.lock())->ec == errc::shut_down);
    three.be_idle();
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(three[i].accepted() == 1U);
        BOOST_TEST(three[i].open() == 0U);
    }
    for (auto const& node : three.locks->node_table())
        BOOST_TEST((node.state == node_state::idle));
}

BOOST_AUTO_TEST_CASE(node_with_full_output_buffer_is_closed)
{
    constexpr std::uint32_t bound = 1U << 17U;
    asio::io_context context;
    lone_node alone(context, std::get<redis::endpoint>(redis::parse_url(nobody_there().nodes[0])));
    net::node& node = alone.node;
    counting_sink& sink = alone.sink;
    std::uint32_t sent = 0;
    while (sent != 2 * bound && node.ensure_can_send()) {
        redis::append_command(node.output(), {"PING"});
        node.expect(sink, sent++);
    }
    BOOST_TEST(sent == bound);
    run_until(context, [&] { return sink.failures == sent; });
    BOOST_TEST(sink.in_order);
    BOOST_TEST(sink.replies == 0U);
    BOOST_TEST((node.state() == node_state::down));
    node.close();
    run_dry(context);
    BOOST_TEST(sink.failures == sent);
}

BOOST_AUTO_TEST_SUITE_END()
