// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(error_replies)

BOOST_AUTO_TEST_CASE(vote_with_error_reply_is_classified_and_not_counted)
{
    struct row {
        std::string_view bytes;
        server_error error;
    };
    for (row const& r :
         {row{canned::readonly, server_error::readonly}, row{canned::masterdown, server_error::masterdown},
          row{canned::loading, server_error::loading}, row{canned::busy, server_error::busy},
          row{canned::misconf, server_error::misconf}, row{canned::noreplicas, server_error::noreplicas},
          row{canned::oom, server_error::oom}, row{canned::clusterdown, server_error::clusterdown},
          row{canned::tryagain, server_error::tryagain}, row{canned::moved, server_error::moved},
          row{canned::ask, server_error::ask}, row{canned::noauth, server_error::noauth},
          row{canned::noperm, server_error::noperm}, row{canned::wrongtype, server_error::wrongtype},
          row{canned::noscript, server_error::noscript}, row{"-ERR what\r\n", server_error::other},
          row{"!9\r\nERR what?\r\n", server_error::other}, row{"-\r\n", server_error::other}})
        BOOST_TEST_CONTEXT(r.bytes)
        {
            scripted_cluster three;
            three.warm_up();
            three[0].expect("SET", reply(r.bytes));
            three[1].expect("SET", reply(r.bytes));
            auto lock = three.lock();
            auto const result = three.try_acquire(lock);
            BOOST_TEST(result->ec == errc::no_quorum);
            auto const table = lock.last_attempt();
            for (std::size_t i : {0U, 1U}) {
                BOOST_TEST(table.at(i).result == node_result::refused);
                BOOST_TEST(table.at(i).error == r.error);
            }
            BOOST_TEST(table.at(2).error == server_error::none);

            // A node that answers with an error takes no part; the other nodes are a majority.
            three.run_until_heard(6);
            three[0].expect("SET", reply(r.bytes));
            auto const again = three.try_acquire(lock);
            BOOST_TEST_INFO(to_string(lock.last_attempt()));
            BOOST_TEST(again->ec == error_code());
            run_until(three.context, [&] { return three[0].done() && again->granted.votes() == 2; });
            BOOST_TEST(!three.surprised());
        }
}

/// It has become a replica, or loads other data: the next connection shows whether its memory is certain.
// rules N3 and N5
BOOST_AUTO_TEST_CASE(node_that_takes_no_writes_any_more_is_connected_anew)
{
    for (std::string_view bytes : {canned::readonly, canned::masterdown, canned::loading})
        BOOST_TEST_CONTEXT(bytes)
        {
            scripted_cluster three;
            three.warm_up();
            auto const before = three[0].count("HELLO");
            three[0].expect("SET", reply(bytes));
            (void)three.try_acquire(three.lock());
            run_until(three.context, [&] { return three[0].count("HELLO") == before + 1; });
        }
}

/// A reply that is neither OK, nil nor an error is no vote either.
BOOST_AUTO_TEST_CASE(vote_with_unexpected_reply_is_not_counted)
{
    for (std::string_view bytes :
         {":1\r\n", "$2\r\nOK\r\n", "+QUEUED\r\n", "*0\r\n", "#t\r\n", "*1\r\n+OK\r\n"})
        BOOST_TEST_CONTEXT(bytes)
        {
            scripted_cluster three;
            three[0].expect("SET", reply(bytes));
            three[1].expect("SET", reply(bytes));
            auto lock = three.lock();
            BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
            BOOST_TEST(lock.last_attempt().at(0).result == node_result::refused);
            BOOST_TEST(lock.last_attempt().at(1).error == server_error::other);
        }
}

BOOST_AUTO_TEST_CASE(vote_with_nil_reply_means_held_by_other)
{
    for (std::string_view bytes : {canned::nil, canned::nil_resp2, std::string_view("*-1\r\n")})
        BOOST_TEST_CONTEXT(bytes)
        {
            scripted_cluster three;
            three[0].expect("SET", reply(bytes));
            three[1].expect("SET", reply(bytes));
            auto lock = three.lock();
            BOOST_TEST(three.try_acquire(lock)->ec == errc::contended);
            BOOST_TEST(lock.last_attempt().at(0).result == node_result::held_by_other);
        }
}

BOOST_AUTO_TEST_CASE(noscript_on_release_is_followed_by_one_eval)
{
    scripted_cluster three;
    three.warm_up();
    auto const got = three.try_acquire(three.lock());
    three.run_until_heard(5);
    three.expect_everywhere("EVALSHA", reply(canned::noscript));
    three.expect_everywhere("EVAL", reply(canned::one));
    BOOST_TEST(three.release(got->granted) == error_code());
    run_until(three.context, [&] { return three[0].done() && three[1].done() && three[2].done(); });
    BOOST_TEST(!three.surprised());
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(three[i].count("EVAL") == 2U); // the first of all, and this one
}

