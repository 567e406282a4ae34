// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"
#include "kit/text.hpp"

#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A lease on three servers that answer what the test says, while time passes when the test says so.
struct explained_lease_fixture : held_clock_base, scripted_cluster {
    static constexpr lock_options terms{.ttl = 10min, .slack = 10min, .node_timeout = 20s};

    std::shared_ptr<recorder> const seen = std::make_shared<recorder>();
    lease held;

    explained_lease_fixture()
    {
        config settings = settings_for({nodes[0]->url(), nodes[1]->url(), nodes[2]->url()});
        settings.observer = seen;
        locks.emplace(context.get_executor(), settings);
    }

    void acquire(lock_options const& options = terms)
    {
        auto const got = try_acquire(lock("seat:42", options));
        run_until(context, [&] { return got->granted.votes() == 3; });
        held = std::move(got->granted);
    }
    [[nodiscard]] std::ptrdiff_t confirmations() const
    {
        return std::ranges::count_if(seen->votes, [](recorder::vote const& v) {
            return v.extension && v.result == node_result::granted;
        });
    }
    /// Keeps one member of every lease event.
    template <class T>
    [[nodiscard]] std::vector<T> seen_leases(T lease_event::*member) const
    {
        std::vector<T> all;
        std::ranges::transform(seen->leases, std::back_inserter(all), member);
        return all;
    }

