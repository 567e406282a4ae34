// SPDX-License-Identifier: BSL-1.0
// Operations without a position in the queue vote after pauses (docs/protocol.md, rules W2, W3, W5 and Q19).
#include "component/meeting_node.hpp"
#include "component/wish_fixture.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

struct unqueued_fixture : wish_fixture {
    unqueued_fixture() { options.fair = false; }

    /// Nothing but what it hears makes such a waiter vote again.
    lock_options patient()
    {
        lock_options made = options;
        made.retry.min_delay = made.retry.max_delay = 1h;
        return made;
    }
    /// How often each node has been asked for the lock, or for its key.
    void count_questions(std::string_view word)
    {
        questions.assign(net.size(), 0);
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).overhear = [this, n, word](auto, std::string_view bytes) {
                for (auto at = bytes.find(word); at != bytes.npos; at = bytes.find(word, at + 1))
                    ++questions[n];
            };
    }
    /// All that wait come again as soon as they have had it. Returns the leases of each.
    std::vector<unsigned> contend(std::size_t clients, duration length)
    {
        for (std::size_t i = 0; i != clients; ++i)
            add().acquire();
        std::vector<unsigned> leases(clients);
        for (auto const began = time.now(); time.now() - began < length; pass(1ms))
            for (std::size_t i = 0; i != clients; ++i)
                if (all[i]->holds()) {
                    ++leases[i];
                    all[i]->release();
                    all[i]->acquire();
                }
        return leases;
    }

    std::size_t const first = meeting_node(net, "seat");
    std::vector<unsigned> questions;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(unqueued, unqueued_fixture)

// rule W2
BOOST_AUTO_TEST_CASE(release_wakes_waiter_within_a_round_trip)
{
    add().acquire();
    pass(100ms);
    contender& waiter = add(patient());
    waiter.acquire();
    pass(1s);
    all[0]->release();
    BOOST_TEST((until_granted(waiter) <= 4 * round_trip + a_tick));
}

// rule W2
BOOST_AUTO_TEST_CASE(waiter_that_hears_nothing_asks_again)
{
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.forbidden = {"client|tracking", "pttl"};
    line_up(2);
    all[0]->release();
    BOOST_TEST((until_granted(*all[1]) <= 200ms + 4 * round_trip + a_tick));
}

// rule W2
BOOST_AUTO_TEST_CASE(waiter_votes_when_the_key_has_expired)
{
    occupy("700");
    contender& waiter = add(patient());
    waiter.acquire();
    auto const took = until_granted(waiter);
    BOOST_TEST((took >= 690ms));
    BOOST_TEST((took <= 700ms + 5 * round_trip + 2 * a_tick));
}

/// The server tells nobody of its own changes.
// rule W2
BOOST_AUTO_TEST_CASE(change_by_own_client_makes_waiter_ask)
{
    contender& one = add(patient());
    one.acquire();
    pass(100ms);
    std::string const nonce(one.held.nonce());
    one.held.detach();
    lease adopted = one.lock->adopt(nonce);
    contender& other = one; // the same client waits for the lease that it has taken over
    auto const waits = begin_to_want(*other.lock);
    pass(1s);
    adopted.release([](error_code) {});
    (void)until([&] { return waits->held.valid(); }, 1s);
}

/// A contender that is refused there has cost one command.
// rule W3
BOOST_AUTO_TEST_CASE(contenders_ask_first_where_all_meet)
{
    line_up(4);
    pass(1s);
    count_questions("\r\nSET\r\n");
    pass(10s);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST((questions[n] != 0) == (n == first), n);
}

// rule W3
BOOST_AUTO_TEST_CASE(silent_first_node_holds_nobody_up)
{
    options.node_timeout = 1s;
    line_up(2);
    net.between(0, first).latency = net.between(1, first).latency = 1h;
    all[0]->release();
    BOOST_TEST((until_granted(*all[1]) <= 500ms));
}

/// No client sets such a key, so it is no rival's.
// rule W3
BOOST_AUTO_TEST_CASE(key_without_expiry_where_contenders_meet_holds_nobody_up)
{
    occupy("60000");
    say(first, {"SET", "seat", "somebody"});
    contender& waiter = add();
    waiter.acquire();
    pass(1s);
    vacate_all_but(first);
    BOOST_TEST((until_granted(waiter) <= 200ms + 4 * round_trip + a_tick));
}

/// Sixteen contenders do not keep each other from the lock.
// rule W3
BOOST_AUTO_TEST_CASE(many_contenders_share_the_lock)
{
    auto const leases = contend(16, 2s);
    unsigned total = 0;
    for (unsigned const had : leases) {
        BOOST_TEST(had != 0U);
        total += had;
    }
    BOOST_TEST_MESSAGE(total << " leases");
    BOOST_TEST(total > 100U);
}

/// Other clients have had the lock, and are gone, when their open window ends.
// rule W5
BOOST_AUTO_TEST_CASE(short_leases_do_not_look_as_if_nobody_came)
{
    for (int i = 0; i != 4; ++i)
        add().acquire();
    unsigned leases = 0, again = 0;
    contender const* last = nullptr;
    for (auto const began = time.now(); time.now() - began < 2s; pass(1ms))
        for (auto const& one : all)
            if (one->holds()) {
                ++leases;
                again += std::exchange(last, one.get()) == one.get();
                one->release();
                pass(1ms);
                one->acquire();
            }
    BOOST_TEST_MESSAGE(leases << " leases, " << again << " of them to the last holder");
    BOOST_TEST(leases > 100U);
    BOOST_TEST(again < leases / 4);
}

/// A client that has had the lock leaves it alone for a while, if other clients appeared.
// rule W5
BOOST_AUTO_TEST_CASE(two_contenders_take_turns)
{
    auto const leases = contend(2, 2s);
    BOOST_TEST(leases[0] * 4 > leases[1]);
    BOOST_TEST(leases[1] * 4 > leases[0]);
}

/// An attempt may be decided before a slow node has granted its vote. The key there is our own, and goes with the vote.
// rule W2
BOOST_AUTO_TEST_CASE(slow_node_that_grants_is_not_taken_for_free)
{
    for (std::size_t refusing = 0; refusing != net.size(); ++refusing) {
        std::size_t const occupied = (refusing + 1) % net.size();
        std::size_t const slow = (refusing + 2) % net.size();
        net.at(refusing).redis.is.forbidden = {"set"};
        say(occupied, {"SET", "seat", std::string(32, 'f')});
        contender& one = add(patient());
        net.between(static_cast<unsigned>(all.size() - 1), slow).latency = 20ms;
        one.acquire();
        pass(1s);
        BOOST_TEST(one.told->held_here.size() < 6U);
        BOOST_TEST(!one.ended.has_value());
        one.stop.emit(asio::cancellation_type::terminal);
        pass(100ms);
        net.at(refusing).redis.is.forbidden.clear();
        say(occupied, {"DEL", "seat"});
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