BOOST_AUTO_TEST_CASE(noscript_on_extend_is_followed_by_one_eval)
{
    scripted_cluster three;
    auto const got = three.try_acquire(three.lock());
    BOOST_TEST(three.extend(got->granted) == error_code());
    // Once every connection has used the hash, all of them will.
    std::size_t heard = 2;
    for (three.run_until_heard(heard);
         three[0].count("EVALSHA") * three[1].count("EVALSHA") * three[2].count("EVALSHA") == 0;
         three.run_until_heard(heard)) {
        BOOST_TEST(three.extend(got->granted) == error_code());
        ++heard;
    }
    three.expect_everywhere("EVALSHA", reply(canned::noscript));
    three.expect_everywhere("EVAL", reply(canned::one));
    BOOST_TEST(three.extend(got->granted) == error_code());
    run_until(three.context, [&] { return three[0].done() && three[1].done() && three[2].done(); });
    BOOST_TEST(!three.surprised());
    BOOST_TEST(got->granted.valid());
}

/// A server that does not know what was just sent to it in full is not asked a third time.
BOOST_AUTO_TEST_CASE(noscript_on_eval_is_an_error)
{
    scripted_cluster three;
    three[0].expect("SET", reply(canned::ok)).expect("EVAL", reply(canned::noscript));
    three[1].expect("SET", reply(canned::ok)).expect("EVAL", reply(canned::noscript));
    three[2].expect("SET", reply(canned::ok)).expect("EVAL", reply(canned::noscript));
    auto const got = three.try_acquire(three.lock());
    BOOST_TEST(three.release(got->granted) == errc::no_quorum);
    three.locks->shutdown([](error_code) {});
    run_until(three.context, [&] { return three[0].open() + three[1].open() + three[2].open() == 0; });
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(three[i].count("EVAL") == 1U);
}

BOOST_AUTO_TEST_CASE(extension_refused_by_majority_ends_lease)
{
    scripted_cluster three;
    auto const got = three.try_acquire(three.lock());
    three.run_until_heard(1);
    three.expect_everywhere("EVAL", reply(canned::zero));
    BOOST_TEST(three.extend(got->granted) == errc::lease_lost);
    BOOST_TEST(!got->granted.valid());
    BOOST_TEST(got->granted.state() == lease_state::lost);
}

/// One node answers with an error, so the round has failed with the first refusal. The second refusal counts as well.
// rule H6
BOOST_AUTO_TEST_CASE(extension_refused_by_all_remaining_nodes_ends_lease)
{
    scripted_cluster three;
    auto const got = three.try_acquire(three.lock());
    three.run_until_heard(1);
    three[0].expect("EVAL", reply(canned::misconf));
    three[1].expect("EVAL", reply(canned::zero));
    three[2].expect("EVAL", late(canned::zero));
    BOOST_TEST(three.extend(got->granted) == errc::no_quorum);
    BOOST_TEST(got->granted.valid());
    run_until(three.context, [&] { return three[2].done(); });
    three[2].deliver_late();
    run_until(three.context, [&] { return got->granted.state() == lease_state::lost; });
    BOOST_TEST((got->granted.cause() == loss_cause::refused));
}

