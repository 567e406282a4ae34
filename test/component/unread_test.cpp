// SPDX-License-Identifier: BSL-1.0
#include "component/separate_node.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>

using namespace redlock;
using namespace redlock::test;

namespace {

using canned::invalidation;

/// A client that has waited for the lock in vain: its server still sends word of the key, and nobody reads it.
struct unread_answer_fixture : separate_node {
    unread_answer_fixture()
    {
        refuse();
        outcome result;
        asio::cancellation_signal enough;
        mutex(locks, "resource", without_polling())
            .acquire(
                asio::bind_cancellation_slot(enough.slot(), [&](error_code ec, lease) { result.ec = ec; }));
        run_both([&] { return node.done(); });
        enough.emit(asio::cancellation_type::total);
        come_to_rest();
        BOOST_TEST(result.ec == make_error_code(asio::error::operation_aborted));
    }

    void server_says(std::string_view bytes)
    {
        node.say(bytes);
        outside.poll();
    }

    /// Another lock, so that no push is about its key.
    error_code try_another()
    {
        auto const result = std::make_shared<outcome>();
        mutex(locks, "another", without_queue(long_lived)).try_acquire(keeps_outcome{result});
        run_both([&] { return result->done(); });
        return result->ec;
    }
};

std::string a_thousand_words()
{
    std::string words;
    for (int i = 0; i != 1000; ++i)
        words += invalidation;
    return words;
}

/// Called when the answer has been read and is being worked off.
struct at_the_vote_for_another : observer {
    std::function<void()> then;

    void on_vote(vote_event const& e) noexcept override
    {
        if (e.resource == "another")
            then();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(unread_bytes, unread_answer_fixture)

// rule W2
BOOST_AUTO_TEST_CASE(unread_invalidation_does_not_end_connection)
{
    server_says(invalidation);
    BOOST_TEST(try_another() == error_code());
    BOOST_TEST(node.accepted() == 1U);
}

/// More than is read at once otherwise: a client that has waited for hundreds of locks.
BOOST_AUTO_TEST_CASE(thousand_unread_invalidations_do_not_end_connection)
{
    server_says(a_thousand_words());
    BOOST_TEST(try_another() == error_code());
    BOOST_TEST(node.accepted() == 1U);
}

BOOST_AUTO_TEST_CASE(unsolicited_reply_after_thousand_invalidations_ends_connection)
{
    server_says(a_thousand_words() + std::string(canned::ok));
    node.expect("SET", reply(canned::nil));
    BOOST_TEST(try_another() == errc::contended);
    BOOST_TEST(node.accepted() == 2U);
}

BOOST_AUTO_TEST_CASE(half_unread_invalidation_does_not_end_connection)
{
    server_says(invalidation.substr(0, 17));
    auto const result = std::make_shared<outcome>();
    mutex(locks, "another", without_queue(long_lived)).try_acquire(keeps_outcome{result});
    run_both([&] { return node.count("SET") == 2; });
    BOOST_TEST(node.accepted() == 1U);
}

BOOST_AUTO_TEST_CASE(end_of_connection_is_seen_after_unread_invalidation)
{
    server_says(invalidation);
    node.close_all();
    outside.poll();
    BOOST_TEST(try_another() == error_code());
    BOOST_TEST(node.accepted() == 2U);
}

/// The next vote would take it for its own.
BOOST_AUTO_TEST_CASE(unsolicited_reply_after_invalidation_ends_connection)
{
    server_says(invalidation);
    server_says(canned::ok);
    node.expect("SET", reply(canned::nil));
    BOOST_TEST(try_another() == errc::contended);
    BOOST_TEST(node.accepted() == 2U);
}

/// A word that comes with an answer lets a waiter vote, while another word is there already and has not been read.
BOOST_FIXTURE_TEST_CASE(processed_answer_before_unread_invalidation_does_not_end_connection, separate_node)
{
    auto const watching = std::make_shared<at_the_vote_for_another>();
    config settings = settings_for({node.url()});
    settings.observer = watching;
    client watched(context.get_executor(), settings);
    refuse();
    auto const result = std::make_shared<outcome>();
    mutex(watched, "resource", without_polling()).acquire(keeps_outcome{result});
    run_both([&] { return node.done(); });
    node.expect("SET", reply(std::string(canned::ok) + std::string(invalidation)));
    watching->then = [&] {
        node.say(invalidation);
        outside.poll();
    };
    mutex(watched, "another", without_queue(long_lived))
        .try_acquire(keeps_outcome{std::make_shared<outcome>()});
    run_both([&] { return result->done(); });
    BOOST_TEST(result->ec == error_code());
    BOOST_TEST(node.accepted() == 1U);
}

/// The word lets a waiter vote, and what stands behind it has been read before that.
BOOST_AUTO_TEST_CASE(unsolicited_reply_behind_invalidation_is_no_grant)
{
    refuse();
    auto const result = std::make_shared<outcome>();
    mutex(locks, "resource", without_polling()).acquire(keeps_outcome{result});
    run_both([&] { return node.done(); });
    server_says(std::string(invalidation) + std::string(canned::ok));
    run_both([&] { return result->done(); });
    BOOST_TEST(result->ec == error_code());
    BOOST_TEST(node.accepted() == 2U); // the grant came on another connection
}

/// Nobody has asked for the first half, either: with the rest it would be a grant that never was.
// rule A4
BOOST_FIXTURE_TEST_CASE(half_unsolicited_reply_is_no_grant, separate_node)
{
    node.expect("SET", reply(std::string(canned::ok) + "+O")).expect("SET", reply("K\r\n_\r\n"));
    auto const first = std::make_shared<outcome>();
    auto const second = std::make_shared<outcome>();
    mutex(locks, "one", without_queue(long_lived)).try_acquire(keeps_outcome{first});
    run_both([&] { return first->done(); });
    mutex(locks, "other", without_queue(long_lived)).try_acquire(keeps_outcome{second});
    run_both([&] { return second->done(); });
    BOOST_TEST(first->ec == error_code());
    BOOST_TEST(second->ec);
    run_both([&] { return node.open() == 0; });
}

BOOST_AUTO_TEST_SUITE_END()
