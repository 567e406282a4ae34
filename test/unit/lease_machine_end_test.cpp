// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

#include <string>
#include <string_view>

using namespace redlock::test;
using enum redlock::core::lease_phase;

BOOST_AUTO_TEST_SUITE(lease_machine_rules)

// rule H7
BOOST_AUTO_TEST_CASE(lease_is_lost_one_millisecond_before_its_deadline)
{
    lease l{unrenewed};
    BOOST_TEST(l.next_us() == us(8907ms));
    BOOST_TEST(l.due(8907ms - 1ns) == '-');
    BOOST_TEST(l.machine.phase() == held);
    BOOST_TEST(l.due(8907ms) == 'L');
    BOOST_TEST(l.machine.phase() == lost);
    BOOST_TEST(l.due(8907ms) == '-'); // told once
    BOOST_TEST(l.next_us() == -1);

    lease boot_ahead{unrenewed};
    BOOST_TEST(boot_ahead.due(instant{at(8907ms).boot, at(5ms).raw}) == 'L');
    lease raw_ahead{unrenewed};
    BOOST_TEST(raw_ahead.due(instant{at(5ms).boot, at(8907ms).raw}) == 'L');

    lease asking;
    asking.begin(at(8900ms)); // an answer on its way buys no time
    BOOST_TEST(asking.next_us() == us(8907ms));
    BOOST_TEST(asking.due(8907ms) == 'L');
}

// rule H6
BOOST_AUTO_TEST_CASE(lease_is_lost_when_refusals_leave_no_majority)
{
    struct row {
        unsigned nodes;
        std::string script;
        std::string expected;
    };
    row const rows[] = {
        {1, "0n", "L"},
        {1, "0f", "F"},
        {2, "0n", "L"},
        {2, "0m 1n", ".L"},
        {2, "0f", "F"},
        {3, "0n 1n", ".L"},
        {3, "0n 1m 2n", "..L"},
        {3, "0n 1m 2m", "..E"},
        {3, "0n 0n 1m 2m", "...E"}, // one node cannot refuse twice
        {3, "0n 1f", ".F"},
        {3, "0f 1n", ".F"},
        {3, "0f 1m 2n", "..F"},
        {3, "0f 1n 2n", ".FL"}, // also those that the verdict did not wait for
        {3, "0f 1n 1n 2m", ".F.."},
        {4, "0n 1n", ".L"},
        {4, "0m 1m 2n 3n", "...L"},
        {4, "0m 1m 2n 3f", "...F"},
        {5, "0n 1n 2n", "..L"},
        {5, "0n 1m 2n 3m 4n", "....L"},
        {5, "0n 1n 2m 3m 4m", "....E"},
        {5, "0n 1n 2f", "..F"},
        {5, "0f 1f 2n 3n 4n", "..F.L"},
        {5, "0f 1f 2f 3n 4n", "..F.."},
    };
    for (row const& r : rows) {
        BOOST_TEST_CONTEXT(r.nodes << " nodes: " << r.script)
        {
            lease l{nine_seconds, r.nodes};
            BOOST_TEST(l.round(3s, r.script) == r.expected);
            bool const gone = r.expected.back() == 'L';
            BOOST_TEST(l.machine.phase() == (gone ? lost : held));
            BOOST_TEST((l.next_us() == -1) == gone);
            if (gone)
                BOOST_TEST(l.due(8907ms) == '-');
        }
    }
}

// rule H6
BOOST_AUTO_TEST_CASE(refusals_after_round_timeout_do_not_count)
{
    lease l;
    BOOST_TEST(l.round(3s, "0n") == ".");
    BOOST_TEST((l.time_out(at(4s)) == lease_machine::outcome::failed));
    BOOST_TEST(l.answers("1n 2n", 4s) == "..");
    BOOST_TEST(l.machine.phase() == held);
    BOOST_TEST(l.round(5s, "0n 1n") == ".L");
}

BOOST_AUTO_TEST_CASE(lost_lease_knows_cause_of_loss)
{
    using loss = lease_machine::loss;
    auto const cause = [](lease_terms const& terms, std::string const& answers, duration end) {
        lease l{terms};
        l.round(3s, answers);
        l.due(end);
        BOOST_TEST(l.machine.phase() == lost);
        return l.machine.cause();
    };
    BOOST_TEST((cause(nine_seconds, "0f 1f", 8907ms) == loss::expired));
    BOOST_TEST((cause(nine_seconds, "0n 1f 2m", 8907ms) == loss::expired)); // one refusal decides nothing
    BOOST_TEST((cause(nine_seconds, "0n 1n", 3s) == loss::refused));
    BOOST_TEST((cause(nine_seconds, "0f 1n 2n", 3s) == loss::refused));
    BOOST_TEST((cause(with(8s), "0m 1m", 7999ms) == loss::hold_ended));
    BOOST_TEST((cause(with(8s), "0n 1n", 3s) == loss::refused));
    BOOST_TEST((cause(with(9s), "0f 1f", 8907ms) == loss::expired));
    BOOST_TEST((cause(tolerant, "0f 1f", 9798ms) == loss::expired));
    BOOST_TEST((cause(with(9s, true, true), "0f 1f", 8999ms) == loss::hold_ended)); // within the grace
}

