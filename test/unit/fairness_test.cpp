// SPDX-License-Identifier: BSL-1.0
#include "core/fairness.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr duration most = 16ms;

fairness after_lease_between(unsigned others)
{
    fairness p;
    for (unsigned i = 0; i != others; ++i)
        p.another_had_it();
    p.granted();
    return p;
}

/// Clients that all come back at once after a lease. Who wakes later than another by less than a place may still be first.
class crowd {
public:
    crowd(unsigned clients, unsigned seed) : all_(clients), waited_(clients), dice_(seed)
    {
        for (fairness& one : all_)
            one = after_lease_between(dice_() % 64);
    }

    /// \return how many others had the lock since the winner had it last
    unsigned lease()
    {
        std::size_t const winner = next();
        for (std::size_t i = 0; i != all_.size(); ++i)
            if (i != winner) {
                all_[i].another_had_it();
                ++waited_[i];
            }
        all_[winner].granted();
        last_ = winner;
        return std::exchange(waited_[winner], 0);
    }

private:
    std::size_t next()
    {
        std::size_t winner = last_;
        duration soonest = duration::max();
        for (std::size_t i = 0; i != all_.size(); ++i) {
            if (i == last_) // it offers the others their turn
                continue;
            duration const asks = all_[i].yield_delay(most) + std::chrono::microseconds{dice_() % 1'000};
            if (asks < soonest) {
                soonest = asks;
                winner = i;
            }
        }
        return winner;
    }

    std::vector<fairness> all_;
    std::vector<unsigned> waited_;
    std::minstd_rand dice_;
    std::size_t last_ = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(fairness_of_clients)

BOOST_AUTO_TEST_CASE(client_without_known_rivals_does_not_yield)
{
    fairness p;
    BOOST_TEST((p.yield_delay(most) == 0ms));
    p.another_had_it();
    BOOST_TEST((p.yield_delay(most) == 0ms));
    BOOST_TEST((after_lease_between(0).yield_delay(most) == 0ms));
}

BOOST_AUTO_TEST_CASE(client_yields_less_after_each_rival_had_the_lock)
{
    fairness p = after_lease_between(3);
    for (auto const left : {16ms, 15ms, 14ms, 0ms, 0ms}) {
        BOOST_TEST((p.yield_delay(most) == left));
        p.another_had_it();
    }
}

BOOST_AUTO_TEST_CASE(client_that_met_fewer_of_its_rivals_yields_longer)
{
    fairness one = after_lease_between(2);
    fairness other = after_lease_between(12);
    one.another_had_it();
    other.another_had_it();
    other.another_had_it();
    BOOST_TEST((one.yield_delay(most) > other.yield_delay(most)));
}

BOOST_AUTO_TEST_CASE(rival_that_does_not_come_is_not_expected_again)
{
    fairness p = after_lease_between(3);
    p.another_had_it();
    p.granted();
    BOOST_TEST((p.yield_delay(most) == most));
    p.granted();
    BOOST_TEST((p.yield_delay(most) == 0ms));
}

BOOST_AUTO_TEST_CASE(yielding_ends_after_bounded_number_of_rivals)
{
    fairness p = after_lease_between(1'000'000);
    BOOST_TEST((p.yield_delay(most) == most));
    for (unsigned i = 0; i != fairness::places; ++i)
        p.another_had_it();
    BOOST_TEST((p.yield_delay(most) == 0ms));
}

/// Whatever they expect at first.
BOOST_AUTO_TEST_CASE(clients_that_all_wait_get_the_lock_in_turns)
{
    for (unsigned clients = 2; clients <= fairness::places; ++clients)
        for (unsigned seed = 1; seed != 50; ++seed) {
            crowd all(clients, seed);
            for (unsigned i = 0; i != 20 * clients; ++i) // until they have settled
                all.lease();
            unsigned longest = 0;
            for (unsigned i = 0; i != 100 * clients; ++i)
                longest = std::max(longest, all.lease());
            BOOST_TEST(longest <= 3 * (clients - 1));
        }
}

BOOST_AUTO_TEST_SUITE_END()
