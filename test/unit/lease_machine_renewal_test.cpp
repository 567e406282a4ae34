// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

#include <optional>

using namespace redlock::test;
using enum redlock::core::lease_phase;

BOOST_AUTO_TEST_SUITE(lease_machine_rules)

// rule H3
BOOST_AUTO_TEST_CASE(lease_is_renewed_after_a_third_of_its_ttl)
{
    struct row {
        duration ttl;
        duration renewal;
    };
    for (row const& r : {row{300ms, 100ms}, row{9s, 3s}, row{30s, 10s}, row{24h, 8h}}) {
        lease l{{.ttl = r.ttl, .slack = 50ms}};
        BOOST_TEST(l.next_us() == us(r.renewal));
        BOOST_TEST(l.due(r.renewal - 1ns) == '-');
        BOOST_TEST(l.due(r.renewal) == 'R');
        BOOST_TEST(l.due(r.renewal) == 'R'); // until it is started
        l.begin(at(r.renewal));
        BOOST_TEST(l.due(r.renewal) == '-');
        BOOST_TEST(l.next_us() == us(validity(r.ttl) - 1ms));
    }
    lease slept;
    BOOST_TEST(slept.due(instant{at(3s).boot, at(1s).raw}) == 'R');
    BOOST_TEST(slept.due(instant{at(1s).boot, at(3s).raw}) == 'R');
}

// rule H3
BOOST_AUTO_TEST_CASE(failed_renewal_is_retried_at_shrinking_intervals)
{
    struct row {
        duration failed_at;
        duration next; // after an eighth of what remains of 8908 ms, at least 10 ms
        char duty;
    };
    row const rows[] = {
        {3000ms, 3738500us, 'R'}, {4108ms, 4708ms, 'R'}, {6908ms, 7158ms, 'R'}, {8108ms, 8208ms, 'R'},
        {8828ms, 8838ms, 'R'},    {8868ms, 8878ms, 'R'}, {8897ms, 8907ms, 'L'}, {8905ms, 8907ms, 'L'},
    };
    for (row const& r : rows) {
        BOOST_TEST_CONTEXT("failed at " << us(r.failed_at) << " us")
        {
            lease l;
            BOOST_TEST(l.round(r.failed_at - 5ms, "0f 1f", r.failed_at) == ".F");
            BOOST_TEST(!l.machine.extending());
            BOOST_TEST(l.deadline_us() == us(8908ms));
            BOOST_TEST(l.next_us() == us(r.next));
            BOOST_TEST(l.due(r.next - 1ns) == '-');
            BOOST_TEST(l.due(r.next) == r.duty);
        }
    }
}

// rule H3
BOOST_AUTO_TEST_CASE(failed_renewals_go_on_to_the_end_in_bounded_number)
{
    lease l;
    duration last_gap = duration::max();
    std::optional<instant> last;
    unsigned tries = 0;
    for (; l.due(*l.machine.next_due()) == 'R'; ++tries) {
        instant const now = *l.machine.next_due();
        if (last) {
            BOOST_TEST(us(elapsed(*last, now)) <= us(last_gap));
            BOOST_TEST(us(elapsed(*last, now)) >= us(10ms));
            last_gap = elapsed(*last, now);
        }
        last = now;
        BOOST_TEST(l.round(now.boot - at(0s).boot, "0m 1f 2f") == "..F");
    }
    BOOST_TEST(l.machine.phase() == lost);
    BOOST_TEST(tries >= 20U);
    BOOST_TEST(tries <= 50U);
}

BOOST_AUTO_TEST_CASE(lease_with_renew_off_is_extended_only_by_hand)
{
    lease l{unrenewed};
    BOOST_TEST(l.next_us() == us(8907ms));
    BOOST_TEST(l.due(8000ms) == '-');
    BOOST_TEST(l.round(8000ms, "0f 1f") == ".F");
    BOOST_TEST(l.next_us() == us(8907ms)); // no retry either
    BOOST_TEST(l.due(8900ms) == '-');
    BOOST_TEST(l.round(8900ms, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(17808ms));
    BOOST_TEST(l.next_us() == us(17807ms));
    BOOST_TEST(l.due(13000ms) == '-');
}

// rule H8
BOOST_AUTO_TEST_CASE(postponed_renewal_is_due_again_before_the_deadline)
{
    lease l;
    BOOST_TEST(l.due(3000ms) == 'R');
    l.machine.postpone_renewal(at(3000ms));
    BOOST_TEST(l.due(3000ms) == '-');
    BOOST_TEST(l.next_us() == us(3738500us));
    BOOST_TEST(l.due(3739ms) == 'R');
    BOOST_TEST(l.due(8907ms) == 'L'); // if it is always postponed, the lease is lost in time
}

BOOST_AUTO_TEST_SUITE_END()