// rule H7
BOOST_AUTO_TEST_CASE(tolerated_suspect_is_held_again_when_ownership_is_proven)
{
    lease l{tolerant};
    BOOST_TEST(l.round(3s, "0f 1f", 8900ms) == ".F");
    BOOST_TEST(l.due(8907ms - 1ns) == '-');
    BOOST_TEST(l.due(8907ms) == 'S');
    BOOST_TEST(l.machine.phase() == suspect);
    BOOST_TEST(l.deadline_us() == us(8908ms)); // more than tolerated it is not
    BOOST_TEST(l.due(8909ms) == '-');          // told once
    BOOST_TEST(l.next_us() == us(8910ms));
    BOOST_TEST(l.due(8910ms) == 'R');
    BOOST_TEST(l.round(8910ms, "0m 1f 2f", 8999ms) == "..F");
    BOOST_TEST(l.machine.phase() == suspect);
    BOOST_TEST(l.next_us() == us(9099ms)); // an eighth of the 800 ms of grace that remain
    BOOST_TEST(l.round(9099ms, "0m 1m", 9150ms) == ".E");
    BOOST_TEST(l.machine.phase() == held);
    BOOST_TEST(l.deadline_us() == us(18007ms));
    BOOST_TEST(l.next_us() == us(12099ms));
    BOOST_TEST(l.due(12099ms - 1ns) == '-');
    l.begin(at(12099ms));
    BOOST_TEST(l.due(18006ms) == 'S');               // once more
    BOOST_TEST(l.answers("0m 1m", 18100ms) == ".E"); // begun before the deadline, ended in the grace
    BOOST_TEST(l.machine.phase() == held);
}

// rule H7
BOOST_AUTO_TEST_CASE(tolerated_suspect_is_lost_when_grace_ends)
{
    lease l{tolerant_unrenewed};
    BOOST_TEST(l.next_us() == us(8907ms));
    BOOST_TEST(l.due(8907ms) == 'S');
    BOOST_TEST(l.next_us() == us(9798ms));
    BOOST_TEST(l.due(9798ms - 1ns) == '-');
    BOOST_TEST(l.due(9798ms) == 'L');
    BOOST_TEST(l.machine.phase() == lost);

    lease overslept{tolerant};
    BOOST_TEST(overslept.due(9798ms) == 'L'); // not a suspect any more when first looked at

    lease refused{tolerant};
    BOOST_TEST(refused.due(8907ms) == 'S');
    BOOST_TEST(refused.round(8910ms, "0n 1n") == ".L");
    BOOST_TEST(refused.machine.phase() == lost);

    lease capped{with(9200ms, false, true)}; // max_hold ends inside the grace
    BOOST_TEST(capped.due(8907ms) == 'S');
    BOOST_TEST(capped.next_us() == us(9199ms));
    BOOST_TEST(capped.due(9199ms - 1ns) == '-');
    BOOST_TEST(capped.due(9199ms) == 'L');

    lease capped_before{with(5s, true, true)};
    BOOST_TEST(capped_before.due(4999ms) == 'L');
}

// rule H7
BOOST_AUTO_TEST_CASE(ended_lease_ignores_all_further_events)
{
    struct row {
        std::string_view how;
        lease_phase end;
    };
    row const rows[] = {
        {"release", released},
        {"release amid a round", released},
        {"release as a suspect", released},
        {"deadline", lost},
        {"refusals", lost},
        {"end of grace", lost},
    };
    for (row const& r : rows) {
        BOOST_TEST_CONTEXT(r.how)
        {
            lease l{r.how.ends_with("suspect") || r.how.ends_with("grace") ? tolerant : nine_seconds};
            if (r.how.ends_with("round"))
                BOOST_TEST(l.round(3s, "0m") == ".");
            if (r.how == "refusals")
                BOOST_TEST(l.round(3s, "0n 1n") == ".L");
            if (r.how == "deadline" || r.how == "release as a suspect")
                (void)l.due(8907ms);
            if (r.how == "end of grace")
                (void)l.due(9798ms);
            BOOST_TEST(l.machine.release() == (r.end == released));

            BOOST_TEST(!l.machine.release());
            BOOST_TEST(l.answers("1m 2m", 3s) == "FF");
            l.machine.late_grant(2, at(3s));
            BOOST_TEST(l.round(3100ms, "0m 1m 2m") == "FFF");
            BOOST_TEST(l.round(3200ms, "0n 1n 2n") == "FFF");
            for (duration now : {3s, 5s, 10s, 100s})
                BOOST_TEST(l.due(now) == '-');
            BOOST_TEST(l.next_us() == -1);
            BOOST_TEST(l.deadline_us() == us(8908ms));
            BOOST_TEST(l.machine.phase() == r.end);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
