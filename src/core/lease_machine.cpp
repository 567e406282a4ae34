#include "core/lease_machine.hpp"

#include "core/validity.hpp"

#include <algorithm>

namespace redlock::core {

namespace {

constexpr int renewal_divisor = 3; // early enough for several retries inside the validity (rule H3)

/// Denser as the end comes nearer, never a storm.
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
      holders_(granted)
{
    round_.answers = tally{nodes};
    rely_on(sent);
}

void lease_machine::rely_on(instant sent)
{
    if (hold_left_ != duration::max())
        hold_left_ -= elapsed(sent_, sent);
    sent_ = sent;
    bool const last = validity(terms_->ttl) >= hold_left_;
    renew_after_ = terms_->renew && !last ? terms_->ttl / renewal_divisor : duration::max();
}

instant lease_machine::deadline() const
{
    return sent_ + std::min(validity(terms_->ttl), hold_left_);
}

instant lease_machine::grace_ends() const
{
    return sent_ + std::min(validity(terms_->ttl + terms_->slack), hold_left_);
}

bool lease_machine::ended(instant now) const
{
    return reached(terms_->tolerate_suspect ? grace_ends() : deadline(), now);
}

lease_machine::duty lease_machine::due(instant now)
{
    if (over())
        return duty::none;
    bool const tolerated = terms_->tolerate_suspect && remaining(grace_ends(), now) > notice;
    if (remaining(deadline(), now) <= notice && !tolerated) {
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
    instant const end = (phase_ == lease_phase::suspect ? grace_ends() : deadline()) - notice;
    return renewal_planned() && !extending_ ? earlier(sent_ + renew_after_, end) : end;
}

void lease_machine::extension_started(instant sent)
{
    round_ = {tally{nodes()}, holders_, sent};
    extending_ = true;
}

lease_machine::outcome lease_machine::answer(unsigned node, extension_answer said, instant now)
{
    if (over())
        return outcome::failed;
    if (ended(now)) { // nobody has looked at the clock in time: what is over stays over (rule H7)
        phase_ = lease_phase::lost;
        return outcome::lost;
    }
    if (said == extension_answer::mine)
        holders_.insert(node);
    else if (said == extension_answer::not_mine)
        holders_.erase(node);
    if (!extending_)
        return outcome::pending;

    bool const counts = said == extension_answer::mine && round_.holders_before.contains(node);
    vote const as = counts ? vote::granted : said == extension_answer::not_mine ? vote::denied : vote::failed;
    round_.answers.record(node, as);
    return settle(now);
}

lease_machine::outcome lease_machine::settle(instant now)
{
    tally const& answers = round_.answers;
    if (answers.denied() > nodes() - majority(nodes())) { // somebody else can have a majority now (rule H6)
        phase_ = lease_phase::lost;
        return outcome::lost;
    }
    if (answers.result() == verdict::pending)
        return outcome::pending;

    extending_ = false;
    bool const won =
        answers.result() == verdict::won && !reached(core::deadline(round_.sent, terms_->ttl), now);
    if (!won) {
        instant const end = phase_ == lease_phase::suspect ? grace_ends() : deadline();
        if (renewal_planned())
            renew_after_ = elapsed(sent_, now) + retry_pause(remaining(end, now));
        return outcome::failed;
    }
    phase_ = lease_phase::held;
    rely_on(round_.sent);
    return outcome::extended;
}

bool lease_machine::release()
{
    bool const ours = !over();
    if (ours)
        phase_ = lease_phase::released;
    return ours;
}

} // namespace redlock::core
