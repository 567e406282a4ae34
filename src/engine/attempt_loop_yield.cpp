#include "engine/acquire_op.hpp"
#include "engine/attempt_loop.hpp"
#include "engine/engine.hpp"
#include "engine/key_queue.hpp"

// How those who wait for one lock let each other go first (docs/protocol.md, rule W5).
namespace redlock::detail {

/// The turn ends with its time. Where rivals are known it ends with whoever takes it, too, of whom the node where all meet
/// sends word; not after a batch, whose holders have waited themselves: shorter ones would be paid with leases.
void attempt_loop::offer_turn(start_mode how)
{
    waiting_.offer_turn(engine_.loop().now() + engine_.turn(), how == start_mode::after_rivals);
    wait_for_others();
}

/// From now on it is one of those who wait; who does not wait is refused.
void attempt_loop::turn_taken()
{
    offered_turn_ = false;
    wanted_->refused();
    waiting_.turn_taken(engine_.loop().now());
    whom_->asks_once() ? connect_or_vote() : plan();
}

} // namespace redlock::detail
