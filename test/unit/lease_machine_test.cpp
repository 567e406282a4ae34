#include "core/lease_machine.hpp"
#include "core/validity.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace redlock::core {

static std::ostream& boost_test_print_type(std::ostream& out, lease_phase phase)
{
    return out << std::array{"held", "suspect", "lost", "released"}[static_cast<std::size_t>(phase)];
}

} // namespace redlock::core

namespace {

using enum lease_phase;

/// Since the first byte of the winning attempt. The two clocks have origins of their own.
constexpr instant at(duration since)
{
    return {1000000s + since, 77s + since};
}

constexpr std::int64_t us(duration d)
{
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

node_set nodes_of(std::string_view digits)
{
    node_set nodes;
    for (char digit : digits)
        nodes.insert(static_cast<unsigned>(digit - '0'));
    return nodes;
}

extension_answer parse_answer(char letter)
{
    return letter == 'm'   ? extension_answer::mine
           : letter == 'n' ? extension_answer::not_mine
                           : extension_answer::failed;
}

/// Of nine seconds: valid for 9000 - 90 - 2 = 8908 ms, renewed at 3000 ms; with its slack of 900 ms, a
/// tolerated suspect until 9900 - 99 - 2 = 9799 ms.
constexpr lease_terms nine_seconds{.ttl = 9s, .slack = 900ms};

constexpr lease_terms with(duration max_hold, bool renew = true, bool tolerate = false)
{
    return {.ttl = 9s, .slack = 900ms, .max_hold = max_hold, .renew = renew, .tolerate_suspect = tolerate};
}
constexpr lease_terms unrenewed = with(duration::max(), false);
constexpr lease_terms tolerant = with(duration::max(), true, true);
constexpr lease_terms tolerant_unrenewed = with(duration::max(), false, true);

/// A machine spoken to in milliseconds and letters.
struct lease {
    explicit lease(lease_terms t = nine_seconds, unsigned nodes = 3, std::string_view holders = "01234")
        : terms(t), machine(terms, nodes, at(0s), nodes_of(holders.substr(0, nodes)))
    {}
    lease(lease const&) = delete;
    lease& operator=(lease const&) = delete;

    char due(duration now) { return due(at(now)); }
    char due(instant now) { return "-RSL"[static_cast<std::size_t>(machine.due(now))]; }

    /// "0m 1n 2f": mine, not mine, failed. For each: pending, Extended, Failed or Lost.
    std::string answers(std::string const& script, duration now)
    {
        std::string told;
        std::istringstream words(script);
        for (std::string word; words >> word;)
            told += ".EFL"[static_cast<std::size_t>(
                machine.answer(static_cast<unsigned>(word[0] - '0'), parse_answer(word[1]), at(now)))];
        return told;
    }

    std::string round(duration sent, std::string const& script, duration now)
    {
        machine.extension_started(at(sent));
        return answers(script, now);
    }
    std::string round(duration sent, std::string const& script) { return round(sent, script, sent); }

    [[nodiscard]] std::int64_t deadline_us() const
    {
        BOOST_TEST(us(machine.deadline().boot - at(0s).boot) == us(machine.deadline().raw - at(0s).raw));
        return us(machine.deadline().boot - at(0s).boot);
    }
    /// Minus one: never again.
    [[nodiscard]] std::int64_t next_us() const
    {
        auto const next = machine.next_due();
        return next ? us(next->boot - at(0s).boot) : -1;
    }

    lease_terms const terms;
    lease_machine machine;
};

/// Watches a machine from outside, counting on its fingers which rounds a majority truly confirmed.
class witness {
public:
    witness(lease_terms const& t, unsigned nodes, node_set holders)
        : terms_(t), machine_(terms_, nodes, at(0s), holders), holders_(holders), confirmed_(at(0s)),
          now_(at(0s)), last_deadline_(machine_.deadline())
    {}
    witness(witness const&) = delete;
    witness& operator=(witness const&) = delete;

    /// Time passes, and nobody looks at the clock.
    void oversleep(duration boot, duration raw) { now_ = {now_.boot + boot, now_.raw + raw}; }

    void pass(duration boot, duration raw)
    {
        oversleep(boot, raw);
        bool const quiet = over_ || (machine_.next_due() && !reached(*machine_.next_due(), now_));
        auto const duty = machine_.due(now_);
        if (quiet)
            RC_ASSERT(duty == lease_machine::duty::none);
        if (duty == lease_machine::duty::tell_suspect)
            RC_ASSERT(terms_.tolerate_suspect);
        check();
        if (duty == lease_machine::duty::renew)
            start();
        if (machine_.phase() == held)
            RC_ASSERT(!reached(machine_.deadline(), now_));
    }

    void start()
    {
        machine_.extension_started(now_);
        sent_ = now_;
        known_ = holders_;
        answered_ = mine_ = refused_ = {};
        open_ = true;
        check();
    }

    void answer(unsigned node, extension_answer said)
    {
        auto const outcome = machine_.answer(node, said, now_);
        if (!over_ && too_late()) {
            RC_ASSERT(outcome == lease_machine::outcome::lost);
            RC_ASSERT(machine_.phase() == lost);
        } else if (!over_) {
            said == extension_answer::mine       ? holders_.insert(node)
            : said == extension_answer::not_mine ? holders_.erase(node)
                                                 : void();
            count(node, said);
            bool const gone = open_ && refused_.size() > machine_.nodes() - majority(machine_.nodes());
            RC_ASSERT((machine_.phase() == lost) == gone);
            RC_ASSERT((outcome == lease_machine::outcome::lost) == gone);
            bool const confirmed = open_ && !gone && 2 * mine_.size() > machine_.nodes();
            bool const in_time = elapsed(sent_, now_) < validity(terms_.ttl);
            RC_ASSERT((outcome == lease_machine::outcome::extended) == (confirmed && in_time));
            if (confirmed && in_time)
                confirmed_ = sent_;
            open_ = machine_.extending() && !gone;
        }
        check();
    }

    void late_grant(unsigned node)
    {
        machine_.late_grant(node);
        holders_.insert(node);
        check();
    }

    void release()
    {
        RC_ASSERT(machine_.release() == !over_);
        check();
    }

private:
    void count(unsigned node, extension_answer said)
    {
        if (!open_ || answered_.contains(node))
            return;
        answered_.insert(node);
        if (said == extension_answer::mine && known_.contains(node))
            mine_.insert(node);
        if (said == extension_answer::not_mine)
            refused_.insert(node);
    }

    void check()
    {
        instant const deadline = machine_.deadline();
        RC_ASSERT(deadline.boot <= confirmed_.boot + validity(terms_.ttl));
        RC_ASSERT(deadline.raw <= confirmed_.raw + validity(terms_.ttl));
        if (terms_.max_hold == duration::max()) {
            RC_ASSERT(deadline == core_deadline());
            RC_ASSERT((deadline.boot >= last_deadline_.boot && deadline.raw >= last_deadline_.raw));
        } else {
            RC_ASSERT(elapsed(at(0s), deadline) <= terms_.max_hold);
            RC_ASSERT(remaining(deadline, now_) >= remaining(last_deadline_, now_));
        }
        last_deadline_ = deadline;

        if (over_) {
            RC_ASSERT(machine_.phase() == end_);
            RC_ASSERT(!machine_.next_due());
        }
        end_ = machine_.phase();
        over_ = end_ == lost || end_ == released;
        RC_ASSERT((end_ != suspect || terms_.tolerate_suspect));
    }

    [[nodiscard]] bool too_late() const
    {
        auto const slack = terms_.tolerate_suspect ? terms_.slack : duration::zero();
        return elapsed(confirmed_, now_) >= validity(terms_.ttl + slack) ||
               elapsed(at(0s), now_) >= terms_.max_hold;
    }

    [[nodiscard]] instant core_deadline() const { return redlock::core::deadline(confirmed_, terms_.ttl); }

    lease_terms const terms_;
    lease_machine machine_;
    node_set holders_;
    node_set known_;
    node_set answered_;
    node_set mine_;
    node_set refused_;
    instant confirmed_;
    instant sent_;
    instant now_;
    instant last_deadline_;
    lease_phase end_ = held;
    bool open_ = false;
    bool over_ = false;
};

lease_terms any_terms(duration max_hold)
{
    auto const ttl = milliseconds{*rc::gen::inRange(50, 9000)};
    return {.ttl = ttl,
            .slack = ttl * *rc::gen::inRange(0, 300) / 100,
            .max_hold = max_hold,
            .renew = *rc::gen::arbitrary<bool>(),
            .tolerate_suspect = *rc::gen::arbitrary<bool>()};
}

template <class Pass>
void live_a_random_life(lease_terms const& terms, Pass pass)
{
    auto const nodes = *rc::gen::inRange(1U, 6U);
    node_set holders;
    for (unsigned node = 0; node != nodes; ++node)
        if (*rc::gen::inRange(0, 4) != 0)
            holders.insert(node);
    witness w{terms, nodes, holders};
    auto const steps = *rc::gen::inRange(1, 150);
    for (int step = 0; step != steps; ++step) {
        auto const node = *rc::gen::inRange(0U, nodes);
        auto const what = *rc::gen::inRange(0, 100);
        if (what < 70)
            w.answer(node, *rc::gen::weightedElement<extension_answer>({{6, extension_answer::mine},
                                                                        {1, extension_answer::not_mine},
                                                                        {1, extension_answer::failed}}));
        else if (what < 88)
            pass(w);
        else if (what < 96)
            w.start();
        else if (what < 99)
            w.late_grant(node);
        else
            w.release();
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(lease_machine_rules)

BOOST_AUTO_TEST_CASE(is_renewed_after_a_third_of_its_ttl)
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
        l.machine.extension_started(at(r.renewal));
        BOOST_TEST(l.due(r.renewal) == '-');
        BOOST_TEST(l.next_us() == us(validity(r.ttl) - 1ms));
    }
    lease slept;
    BOOST_TEST(slept.due(instant{at(3s).boot, at(1s).raw}) == 'R');
    BOOST_TEST(slept.due(instant{at(1s).boot, at(3s).raw}) == 'R');
}

BOOST_AUTO_TEST_CASE(an_extension_counts_from_its_own_sending)
{
    lease l;
    BOOST_TEST(l.deadline_us() == us(8908ms));
    BOOST_TEST(l.round(3000ms, "0m 1m", 3400ms) == ".E");
    BOOST_TEST(l.deadline_us() == us(11908ms));
    BOOST_TEST(l.next_us() == us(6000ms));
    BOOST_TEST(!l.machine.extending());
    BOOST_TEST(l.round(6100ms, "2m 1m", 6100ms) == ".E");
    BOOST_TEST(l.deadline_us() == us(15008ms));
    BOOST_TEST(l.due(15007ms - 1ns) == 'R');
    BOOST_TEST(l.due(15007ms) == 'L');
}

BOOST_AUTO_TEST_CASE(a_failed_renewal_is_retried_sooner_and_sooner)
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

BOOST_AUTO_TEST_CASE(retries_go_on_to_the_end_without_becoming_a_storm)
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

BOOST_AUTO_TEST_CASE(loss_is_told_one_millisecond_before_the_deadline)
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
    asking.machine.extension_started(at(8900ms)); // an answer on its way buys no time
    BOOST_TEST(asking.next_us() == us(8907ms));
    BOOST_TEST(asking.due(8907ms) == 'L');
}

BOOST_AUTO_TEST_CASE(an_extension_counts_only_within_its_own_validity)
{
    constexpr lease_terms patient{
        .ttl = 9s, .slack = 60s, .tolerate_suspect = true}; // so that nothing else ends it
    struct row {
        duration answered_at;
        std::string expected;
    };
    for (row const& r : {row{11908ms - 1ns, ".E"}, row{11908ms, ".F"}, row{20s, ".F"}}) {
        lease l{patient};
        BOOST_TEST(l.round(3000ms, "0m 1m", r.answered_at) == r.expected, us(r.answered_at));
        BOOST_TEST(l.deadline_us() == us(r.expected == ".E" ? 11908ms : 8908ms));
    }
    lease slept{patient};
    slept.machine.extension_started(at(3000ms));
    (void)slept.machine.answer(0, extension_answer::mine, at(3100ms));
    instant const woken{at(11908ms).boot, at(3100ms).raw};
    BOOST_TEST((slept.machine.answer(1, extension_answer::mine, woken) == lease_machine::outcome::failed));
    BOOST_TEST(slept.deadline_us() == us(8908ms));
}

BOOST_AUTO_TEST_CASE(an_answer_read_after_the_deadline_resurrects_nothing)
{
    // A blocked executor may read the answers before it looks at its timers; others have seen the lease as
    // over by then.
    struct row {
        lease_terms terms;
        duration sent;
        duration end;
    };
    row const rows[] = {
        {nine_seconds, 7900ms, 8908ms},     {unrenewed, 7900ms, 8908ms},
        {tolerant, 7900ms, 9799ms},         {with(8s), 7900ms, 8s},
        {with(8s, true, true), 7900ms, 8s}, {with(9200ms, true, true), 7900ms, 9200ms},
    };
    for (row const& r : rows) {
        BOOST_TEST_CONTEXT("ends at " << us(r.end) << " us")
        {
            lease in_time{r.terms};
            BOOST_TEST(in_time.round(r.sent, "0m 1m", r.end - 1ns) == ".E");

            for (duration answered_at : {r.end, r.end + 1s}) {
                lease late{r.terms};
                auto const before = late.deadline_us();
                BOOST_TEST(late.round(r.sent, "0m 1m", answered_at) == "LF");
                BOOST_TEST(late.machine.phase() == lost);
                BOOST_TEST(late.deadline_us() == before);
                BOOST_TEST(late.next_us() == -1);
            }

            lease begun_late{r.terms}; // by hand
            BOOST_TEST(begun_late.round(r.end + 1s, "0m 1m") == "LF");
            BOOST_TEST(begun_late.machine.phase() == lost);
        }
    }
    lease slept;
    slept.machine.extension_started(at(8000ms));
    instant const woken{at(8908ms).boot, at(8001ms).raw};
    BOOST_TEST((slept.machine.answer(0, extension_answer::mine, woken) == lease_machine::outcome::lost));
}

BOOST_AUTO_TEST_CASE(only_nodes_known_as_holders_before_the_round_count)
{
    struct row {
        unsigned nodes;
        std::string holders;
        std::string script;
        std::string expected;
        unsigned votes; // known holders afterwards
    };
    row const rows[] = {
        {3, "01", "0m 1m", ".E", 2},
        {3, "01", "0m 2m", "..", 3},
        {3, "01", "2m 0m 1m", "..E", 3},
        {3, "01", "0m 2m 1f", "..F", 3},
        {3, "01", "2m 1f", ".F", 3}, // a late own vote weighs like a failure, not like a refusal
        {3, "01", "2m 1n", ".F", 2},
        {3, "0", "1m 2m", ".F", 3},
        {5, "012", "3m 4m 0m 1m 2m", "....E", 5},
        {5, "012", "3m 4m 0m 1m 2f", "....F", 5},
        {5, "012", "0n 1m 2m 3f 4m", "....F", 3},
        {4, "012", "3m 0m 1m 2m", "...E", 4},
        {4, "012", "3m 0m 1f", "..F", 4},
    };
    for (row const& r : rows) {
        BOOST_TEST_CONTEXT(r.nodes << " nodes, holders " << r.holders << ": " << r.script)
        {
            lease l{nine_seconds, r.nodes, r.holders};
            BOOST_TEST(l.round(3s, r.script) == r.expected);
            BOOST_TEST(l.machine.votes() == r.votes);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_node_learned_of_late_counts_from_the_next_round_on)
{
    lease found{nine_seconds, 3, "01"};
    BOOST_TEST(found.round(3s, "2m 1f") == ".F");
    BOOST_TEST(found.round(4s, "2m 0m") == ".E");

    lease granted_before{nine_seconds, 3, "01"};
    granted_before.machine.late_grant(2);
    BOOST_TEST(granted_before.machine.votes() == 3U);
    BOOST_TEST(granted_before.round(3s, "2m 0m") == ".E");

    lease granted_meanwhile{nine_seconds, 3, "01"};
    granted_meanwhile.machine.extension_started(at(3s));
    granted_meanwhile.machine.late_grant(2);
    BOOST_TEST(granted_meanwhile.answers("2m 0m", 3s) == "..");
    BOOST_TEST(granted_meanwhile.round(4s, "2m 0m") == ".E");

    lease forgotten;
    BOOST_TEST(forgotten.round(3s, "0n 1m 2m") == "..E");
    BOOST_TEST(forgotten.machine.votes() == 2U);
    BOOST_TEST(forgotten.round(6s, "0m 1m") == ".."); // it held nothing when this round began
    BOOST_TEST(forgotten.answers("2m", 6s) == "E");
}

BOOST_AUTO_TEST_CASE(is_lost_for_certain_when_its_majority_is_gone)
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
        {4, "0n 1n", ".L"},
        {4, "0m 1m 2n 3n", "...L"},
        {4, "0m 1m 2n 3f", "...F"},
        {5, "0n 1n 2n", "..L"},
        {5, "0n 1m 2n 3m 4n", "....L"},
        {5, "0n 1n 2m 3m 4m", "....E"},
        {5, "0n 1n 2f", "..F"},
        {5, "0f 1f 2f 3n 4n", "..F.."}, // a decided round takes no more evidence
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

BOOST_AUTO_TEST_CASE(max_hold_ends_it_whatever_the_nodes_say)
{
    lease l{with(20s)};
    BOOST_TEST(l.round(3s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(11908ms));
    BOOST_TEST(l.round(11s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(19908ms));
    BOOST_TEST(l.next_us() == us(14s));
    BOOST_TEST(l.round(14s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(20s));
    BOOST_TEST(l.due(17s) == '-'); // there is nothing left to win
    BOOST_TEST(l.next_us() == us(19999ms));
    BOOST_TEST(l.round(18s, "0m 1m") == ".E"); // asked for by hand
    BOOST_TEST(l.deadline_us() == us(20s));
    BOOST_TEST(l.round(19s, "0f 1f") == ".F");
    BOOST_TEST(l.next_us() == us(19999ms));
    BOOST_TEST(l.due(19999ms - 1ns) == '-');
    BOOST_TEST(l.due(19999ms) == 'L');
}

BOOST_AUTO_TEST_CASE(max_hold_decides_whether_to_renew_at_all)
{
    struct row {
        duration max_hold;
        duration deadline;
        duration next;
    };
    row const rows[] = {
        {1s, 1s, 999ms},          {5s, 5s, 4999ms}, {8907ms, 8907ms, 8906ms},
        {8908ms, 8908ms, 8907ms}, // as long as the first validity: a renewal would win nothing
        {8909ms, 8908ms, 3s},
    };
    for (row const& r : rows) {
        lease l{with(r.max_hold)};
        BOOST_TEST(l.deadline_us() == us(r.deadline), us(r.max_hold));
        BOOST_TEST(l.next_us() == us(r.next), us(r.max_hold));
    }
}

BOOST_AUTO_TEST_CASE(max_hold_counts_on_the_clock_that_ran_further)
{
    lease l{with(20s)};
    instant const slept{at(8s).boot, at(3s).raw}; // five seconds suspended
    l.machine.extension_started(slept);
    (void)l.machine.answer(0, extension_answer::mine, slept);
    BOOST_TEST((l.machine.answer(1, extension_answer::mine, slept) == lease_machine::outcome::extended));
    BOOST_TEST(us(remaining(l.machine.deadline(), slept)) == us(8908ms));
    instant const later = slept + 6s;
    l.machine.extension_started(later);
    (void)l.machine.answer(0, extension_answer::mine, later);
    (void)l.machine.answer(1, extension_answer::mine, later);
    BOOST_TEST(us(remaining(l.machine.deadline(), later)) == us(6s)); // 20 - 8 - 6
}

BOOST_AUTO_TEST_CASE(an_unrenewed_lease_is_extended_by_hand_only)
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

BOOST_AUTO_TEST_CASE(a_tolerated_suspect_is_held_again_when_its_ownership_is_proven)
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
    l.machine.extension_started(at(12099ms));
    BOOST_TEST(l.due(18006ms) == 'S');               // once more
    BOOST_TEST(l.answers("0m 1m", 18100ms) == ".E"); // begun before the deadline, ended in the grace
    BOOST_TEST(l.machine.phase() == held);
}

BOOST_AUTO_TEST_CASE(a_tolerated_suspect_is_lost_when_the_grace_ends)
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

BOOST_AUTO_TEST_CASE(nothing_happens_after_the_end)
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
            l.machine.late_grant(2);
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

BOOST_AUTO_TEST_CASE(answers_to_an_earlier_round_do_not_count)
{
    lease l;
    BOOST_TEST(l.round(3s, "0m") == ".");
    BOOST_TEST(l.machine.extending());
    BOOST_TEST(l.machine.answered(0));
    BOOST_TEST(!l.machine.answered(1));
    BOOST_TEST(l.round(4s, "1m") == "."); // a new round, at nought
    BOOST_TEST(!l.machine.answered(0));
    BOOST_TEST((l.machine.extension_sent() == at(4s)));
    BOOST_TEST(l.deadline_us() == us(8908ms));
    BOOST_TEST(l.answers("2m", 4s) == "E");
    BOOST_TEST(l.deadline_us() == us(12908ms));
    BOOST_TEST(l.machine.nodes() == 3U);

    lease refused;
    BOOST_TEST(refused.round(3s, "0n") == ".");
    BOOST_TEST(refused.round(4s, "1n 0f") == ".F"); // one refusal each
    BOOST_TEST(refused.machine.phase() == held);
}

BOOST_AUTO_TEST_CASE(without_an_open_round_answers_only_tell_who_holds)
{
    lease l{nine_seconds, 3, "01"};
    BOOST_TEST(l.answers("0m 1m 2m", 1s) == "...");
    BOOST_TEST(l.machine.votes() == 3U);
    BOOST_TEST(l.answers("0n 1n 2n", 1s) == "...");
    BOOST_TEST(l.machine.votes() == 0U);
    BOOST_TEST(l.machine.phase() == held);
    BOOST_TEST(l.deadline_us() == us(8908ms));

    lease failed;
    BOOST_TEST(failed.round(3s, "0f 1f 2m 0m 1m") == ".F...");
    BOOST_TEST(failed.deadline_us() == us(8908ms));

    lease extended;
    BOOST_TEST(extended.round(3s, "0m 1m 2n 0n 1n") == ".E...");
    BOOST_TEST(extended.deadline_us() == us(11908ms));
    BOOST_TEST(extended.machine.phase() == held);
}

RC_BOOST_PROP(only_a_confirmed_round_moves_the_deadline_and_never_back, ())
{
    auto const terms = any_terms(duration::max());
    auto const any_span = rc::gen::inRange<std::int64_t>(0, (terms.ttl / 5).count());
    live_a_random_life(terms, [&](witness& w) {
        if (*rc::gen::inRange(0, 8) == 0)
            w.oversleep(duration{*any_span}, duration{*any_span});
        else
            w.pass(duration{*any_span}, duration{*any_span});
    });
}

// One clock stands still while the machine is suspended; then less than the whole of max_hold is left on the
// other.
RC_BOOST_PROP(max_hold_is_never_exceeded, ())
{
    auto const terms = any_terms(milliseconds{*rc::gen::inRange(10, 30000)});
    auto const any_span = rc::gen::inRange<std::int64_t>(0, (terms.ttl / 5).count());
    live_a_random_life(terms, [&](witness& w) {
        duration const awake{*any_span};
        duration const suspended{*rc::gen::inRange(0, 4) == 0 ? *any_span : 0};
        w.pass(awake + suspended, awake);
    });
}

BOOST_AUTO_TEST_SUITE_END()