BOOST_AUTO_TEST_CASE(extension_with_error_replies_leaves_lease_valid)
{
    scripted_cluster three;
    auto const got = three.try_acquire(three.lock());
    three.run_until_heard(1);
    three.expect_everywhere("EVAL", reply(canned::misconf));
    BOOST_TEST(three.extend(got->granted) == errc::no_quorum);
    BOOST_TEST(got->granted.valid());
    BOOST_TEST(three.extend(got->granted) == error_code());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(handshakes)

BOOST_AUTO_TEST_CASE(handshake_with_loading_server_gets_no_vote)
{
    scripted_cluster three;
    three[0].expect("HELLO", reply(canned::loading));
    three[1].expect("HELLO", reply(canned::loading));
    auto lock = three.lock();
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    auto const table = lock.last_attempt();
    BOOST_TEST(table.at(0).result == node_result::refused);
    BOOST_TEST(table.at(0).error == server_error::loading);
    BOOST_TEST(three[0].count("SET") == 0U);
}

BOOST_AUTO_TEST_CASE(handshake_without_password_reports_noauth)
{
    scripted_cluster three;
    three.expect_everywhere("HELLO",
                            reply("-NOAUTH HELLO must be called with the client already authenticated\r\n"));
    auto lock = three.lock();
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    for (auto const& row : lock.last_attempt())
        BOOST_TEST(row.error == server_error::noauth);
}

BOOST_AUTO_TEST_CASE(handshake_without_hello_falls_back_to_resp2)
{
    scripted_cluster three;
    three.expect_everywhere("HELLO", reply(canned::unknown_hello));
    auto const got = three.try_acquire(three.lock());
    BOOST_TEST(got->ec == error_code());
    BOOST_TEST(three.release(got->granted) == error_code());
    three.run_until_heard(2);
    three.expect_everywhere("SET", reply(canned::nil_resp2));
    BOOST_TEST(three.try_acquire(three.lock("other"))->ec == errc::contended);
}

BOOST_AUTO_TEST_CASE(handshake_with_end_or_malformed_reply_means_unreachable)
{
    for (answer const& a :
         {hang_up(), reset(), reply("HTTP/1.1 400 Bad Request\r\n\r\n"), reply("$999999999999\r\n")}) {
        scripted_cluster three;
        three[0].expect("HELLO", a);
        three[1].expect("HELLO", a);
        auto lock = three.lock();
        BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
        BOOST_TEST(lock.last_attempt().at(0).result == node_result::unreachable);
        BOOST_TEST(three[0].count("SET") == 0U);
    }
}

BOOST_AUTO_TEST_CASE(handshake_tolerates_single_bytes_and_pushes)
{
    scripted_cluster three;
    three[0].expect("HELLO", dribble(canned::hello));
    three[1].expect("HELLO", reply(">2\r\n+message\r\n+hello\r\n" + std::string(canned::hello)));
    three[2].expect("HELLO", hang_up());
    BOOST_TEST(three.try_acquire(three.lock())->ec == error_code());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(reply_framing)

BOOST_AUTO_TEST_CASE(push_between_replies_is_ignored)
{
    std::string const push(canned::invalidation);
    scripted_cluster three;
    three.expect_everywhere("SET", reply(push + std::string(canned::ok) + push));
    auto const got = three.try_acquire(three.lock());
    BOOST_TEST(got->ec == error_code());
    three.run_until_heard(1);
    three.expect_everywhere("EVAL", reply(push + std::string(canned::one)));
    BOOST_TEST(three.release(got->granted) == error_code());
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(three[i].accepted() == 1U);
}

BOOST_AUTO_TEST_CASE(attribute_before_reply_is_skipped)
{
    scripted_cluster three;
    std::string const attribute = "|1\r\n+ttl\r\n:3600\r\n";
    three[0].expect("SET", reply(attribute + std::string(canned::ok)));
    three[1].expect("SET", reply(attribute + std::string(canned::ok)));
    three[2].expect("SET", silence());
    BOOST_TEST(three.try_acquire(three.lock())->ec == error_code());
}

BOOST_AUTO_TEST_CASE(reply_in_single_bytes_is_read)
{
    scripted_cluster three;
    three[0].expect("SET", dribble(canned::ok)).expect("EVAL", dribble(canned::one));
    three[1].expect("SET", dribble(canned::ok)).expect("EVAL", dribble(canned::one));
    three[2].expect("SET", silence());
    auto const got = three.try_acquire(three.lock());
    BOOST_TEST(got->ec == error_code());
    BOOST_TEST(three.release(got->granted) == error_code());
}

/// Counting on would give every later reply to the wrong command.
BOOST_AUTO_TEST_CASE(unsolicited_reply_closes_connection)
{
    scripted_cluster three;
    three[0].expect("SET", reply(std::string(canned::ok) + std::string(canned::ok)));
    auto const got = three.try_acquire(three.lock());
    BOOST_TEST(got->ec == error_code());
    run_until(three.context, [&] { return three[0].open() == 0; });
    BOOST_TEST(three[1].open() == 1U);
}

/// Said while nobody listens: found before the next vote is lost to it.
BOOST_AUTO_TEST_CASE(unsolicited_reply_to_idle_client_never_counts_as_vote)
{
    scripted_cluster three;
    three.warm_up();
    three.expect_everywhere("SET", reply(canned::nil));
    for (std::size_t i = 0; i != 3; ++i)
        three[i].say(canned::ok);
    three.be_idle();
    auto const got = three.try_acquire(three.lock());
    // Either the connections are replaced, or the stray reply ends them; it never counts as the vote.
    BOOST_TEST(got->ec);
    BOOST_TEST(got->granted.empty());
}

BOOST_AUTO_TEST_CASE(malformed_reply_closes_connection_and_other_nodes_decide)
{
    for (std::string_view bytes :
         {"$999999999999999\r\n", "*2147483647\r\n", "OK\r\n", "+OK\n\n", "$-7\r\n", "$?\r\n"})
        BOOST_TEST_CONTEXT(bytes)
        {
            scripted_cluster three;
            three[0].expect("SET", reply(bytes));
            auto lock = three.lock();
            auto const got = three.try_acquire(lock);
            BOOST_TEST(got->ec == error_code());
            if (bytes == "+OK\n\n")
                continue; // the line has not ended yet
            run_until(three.context, [&] { return three[0].open() == 0; });
            BOOST_TEST(got->granted.valid());
        }
}

BOOST_AUTO_TEST_CASE(connection_closed_instead_of_reply_means_unreachable)
{
    for (answer const& a : {hang_up(), reset()}) {
        scripted_cluster three;
        three[0].expect("SET", a);
        three[1].expect("SET", a);
        auto lock = three.lock();
        BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
        for (std::size_t i : {0U, 1U})
            BOOST_TEST(lock.last_attempt().at(i).result == node_result::unreachable);
        BOOST_TEST(three[0].count("SET") == 1U); // a vote is never sent twice
    }
}

BOOST_AUTO_TEST_SUITE_END()
