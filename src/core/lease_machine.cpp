// SPDX-License-Identifier: BSL-1.0
#include "core/lease_machine.hpp"

#include "core/rule.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::core {

namespace {

// rule H3
constexpr int renewal_divisor = 3; // early enough for several retries inside the validity

/// Retries become more frequent as the end comes nearer, with a lower limit.
// rule H3
constexpr duration retry_pause(duration remaining)
{
    return std::max<duration>(remaining / 8, std::chrono::milliseconds{10});
}

constexpr instant earlier(instant a, instant b)
{
    return {std::min(a.boot, b.boot), std::min(a.raw, b.raw)};
}

} // namespace

lease_machine::lease_machine(lease_terms const& terms, unsigned nodes, instant sent, node_set granted)
    : terms_(&terms), sent_(sent), hold_left_(terms.max_hold), renew_after_(duration::max()),
      holders_(granted), seen_(granted), nodes_(static_cast<std::uint8_t>(nodes))
{
    rely_on(sent);
}

// rule W4
lease_machine lease_machine::handed_over(lease_terms const& terms, instant now) const
{
    lease_machine next(*this);
    next.terms_ = &terms;
    next.extending_ = false;
    next.hold_left_ = terms.max_hold;
    if (next.hold_left_ != duration::max())
        next.hold_left_ += elapsed(sent_, now);
    next.rely_on(sent_);
    return next;
}

void lease_machine::follow(lease_machine const& renewer)
{
    phase_ = lease_phase::held;
    rely_on(renewer.sent_);
    renew_after_ = duration::max();
    seen_ = renewer.seen_;
}

void lease_machine::become_renewer(lease_machine const& former)
{
    lease_machine const mine = *this;
    *this = former;
    terms_ = mine.terms_;
    sent_ = mine.sent_;
    hold_left_ = mine.hold_left_;
    phase_ = lease_phase::held;
    extending_ = false;
    rely_on(former.sent_);
    if (former.renewal_planned() && renewal_planned())
        renew_after_ = former.renew_after_; // which may have been postponed
}

void lease_machine::lose_with(lease_machine const& renewer)
{
    refused_ = renewer.refused_;
    seen_ = renewer.seen_;
    phase_ = lease_phase::lost;
}

/// Any node may hold the key. There is no validity yet that a late vote of the first holder's could prolong (rule H5).
// rule H9
lease_machine lease_machine::adopted(lease_terms const& terms, unsigned nodes, instant now)
{
    lease_machine made(terms, nodes, now, node_set::first(nodes));
    made.seen_ = {};
    made.phase_ = lease_phase::suspect;
    made.unconfirmed_ = true;
    return made;
}

void lease_machine::rely_on(instant sent)
{
    if (hold_left_ != duration::max())
        hold_left_ -= elapsed(sent_, sent);
    sent_ = sent;
    renew_after_ = may_renew() ? terms_->ttl / renewal_divisor : duration::max();
}

bool lease_machine::may_renew() const
{
    return terms_->renew && validity(terms_->ttl) < hold_left_;
}

instant lease_machine::deadline() const
{
    return sent_ + std::min(validity(terms_->ttl), hold_left_);
}

instant lease_machine::grace_ends() const
{
    return sent_ + std::min(validity(terms_->ttl + terms_->slack), hold_left_);
}

/// The latest time at which the lease is lost.
instant lease_machine::end() const
{
    bool const graced = phase_ == lease_phase::suspect && (terms_->tolerate_suspect || !unconfirmed_);
    return graced ? grace_ends() : deadline();
}

bool lease_machine::ended(instant now) const
{
    return reached(terms_->tolerate_suspect ? grace_ends() : deadline(), now);
}

bool lease_machine::lost_at(instant now) const
{
    bool const tolerated = terms_->tolerate_suspect && remaining(grace_ends(), now) > notice;
    return remaining(deadline(), now) <= notice && !tolerated;
}

// rule H7
lease_machine::duty lease_machine::due(instant now)
{
    if (over())
        return duty::none;
    if (lost_at(now)) {
        phase_ = lease_phase::lost;
        return duty::tell_lost;
    }
    if (phase_ == lease_phase::held && remaining(deadline(), now) <= notice) {
        phase_ = lease_phase::suspect;
        return duty::tell_suspect;
    }
    bool const time_to_renew = renewal_planned() && !extending_ && reached(sent_ + renew_after_, now);
    return time_to_renew ? duty::renew : duty::none;
}

std::optional<instant> lease_machine::next_due() const
{
    if (over())
        return std::nullopt;
    instant const last = end() - notice;
    return renewal_planned() && !extending_ ? earlier(sent_ + renew_after_, last) : last;
}

duration lease_machine::late_by(std::optional<instant> round_ends, instant now) const
{
    // Less than this part of a lease is usual on a busy machine, and leaves time to repeat a renewal: it does not
    // explain the loss.
    constexpr int notable_part = 8;
    if (!round_ends && !renewal_planned())
        return duration::zero();
    instant const due = round_ends ? *round_ends : sent_ + renew_after_;
    duration const late = elapsed(due, now);
    bool const due_before_deadline = elapsed(due, deadline()) > duration::zero();
    return due_before_deadline && late >= terms_->ttl / notable_part ? late : duration::zero();
}

