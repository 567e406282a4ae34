// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <cstdint>

using namespace redlock::test;
using enum redlock::core::lease_phase;

namespace {

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
        machine_.extension_started(round_, now_);
        sent_ = now_;
        known_ = holders_;
        answered_ = mine_ = refused_ = {};
        open_ = begun_ = true;
        check();
    }

    void answer(unsigned node, extension_answer said)
    {
        bool const known_in_time = !reached(machine_.deadline(), now_);
        auto const outcome = machine_.answer(round_, node, said, now_);
        if (!over_ && too_late()) {
            RC_ASSERT(outcome == lease_machine::outcome::lost);
            RC_ASSERT(machine_.phase() == lost);
        } else if (!over_) {
            if (said == extension_answer::mine && known_in_time)
                holders_.insert(node);
            else if (said == extension_answer::not_mine)
                holders_.erase(node);
            count(node, said);
            bool const gone = refused_.size() > machine_.nodes() - majority(machine_.nodes());
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
        machine_.late_grant(node, now_);
        if (!reached(machine_.deadline(), now_))
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
        if (!begun_ || answered_.contains(node))
            return;
        if (said == extension_answer::not_mine)
            refused_.insert(node);
        if (!open_)
            return;
        answered_.insert(node);
        if (said == extension_answer::mine && known_.contains(node))
            mine_.insert(node);
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
    lease_round round_{};
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
    bool begun_ = false; ///< a round, at some time
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

// rule H4
RC_BOOST_PROP(deadline_moves_only_forward_and_only_when_confirmed, ())
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

// One clock stands still while the machine is suspended; then less than the whole of max_hold is left on the other
// clock.
// rule H7
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
