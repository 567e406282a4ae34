// SPDX-License-Identifier: BSL-1.0
#include "engine/held_lease.hpp"

#include <redlock/observer.hpp>

#include <chrono>
#include <utility>

namespace redlock::detail {

namespace {

/// Most leases are over by then. Of the others it is worth a question to each node to hear at once when a key goes.
constexpr core::duration before_watching = std::chrono::milliseconds{100};

} // namespace

held_lease::held_lease(std::shared_ptr<lock_state> its, nonce const& owner, core::attempt const& won,
                       core::node_set reached, unsigned attempts, core::duration waited,
                       std::unique_ptr<kind::permit_list const> permits)
    : lease_status(std::move(its), {owner, won.token(), 0, attempts, waited}, won.sent()),
      machine_(lock().plan->terms, won.nodes(), won.sent(), won.holders()), reached_(reached),
      permits_(std::move(permits))
{
    show(lease_state::held);
}

held_lease::held_lease(std::shared_ptr<lock_state> its, held_lease const& before, unsigned attempts,
                       core::duration waited)
    : lease_status(std::move(its),
                   {before.owner(), before.number(), before.handovers() + 1, attempts, waited},
                   before.on().loop().now()),
      adopted_(before.adopted_),
      machine_(before.machine_.handed_over(lock().plan->terms, before.on().loop().now())),
      reached_(before.reached_)
{
    show(lease_state::held);
}

boost::intrusive_ptr<held_lease> new_held_lease(void* block, std::shared_ptr<lock_state> const& lock,
                                                nonce const& n, core::attempt const& won,
                                                core::node_set reached, unsigned attempts,
                                                core::duration waited,
                                                std::unique_ptr<kind::permit_list const> permits)
{
    static_assert(sizeof(held_lease) <= 352 + redis::nonce_length);
    boost::intrusive_ptr<held_lease> made(
        ::new (block) held_lease(lock, n, won, reached, attempts, waited, std::move(permits)));
    made->begin();
    return made;
}

void intrusive_ptr_add_ref(held_lease* held) noexcept
{
    held->references_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(held_lease* held) noexcept
{
    if (held->references_.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (held->link.is_linked()) // its end was lost with its context
        held->abort(errc::forked);
    auto const lock = held->shared_lock();
    held->~held_lease();
    lock->plan->on.lease_blocks.give(held);
}

void held_lease::begin()
{
    begun_ = true;
    on().life.begin_lease(*this);
    if (permits_)
        ++lock().wanted->leases_with_permits;
    began_ = on().loop().now().boot;
    schedule();
    tell(event::acquired);
}

void held_lease::late_grant(unsigned node)
{
    machine_.late_grant(node, on().loop().now()); // read after the reply's bytes had come
    show_votes();
}

void held_lease::schedule()
{
    auto due = machine_.next_due();
    if (!due)
        return on().loop().cancel(*this);
    if (wants_watch() && began_ + before_watching < due->boot)
        due = on().loop().now() + (began_ + before_watching - on().loop().now().boot);
    if (machine_.extending()) {
        core::instant const patience = machine_.extension_sent() + lock().plan->node_timeout;
        if (core::sooner(patience, *due, on().loop().now()))
            due = patience;
    }
    on().loop().schedule(*this, *due);
}

void held_lease::expire()
{
    if (releasing_)
        return line_ == no_line ? finish_release() : release_the_rest();
    if (!follows() && !machine_.extending() && extension_awaited()) // an adopted lease's
        return start_extension();
    core::instant const now = on().loop().now();
    if (machine_.extending() && core::reached(machine_.extension_sent() + lock().plan->node_timeout, now))
        return time_out_extension();
    if (wants_watch() && began_ + before_watching <= now.boot)
        start_watching();
    switch (look_at_clock(now)) {
    case core::lease_machine::duty::renew: return renew();
    case core::lease_machine::duty::tell_lost: return leave_key();
    case core::lease_machine::duty::tell_suspect:
    case core::lease_machine::duty::none: return schedule();
    }
}

/// Returns the present duty; reports an end that has come.
core::lease_machine::duty held_lease::look_at_clock(core::instant now)
{
    auto const duty = machine_.due(now);
    if (duty == core::lease_machine::duty::tell_lost)
        lose();
    if (duty == core::lease_machine::duty::tell_suspect) {
        show(lease_state::suspect);
        tell(event::suspect);
    }
    return duty;
}

/// The clock may have run out before the timer did: what `valid()` denied must neither be extended, which would keep
/// others waiting (rule H7), nor end as a clean release.
bool held_lease::lose_if_over()
{
    look_at_clock(on().loop().read_clock());
    return machine_.phase() == core::lease_phase::lost;
}

void held_lease::tell(observer& watcher, event what, core::duration spare, std::string_view detail)
{
    watcher.on_lease({what, lock().name(), machine_.votes(), machine_.nodes(), remaining(), spare,
                      on().loop().now().boot - began_, cause(), failed_, detail, is_shared()});
}

void held_lease::tell_answer(unsigned node, node_report const& row, core::duration round_trip)
{
    if (observer* const watcher = on().its.watcher())
        watcher->on_vote({lock().name(), on().its.settings().names[node], true, row.result, round_trip,
                          row.error, row.words()});
}

} // namespace redlock::detail
