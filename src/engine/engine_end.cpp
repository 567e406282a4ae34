#include "core/validity.hpp"
#include "engine/engine.hpp"

#include <new>
#include <utility>

// How a client ends: shut down, abandoned, forsaken by its context, or let go by a forked child.
namespace redlock::detail {

void engine::shut_down(wait_op& w)
{
    if (closed_)
        return w.finish(all_released_ ? boost::system::error_code{} : make_error_code(errc::no_quorum));
    shutdown_waiters_.push_back(w);
    if (closing_) // it joins the first, whose time runs
        return;
    end_everything();
    core::duration const longest = core::default_node_timeout(std::chrono::milliseconds::max());
    auto const configured = settings_.node_timeout;
    loop_.schedule_after(*this, configured > core::duration::zero() ? configured : longest);
    close_if_done();
}

void engine::abandon() noexcept
{
    auto const end = [](engine& self) {
        if (self.closed_)
            return;
        self.end_everything();
        self.close();
    };
    if (forked())
        return let_go();
    if (net::stopped(executor())) // nobody would run what is posted to it
        return end(*this);
    try {
        on_executor(end);
    } catch (std::bad_alloc const&) {
        abandoned_.store(true, std::memory_order_release);
        loop_.call(*this);
    }
}

void engine::abandon(boost::intrusive_ptr<held_lease> held) noexcept
{
    if (forked()) {
        let_go();
        if (half_done_)
            (void)held.detach();
        return;
    }
    try {
        on_executor([held](engine&) { held->abandon(); });
    } catch (std::bad_alloc const&) {
        held_lease* before = dropped_.load(std::memory_order_relaxed);
        do
            held->dropped_before = before;
        while (!dropped_.compare_exchange_weak(before, held.get(), std::memory_order_acq_rel));
        (void)held.detach();
        loop_.call(*this);
    }
}

/// What was abandoned while there was no memory to say so.
void engine::take_back_abandoned() noexcept
{
    held_lease* dropped = dropped_.exchange(nullptr, std::memory_order_acq_rel);
    while (dropped) {
        boost::intrusive_ptr<held_lease> const held(dropped, false);
        dropped = held->dropped_before;
        held->abandon();
    }
    if (abandoned_.exchange(false, std::memory_order_acq_rel) && !closed_) {
        end_everything();
        close();
    }
}

/// The order: nothing that ends here may find a node that it could ask.
void engine::let_go() noexcept
{
    if (let_go_.exchange(true, std::memory_order_acq_rel))
        return;
    if (loop_.broken_off()) { // then nothing is sent either: no thread is left that would
        half_done_ = shared_from_this();
        return;
    }
    closing_ = closed_ = forsaken_ = true;
    loop_.close();
    for (auto const& node : nodes_)
        node->sever();
    for (auto const& w : wait_ops_)
        if (w->link.is_linked())
            w->finish(errc::forked);
    while (!held_.empty())
        held_.front().forsake();
    for (acquire_op& a : acquiring_) // listed until their tasks have run
        a.abort(errc::forked);
    for (inspector& i : inspecting_)
        i.abort(errc::forked);
    for (auto const& node : nodes_)
        node->close();
    take_back_abandoned();
}

void engine::forsake()
{
    if (forked())
        let_go();
    if (half_done_)
        return;
    closing_ = closed_ = forsaken_ = true;
    loop_.close();
    for (auto const& node : nodes_)
        node->close();
    take_back_abandoned();
    while (!held_.empty())
        held_.front().forsake();
    for (auto const& w : wait_ops_)
        w->forsake();
    for (auto const& a : acquire_ops_)
        a->forsake();
    for (auto const& c : attempt_loops_)
        c->forsake();
    for (auto const& i : inspectors_)
        i->forsake();
}

void engine::end_everything()
{
    closing_ = true;
    ++releasing_; // a release that fails at once must not close before the others have been sent
    // Whoever fails now stays listed until its task has run.
    for (acquire_op& a : acquiring_)
        a.abort(errc::shut_down);
    for (inspector& i : inspecting_)
        i.abort(errc::shut_down);
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

void engine::undone(bool confirmed)
{
    --undoing_;
    if (!closing_ || closed_)
        return;
    all_released_ = all_released_ && confirmed;
    close_if_done();
}

/// Releases have times of their own.
void engine::expire()
{
    undoing_too_long_ = undoing_ != 0;
    all_released_ = all_released_ && !undoing_too_long_;
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
    take_back_abandoned();
    if (closing_ && releasing_ == 0 && (undoing_ == 0 || undoing_too_long_))
        close();
}

void engine::close()
{
    if (std::exchange(closed_, true))
        return;
    for (auto const& node : nodes_)
        node->close();
    loop_.close();
    finish_all(shutdown_waiters_,
               all_released_ ? boost::system::error_code{} : make_error_code(errc::no_quorum));
}

} // namespace redlock::detail
