// SPDX-License-Identifier: BSL-1.0
#include "core/instant.hpp"
#include "core/memory.hpp"
#include "core/validity.hpp"
#include "engine/engine.hpp"
#include "engine/key_state.hpp"
#include "engine/lifecycle.hpp"

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

// How a client ends: shut down, without its client, without its context, or in a forked child.
namespace redlock::detail {

boost::system::error_code engine::end_result() const
{
    return runtime_.life.all_released() ? boost::system::error_code{} : make_error_code(errc::no_quorum);
}

void engine::shut_down(wait_op& w)
{
    lifecycle& life = runtime_.life;
    if (life.closed())
        return w.finish(end_result());
    shutdown_waiters_.push_back(w);
    if (!life.closing()) // otherwise it joins the first, whose time runs
        begin_shutdown();
}

// rule N9
void engine::leave_knowledge_to(std::shared_ptr<engine> const& successor)
{
    successor->runtime_.nodes.inherit(runtime_.nodes);
    leave_keys_to(successor);
}

void engine::leave_keys_to(std::shared_ptr<engine> const& successor)
{
    auto const keys = keys_.all();
    std::vector<boost::intrusive_ptr<key_state>> successors;
    successors.reserve(keys.size());
    for (auto const& key : keys)
        successors.push_back(successor->keys_.at(key->name()));
    auto before = successor; // the keys' former successors refer to it
    {
        std::scoped_lock const guard(successor_guard_);
        next_.swap(before);
    }
    for (std::size_t i = 0; i != keys.size(); ++i)
        keys[i]->leave_to(std::move(successors[i]));
    keys_.leave_leaders_to(successor->keys_);
}

void engine::retire(wait_op& w) noexcept
{
    retired_.store(true, std::memory_order_release);
    retirement_waiters_.push_back(w);
    runtime_.nodes.retire();
    runtime_.life.retire();
}

/// Passes tokens of leases granted after the change to the successor. Without memory the clock decides there, as for a new
/// client.
void engine::leave_numbers() noexcept
{
    core::if_memory_allows([this] {
        for (auto const& key : keys_.all())
            key->leave_numbers();
    });
}

/// The timer limits the wait for rollbacks to the client's node timeout, or without one to the longest default.
void engine::begin_shutdown()
{
    end_everything();
    core::duration const longest = core::default_node_timeout(std::chrono::milliseconds::max());
    auto const configured = settings().node_timeout;
    loop().schedule_after(*this, configured > core::duration::zero() ? configured : longest);
    runtime_.life.run_closer_if_done();
}

void engine::client_gone() noexcept
{
    auto const end = [](engine& self) {
        if (self.runtime_.life.closed())
            return;
        self.end_everything();
        self.close();
    };
    if (forked())
        return end_in_child();
    if (net::stopped(executor())) // posted work would never run
        return end(*this);
    if (core::if_memory_allows([&] { on_executor(end); }))
        return;
    abandoned_.store(true, std::memory_order_release);
    loop().call(*this);
}

void engine::handle_gone(boost::intrusive_ptr<held_lease> held) noexcept
{
    if (forked()) {
        end_in_child();
        if (half_done_)
            (void)held.detach();
        return;
    }
    if (core::if_memory_allows([&] { on_executor([held](engine&) { held->handle_gone(); }); }))
        return;
    held_lease* before = dropped_.load(std::memory_order_relaxed);
    do
        held->drop_behind(before);
    while (!dropped_.compare_exchange_weak(before, held.get(), std::memory_order_acq_rel));
    (void)held.detach();
    loop().call(*this);
}

/// Releases leases whose handles were destroyed while there was no memory to report it.
void engine::release_dropped() noexcept
{
    held_lease* dropped = dropped_.exchange(nullptr, std::memory_order_acq_rel);
    while (dropped) {
        boost::intrusive_ptr<held_lease> const held(dropped, false);
        dropped = held->dropped_before();
        held->handle_gone();
    }
    if (abandoned_.exchange(false, std::memory_order_acq_rel) && !runtime_.life.closed()) {
        end_everything();
        close();
    }
}

/// The order matters: no operation that ends here may find a node to ask.
// rule A3
void engine::end_in_child() noexcept
{
    if (!runtime_.its.detach_observer())
        return;
    if (loop().broken_off()) { // then nothing is sent either: no thread is left that would
        half_done_ = shared_from_this();
        return;
    }
    runtime_.life.start_closing();
    (void)runtime_.life.close();
    runtime_.rollbacks.discard();
    loop().close();
    runtime_.nodes.drop_connections();
    wait_ops_.for_each([](wait_op& each) {
        if (each.link.is_linked())
            each.finish(errc::forked);
    });
    runtime_.life.abort_leases(errc::forked);
    runtime_.life.abort_operations(errc::forked);
    runtime_.nodes.close();
    release_dropped();
}

void engine::context_gone()
{
    if (forked())
        end_in_child();
    if (half_done_)
        return;
    runtime_.life.start_closing();
    (void)runtime_.life.close();
    runtime_.rollbacks.discard();
    loop().close();
    runtime_.nodes.close();
    release_dropped();
    runtime_.life.abort_leases(errc::forked);
    wait_ops_.for_each([](wait_op& each) { each.discard(); });
    acquire_ops_.for_each([](acquire_op& each) { each.discard(); });
    keys_.discard();
    inspectors_.for_each([](inspector& each) { each.discard(); });
    leader_watches_.for_each([](leader_watch& each) { each.discard(); });
}

void engine::end_everything()
{
    lifecycle& life = runtime_.life;
    if (!life.drained()) // otherwise the retirement has succeeded, and `close` says so
        finish_all(retirement_waiters_, errc::shut_down);
    life.start_closing();
    life.release_began(); // keeps the count above zero: a release that fails at once must not let the client close
    life.abort_operations(errc::shut_down);
    life.abort_leases(errc::shut_down);
    life.send_postponed_releases();
    life.release_done();
}

/// Releases have their own timeouts.
void engine::expire()
{
    runtime_.life.stop_waiting();
}

void engine::run()
{
    release_dropped();
    if (runtime_.life.drained() && !runtime_.life.closing()) {
        leave_numbers();
        begin_shutdown();
    }
    if (runtime_.life.may_close())
        close();
}

void engine::close()
{
    if (!runtime_.life.close())
        return;
    runtime_.nodes.close();
    loop().close();
    finish_all(shutdown_waiters_, end_result());
    finish_all(retirement_waiters_, {});
    ended_.store(true, std::memory_order_release);
}

} // namespace redlock::detail
