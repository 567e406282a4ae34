#include "lock/engine.hpp"

#include <utility>

// How a client ends: shut down, abandoned, or forsaken by its context.
namespace redlock::lock {

waiter& engine::shut_down(waiter::handler_type handler)
{
    waiter& w = new_waiter(std::move(handler));
    if (closed_) {
        w.finish(all_released_ ? boost::system::error_code{} : make_error_code(errc::no_quorum));
        return w;
    }
    shutdown_waiters_.push_back(w);
    end_everything();
    close_if_done();
    return w;
}

void engine::abandon()
{
    auto const end = [](engine& self) {
        if (self.closed_)
            return;
        self.end_everything();
        self.close();
    };
    if (net::stopped(executor())) // nobody would run what is posted to it
        end(*this);
    else
        on_executor(end);
}

void engine::forsake()
{
    closing_ = closed_ = true;
    loop_.close();
    for (auto const& node : nodes_)
        node->close();
    for (auto& owed : debts_)
        owed.clear();
    while (!held_.empty())
        held_.front().forsake();
    for (auto const& w : waiters_)
        w->forsake();
    for (auto const& a : acquisitions_)
        a->forsake();
    for (auto const& c : contenders_)
        c->forsake();
}

void engine::end_everything()
{
    closing_ = true;
    ++releasing_; // a release that fails at once must not close before the others have been sent
    // Whoever fails now stays listed until its task has run.
    for (acquisition& a : acquiring_)
        a.abort(errc::shut_down);
    while (!held_.empty())
        held_.front().shut_down();
    --releasing_;
}

void engine::release_ended(bool confirmed)
{
    --releasing_;
    if (!closing_)
        return;
    all_released_ = all_released_ && confirmed;
    close_if_done();
}

/// Not at once: the last release may have failed while a node is working off what else failed.
void engine::close_if_done()
{
    if (releasing_ == 0) // also when nobody waits any more
        loop_.enqueue(static_cast<net::task&>(*this));
}

void engine::run()
{
    if (closing_ && releasing_ == 0)
        close();
}

void engine::close()
{
    if (std::exchange(closed_, true))
        return;
    for (auto const& node : nodes_)
        node->close();
    for (auto& owed : debts_) // they hold their locks, which hold us
        owed.clear();
    loop_.close();
    finish_all(shutdown_waiters_,
               all_released_ ? boost::system::error_code{} : make_error_code(errc::no_quorum));
}

} // namespace redlock::lock
