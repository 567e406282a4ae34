// SPDX-License-Identifier: BSL-1.0
#include "core/attempt.hpp"

#include "core/rule.hpp"

#include <utility>

namespace redlock::core {

attempt::attempt(agreement on, unsigned nodes, instant sent)
    : sent_(sent), votes_(nodes), write_backs_(nodes), on_(on)
{}

attempt::step attempt::voted(unsigned node, vote v, fence counter)
{
    if (v == vote::denied && !votes_.has_answered(node))
        refused_.insert(node);
    if (decided_ || writing_back_) {
        heard_late(node, v, counter);
        return writing_back() && write_backs_.has_answered(node) ? decide(write_backs_.result())
                                                                 : step::pending;
    }
    record(node, v, counter);
    bool const needed = heeded_.contains(node);
    heeded_.erase(node);
    return needed && v == vote::denied ? give_way() : conclude();
}

/// An answer that comes while a majority waits for the heeded node is kept, but is not counted.
void attempt::record(unsigned node, vote v, fence counter)
{
    if (v == vote::granted && on_ == agreement::one_number && !has_answered(node))
        fences_.granted(node, counter);
    if (votes_.result() == verdict::pending)
        return void(votes_.record(node, v));
    uncounted_.insert(node);
    if (v == vote::granted && on_ == agreement::majority)
        late_.insert(node);
}

attempt::step attempt::conclude()
{
    verdict const so_far = votes_.result();
    if (so_far == verdict::won && !heeded_.empty())
        return std::exchange(heeding_, true) ? step::pending : step::heeding;
    return so_far == verdict::won && on_ == agreement::one_number ? agree() : decide(so_far);
}

// rule Q10
attempt::step attempt::heed_no_longer()
{
    heeded_ = {};
    return decided_ || writing_back_ ? step::pending : conclude();
}

/// A late vote is not counted (rule A5), but a node whose counter is at the token becomes a holder like any other.
void attempt::heard_late(unsigned node, vote v, fence counter)
{
    bool const holds = v == vote::granted && (on_ == agreement::majority || counter == token() ||
                                              !applies(rule::late_vote_at_the_token));
    if (writing_back() && !fences_.behind().contains(node))
        write_backs_.record(node, holds ? vote::granted : vote::failed);
    else if (holds)
        late_.insert(node);
}

// rule F2
attempt::step attempt::agree()
{
    writing_back_ = true;
    late_.insert(fences_.agreeing()); // there may be more than a majority
    for (unsigned node = 0; node != nodes(); ++node) {
        if (fences_.agreeing().contains(node))
            write_backs_.record(node, vote::granted);
        else if (has_answered(node) && !fences_.behind().contains(node))
            write_backs_.record(node, vote::failed);
    }
    if (!applies(rule::one_token_at_a_majority))
        return decide(verdict::won);
    return write_backs_.result() == verdict::pending ? step::write_back : decide(write_backs_.result());
}

attempt::step attempt::wrote_back(unsigned node, vote v)
{
    if (decided_) {
        heard_late(node, v, token());
        return step::pending;
    }
    write_backs_.record(node, v);
    return decide(write_backs_.result());
}

attempt::step attempt::time_out()
{
    if (decided_)
        return step::pending;
    if (heeding())
        return heed_no_longer();
    for (unsigned node = 0; node != nodes(); ++node)
        if (refused_.contains(node))
            votes_.record(node, vote::denied);
    timed_out_ = true;
    return decide(verdict::lost);
}

attempt::step attempt::give_way()
{
    gave_way_ = true;
    return decided_ ? step::pending : decide(verdict::lost);
}

bool attempt::reopen()
{
    bool const lost = decided_ && votes_.result() == verdict::lost;
    if (!lost || writing_back_ || timed_out_ || gave_way_ || !contended())
        return false;
    votes_.forget_refusals(refused_);
    decided_ = false;
    return true;
}

// rule Q8
node_set attempt::ask_again()
{
    votes_.forget_refusals(refused_);
    node_set again = std::exchange(refused_, {});
    for (unsigned node = 0; node != nodes() && !applies(rule::only_refusals_are_asked_again); ++node)
        if (!votes_.has_answered(node))
            again.insert(node);
    return again;
}

bool attempt::contended(node_set unreached) const
{
    if (gave_way_)
        return true;
    tally const& answers = writing_back_ ? write_backs_ : votes_;
    unreached.erase(answers.answered());
    return answers.contended(timed_out_ ? 0 : answers.missing() - unreached.size());
}

attempt::step attempt::decide(verdict v)
{
    if (v == verdict::pending)
        return step::pending;
    decided_ = true;
    return v == verdict::won ? step::won : step::lost;
}

bool attempt::awaits(unsigned node) const
{
    if (decided_)
        return false;
    return writing_back_ ? fences_.behind().contains(node) && !write_backs_.has_answered(node)
                         : !has_answered(node) && !refused_.contains(node);
}

node_set attempt::holders() const
{
    node_set ours = on_ == agreement::one_number ? write_backs_.granted_by() : votes_.granted_by();
    ours.insert(late_);
    return ours;
}

} // namespace redlock::core
