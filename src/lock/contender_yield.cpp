#include "lock/acquisition.hpp"
#include "lock/contender.hpp"
#include "lock/engine.hpp"
#include "lock/resource.hpp"

// How those who wait for one lock let each other go first (docs/protocol.md, rule W5).
namespace redlock::lock {

/// The turn ends with its time. Where rivals are known it ends with whoever takes it, too, of whom the node where all meet
/// sends word; not after a batch, whose holders have waited themselves: shorter ones would be paid with leases.
void contender::offer_turn(opening how)
{
    yielding_ = how == opening::after_rivals;
    not_before_ = engine_.loop().now() + engine_.turn();
    wait_for_others();
    auto const first = contention_.meeting_point();
    if (yielding_ && phase_ == phase::waiting && first && !listening_.contains(*first))
        look(*first, true);
}

/// From now on it is one of those who wait; who does not wait is refused.
void contender::turn_taken()
{
    yielding_ = offered_turn_ = false;
    wanted_->refused();
    not_before_ = engine_.loop().now();
    whom_->asks_once() ? connect_or_vote() : plan();
}

/// The key is gone where all meet: who has waited less than others leaves them a moment.
void contender::let_others_first()
{
    core::instant const now = engine_.loop().now();
    core::instant const then = now + wanted_->courtesy(engine_.turn() / 2);
    if (core::sooner(not_before_, then, now))
        not_before_ = then;
}

} // namespace redlock::lock