lease_facts lease_machine::facts(lease_round const* last) const
{
    return {seen_,           last ? last->confirmed : node_set(), last ? last->sent : sent_, sent_, nodes_,
            confirmed_once()};
}

/// After the deadline another client may have come and gone on that node before our vote was executed there. Then its
/// key proves nothing, however long before a round it is known (rule H5).
void lease_machine::late_grant(unsigned node, instant now)
{
    if (!reached(deadline(), now) || !applies(rule::nothing_is_learned_after_the_deadline))
        holders_.insert(node);
    seen_.insert(node);
}

void lease_machine::extension_started(lease_round& round, instant sent)
{
    if (round.answers.nodes() != 0)
        seen_ = round.confirmed; // with the answers that came after its verdict
    round = {tally{nodes_}, holders_, {}, {}, sent, 0, true};
    extending_ = true;
}

lease_machine::outcome lease_machine::answer(lease_round& round, unsigned node, extension_answer said,
                                             instant now)
{
    if (over() && applies(rule::the_end_is_final))
        return outcome::failed;
    // If the clock was not read in time, the lease is still over (rule H7).
    if (ended(now) && applies(rule::the_deadline_is_final)) {
        phase_ = lease_phase::lost;
        return outcome::lost;
    }
    note(round, node, said, now);
    if (is_refused(round)) {
        phase_ = lease_phase::lost;
        refused_ = true;
        return outcome::lost;
    }
    if (!extending_)
        return outcome::pending;
    if (said == extension_answer::repaired && round.awaits(node))
        ++round.repaired;
    round.answers.record(node, judge(round, node, said));
    return settle(round, now);
}

void lease_machine::note(lease_round& round, unsigned node, extension_answer said, instant now)
{
    if (said == extension_answer::mine || said == extension_answer::repaired) {
        round.confirmed.insert(node);
        return late_grant(node, now);
    }
    seen_.erase(node);
    if (said == extension_answer::not_mine)
        note_refusal(round, node);
}

/// A round that failed does not wait for all nodes, but what the others say of the key is as true.
// rule H6
void lease_machine::note_refusal(lease_round& round, unsigned node)
{
    if (round.hears_refusals && round.awaits(node))
        round.refused_by.insert(node);
    holders_.erase(node);
}

/// The fence tells a late own vote apart, so a fenced lease needs no knowledge from before the round.
// rules H5 and F4
vote lease_machine::judge(lease_round const& round, unsigned node, extension_answer said) const
{
    switch (said) {
    case extension_answer::mine:
        return terms_->guarded || round.holders_before.contains(node) ||
                       !applies(rule::own_late_votes_prove_nothing)
                   ? vote::granted
                   : vote::failed;
    case extension_answer::repaired: return terms_->guarded ? vote::granted : vote::failed;
    case extension_answer::not_mine: return vote::denied;
    case extension_answer::failed: break;
    }
    return vote::failed;
}

lease_machine::outcome lease_machine::time_out(lease_round& round, instant now)
{
    if (over() || !extending_)
        return outcome::pending;
    for (unsigned node = 0; node != nodes_; ++node)
        round.answers.record(node, vote::failed);
    seen_ = round.confirmed;
    round.hears_refusals = false;
    return settle(round, now);
}

/// Within the validity that the round itself establishes (rule H4), and with repaired keys only before the old deadline:
/// after it, others may have come and gone.
// rule F5
bool lease_machine::counts(lease_round const& round, instant now) const
{
    tally const& answers = round.answers;
    bool const in_time = !reached(core::deadline(round.sent, terms_->ttl), now);
    bool const unbroken = answers.granted() - round.repaired >= majority(nodes_);
    bool const before_the_end = !reached(deadline(), now) || !applies(rule::repair_before_the_old_deadline);
    return answers.result() == verdict::won && in_time && (unbroken || (before_the_end && !unconfirmed_));
}

/// A majority can never be had again.
// rule H6
bool lease_machine::is_refused(lease_round const& round) const
{
    return round.refused_by.size() > nodes_ - majority(nodes_) && applies(rule::definite_loss);
}

lease_machine::loss lease_machine::cause() const
{
    if (refused_)
        return loss::refused;
    auto const longest = terms_->tolerate_suspect ? terms_->ttl + terms_->slack : terms_->ttl;
    return hold_left_ <= validity(longest) ? loss::hold_ended : loss::expired;
}

// rules H4 and K2
lease_machine::outcome lease_machine::settle(lease_round const& round, instant now)
{
    if (round.answers.result() == verdict::pending)
        return outcome::pending;

    extending_ = false;
    if (!counts(round, now)) {
        renew_after_ = duration::max(); // also the one that a watch planned (rule W6)
        if (may_renew())
            postpone_renewal(now);
        return outcome::failed;
    }
    phase_ = lease_phase::held;
    if (std::exchange(unconfirmed_, false))
        holders_ = round.confirmed;
    rely_on(applies(rule::extension_counts_from_its_sending) ? round.sent : now);
    return outcome::extended;
}

// rule H8
void lease_machine::postpone_renewal(instant now)
{
    renew_after_ = elapsed(sent_, now) + retry_pause(left(now));
}

bool lease_machine::release()
{
    bool const ours = !over();
    if (ours)
        phase_ = lease_phase::released;
    return ours;
}

} // namespace redlock::core