    /// The first node confirms, the other ones do not.
    void extend_in_vain()
    {
        auto const confirmed = confirmations() + 1;
        for (std::size_t i : {1U, 2U})
            nodes[i]->expect("EVAL", reply("-ERR not now\r\n"));
        BOOST_TEST(extend(held) == errc::no_quorum);
        run_until(context, [&] { return confirmations() == confirmed; });
    }
    [[nodiscard]] std::string others() const
    {
        return nodes[1]->url() + ", " + nodes[2]->url() + " refused (ERR not now)";
    }
    [[nodiscard]] std::string explained(errc ec) const { return held.explain(ec).what(); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(lease_explanations, explained_lease_fixture)

BOOST_AUTO_TEST_CASE(loss_explanation_names_thread_that_did_not_run)
{
    acquire();
    clock.advance(terms.ttl); // it should have been renewed after a third
    BOOST_TEST(extend(held) == errc::lease_lost);
    BOOST_TEST(explained(errc::lease_lost) ==
               "lock \"seat:42\" lost (expired): this client's thread was late by "
               "400.0 s; last confirmed 600.0 s ago");
    BOOST_TEST(seen->lease_details.back() == explained(errc::lease_lost));
    BOOST_TEST(seen->count(lease_event::kind::renewal_failed) == 0);
}

BOOST_AUTO_TEST_CASE(loss_explanation_names_thread_that_did_not_read_answers)
{
    acquire();
    expect_everywhere("EVAL", silence());
    auto const result = std::make_shared<outcome>();
    held.extend(keeps_outcome{result});
    run_until_all_is_said();
    clock.advance(terms.ttl);
    BOOST_TEST(release(held) == errc::lease_lost);
    BOOST_TEST(explained(errc::lease_lost) ==
               "lock \"seat:42\" lost (expired): this client's thread was late by "
               "580.0 s; last confirmed 600.0 s ago");
}

/// The round's end passed in the same moment: it is no failure of the nodes.
BOOST_AUTO_TEST_CASE(loss_that_the_timer_finds_names_thread_that_did_not_read_answers)
{
    auto quick = terms;
    quick.node_timeout = 20ms;
    acquire(quick);
    expect_everywhere("EVAL", silence());
    auto const result = std::make_shared<outcome>();
    held.extend(keeps_outcome{result});
    run_until_all_is_said();
    clock.advance(terms.ttl);
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == errc::lease_lost);
    BOOST_TEST(contains(explained(errc::lease_lost), "this client's thread was late by"));
    BOOST_TEST(seen->count(lease_event::kind::renewal_failed) == 0);
}

BOOST_AUTO_TEST_CASE(loss_explanation_lists_last_answer_of_each_node)
{
    auto by_hand = terms;
    by_hand.renew = false;
    acquire(by_hand);
    clock.advance(100s);
    extend_in_vain();
    BOOST_TEST(explained(errc::no_quorum) == "lock \"seat:42\": no quorum: last confirmed 100.0 s ago; " +
                                                 nodes[0]->url() + " confirmed 0 ms ago; " + others() +
                                                 " 0 ms ago");
    clock.advance(500s);
    BOOST_TEST(extend(held) == errc::lease_lost);
    auto const lost = held.explain(errc::lease_lost);
    std::string const text = "lock \"seat:42\" lost (expired): last confirmed 600.0 s ago; " +
                             nodes[0]->url() + " confirmed 500.0 s ago; " + others() + " 500.0 s ago";
    BOOST_TEST(lost.what() == text);
    BOOST_TEST(lost.resource() == "seat:42");
    BOOST_TEST((lost.cause() == loss_cause::expired));
    BOOST_TEST_REQUIRE(lost.outcomes().size() == 3U);
    BOOST_TEST(lost.outcomes()[1].result == node_result::refused);
    BOOST_TEST(lost.outcomes()[1].detail == "ERR not now");
    BOOST_TEST((lost.outcomes()[1].ago == 500s));
    clock.advance(10s); // it does not age
    BOOST_TEST(explained(errc::lease_lost) == text);
}

BOOST_AUTO_TEST_CASE(loss_explanation_lists_silent_nodes)
{
    auto by_hand = terms;
    by_hand.renew = false;
    by_hand.node_timeout = 9min;
    acquire(by_hand);
    clock.advance(400s);
    for (std::size_t i : {1U, 2U})
        nodes[i]->expect("EVAL", silence());
    auto const result = std::make_shared<outcome>();
    held.extend(keeps_outcome{result});
    run_until(context, [&] { return confirmations() == 1 && nodes[1]->done() && nodes[2]->done(); });
    clock.advance(200s);
    BOOST_TEST(release(held) == errc::lease_lost);
    auto const told = explained(errc::lease_lost);
    BOOST_TEST(told.ends_with("; " + nodes[1]->url() + ", " + nodes[2]->url() + " silent for 200.0 s"), told);
}

BOOST_AUTO_TEST_CASE(loss_explanation_lists_nodes_without_key)
{
    acquire();
    for (std::size_t i : {0U, 2U})
        nodes[i]->expect("EVAL", reply(":0\r\n"));
    BOOST_TEST(extend(held) == errc::lease_lost);
    auto const told = explained(errc::lease_lost);
    BOOST_TEST(told.starts_with("lock \"seat:42\" lost (refused): last confirmed 0 ms ago; "), told);
    BOOST_TEST(told.find(nodes[0]->url() + ", " + nodes[2]->url() + " does not hold its key 0 ms ago") !=
                   told.npos,
               told);
}

/// A row of failed rounds, each in time, is an outage, and one event at each end.
BOOST_AUTO_TEST_CASE(loss_explanation_of_outage_counts_failed_renewals)
{
    acquire();
    expect_everywhere("GET", reply("-ERR not now\r\n")); // it asks for its keys once
    clock.advance(100ms);
    run_until_all_is_said();
    unsigned rounds = 0;
    for (; held.remaining() > 100ms; ++rounds) {
        extend_in_vain();
        clock.advance(held.remaining() / 9); // just before the next would be due
    }
    clock.advance(held.remaining());
    BOOST_TEST(extend(held) == errc::lease_lost);
    auto const told = explained(errc::lease_lost);
    BOOST_TEST(told.starts_with("lock \"seat:42\" lost (expired): last confirmed "), told);
    BOOST_TEST(told.find(others()) != told.npos, told);
    std::vector const kinds{lease_event::kind::acquired, lease_event::kind::renewal_failed,
                            lease_event::kind::lost};
    BOOST_TEST((seen_leases(&lease_event::what) == kinds));
    std::vector<unsigned> const counts{0, 1, rounds};
    BOOST_TEST(seen_leases(&lease_event::failed) == counts, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(loss_explanation_starts_anew_when_all_nodes_confirm)
{
    acquire();
    extend_in_vain();
    extend_in_vain();
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(extend(held) == error_code());
        run_until(context, [&] { return held.votes() == 3; });
    }
    clock.advance(terms.ttl);
    BOOST_TEST(extend(held) == errc::lease_lost);
    auto const told = explained(errc::lease_lost);
    BOOST_TEST(told.ends_with("was late by 400.0 s; last confirmed 600.0 s ago"), told);
    std::vector const kinds{lease_event::kind::acquired, lease_event::kind::renewal_failed,
                            lease_event::kind::renewed, lease_event::kind::renewed, lease_event::kind::lost};
    BOOST_TEST((seen_leases(&lease_event::what) == kinds));
    std::vector<unsigned> const counts{0, 1, 2, 0, 0};
    BOOST_TEST(seen_leases(&lease_event::failed) == counts, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(loss_explanation_keeps_last_answers_during_extension)
{
    auto by_hand = terms;
    by_hand.renew = false;
    acquire(by_hand);
    extend_in_vain();
    for (std::size_t i : {1U, 2U})
        nodes[i]->expect("EVAL", silence());
    held.extend([](error_code) {});
    run_until(context, [&] { return nodes[1]->done() && nodes[2]->done(); });
    BOOST_TEST(explained(errc::no_quorum).find(others()) != std::string::npos, explained(errc::no_quorum));
}

/// The nodes' word is the cause, however late it was read.
BOOST_AUTO_TEST_CASE(loss_explanation_of_refusal_does_not_blame_thread)
{
    acquire();
    for (std::size_t i : {0U, 2U})
        nodes[i]->expect("EVAL", late(":0\r\n"));
    auto const result = std::make_shared<outcome>();
    held.extend(keeps_outcome{result});
    run_until(context, [&] { return nodes[0]->done() && nodes[2]->done() && confirmations() == 1; });
    clock.advance(550s);
    nodes[0]->deliver_late();
    nodes[2]->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == errc::lease_lost);
    auto const told = explained(errc::lease_lost);
    BOOST_TEST(told.starts_with("lock \"seat:42\" lost (refused): last confirmed "), told);
}

// rule R2
BOOST_AUTO_TEST_CASE(release_explanation_names_unconfirmed_nodes)
{
    auto impatient = terms; // sooner than the connection is given up
    impatient.node_timeout = 10s;
    acquire(impatient);
    nodes[0]->expect("EVAL", reply("-ERR not now\r\n"));
    nodes[1]->expect("EVAL", silence());
    auto const result = std::make_shared<outcome>();
    held.release(keeps_outcome{result});
    auto const refused = nodes[0]->url() + " refused (ERR not now)";
    run_until(context, [&] { return explained(errc::no_quorum).find(refused) != std::string::npos; });
    clock.advance(10s);
    try_acquire(lock("other")); // a turn
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == errc::no_quorum);
    auto const told = explained(errc::no_quorum);
    BOOST_TEST(told.starts_with("lock \"seat:42\": no quorum: "), told);
    BOOST_TEST(told.find(refused + " 10.0 s ago") != told.npos, told);
    BOOST_TEST(told.find(nodes[1]->url() + " timed out 0 ms ago") != told.npos, told);
}

BOOST_AUTO_TEST_CASE(explanation_of_empty_lease_is_the_error_text)
{
    BOOST_TEST(lease().explain(errc::empty_lease).what() == std::string("empty lease"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(acquire_explanations, scripted_cluster)

BOOST_AUTO_TEST_CASE(acquire_explanation_is_made_from_error_code)
{
    mutex seat = lock("seat:42");
    expect_everywhere("SET", reply(canned::nil));
    BOOST_TEST(try_acquire(seat)->ec == errc::contended);
    auto const told = seat.explain(errc::contended);
    BOOST_TEST(std::string(told.what()).starts_with("lock \"seat:42\": contended: 0 of 3 granted; "),
               told.what());
    BOOST_TEST(told.resource() == "seat:42");
    BOOST_TEST(told.code() == errc::contended);
    BOOST_TEST(told.outcomes().size() == 3U);
}

BOOST_AUTO_TEST_CASE(acquire_explanation_has_no_outcomes_after_won_attempt)
{
    mutex seat = lock("seat:42");
    auto const first = try_acquire(seat);
    BOOST_TEST(try_acquire(seat)->ec == errc::contended);
    auto const told = seat.explain(errc::contended);
    BOOST_TEST(told.what() ==
               std::string("lock \"seat:42\": contended; won by another operation of this client"));
    BOOST_TEST(told.outcomes().empty());
}

BOOST_AUTO_TEST_CASE(acquire_explanation_has_no_outcomes_after_cancellation)
{
    mutex seat = lock("seat:42");
    expect_everywhere("SET", reply(canned::nil));
    try_acquire(seat);
    BOOST_TEST(seat.explain(asio::error::operation_aborted).outcomes().empty());
}

BOOST_AUTO_TEST_CASE(misconfigured_lock_is_named_in_its_error)
{
    auto const unusable = [&] { (void)lock("seat:42", {.ttl = 0ms}); };
    BOOST_CHECK_EXCEPTION(unusable(), lock_error, [](lock_error const& e) {
        return e.resource() == "seat:42" &&
               std::string(e.what()) == "lock \"seat:42\": misconfigured: ttl must be more than zero and at "
                                        "most 24 hours, not 0 ms (a time below 1 ms becomes 0)";
    });
}

/// A name may hold anything, and a log is read line by line.
BOOST_AUTO_TEST_CASE(acquire_explanation_escapes_line_breaks_in_lock_name)
{
    mutex const seat = lock("a\nb");
    BOOST_TEST(seat.explain(errc::shut_down).what() == std::string("lock \"a\\x0ab\": client shut down"));
    BOOST_TEST(seat.explain(errc::shut_down).resource() == "a\nb");
}

BOOST_AUTO_TEST_SUITE_END()
