// SPDX-License-Identifier: BSL-1.0
#include "engine/key_queue.hpp"

#include "core/local_queue.hpp"
#include "engine/held_lease.hpp"
#include "kind/election.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace redlock::detail {

key_queue::key_queue(key_queues& all, std::string name) : key_state(all, std::move(name)) {}

key_queues& key_queue::queues() const
{
    return static_cast<key_queues&>(index());
}

bool key_queue::held_by(std::string_view nonce) const
{
    return holder_ && holder_->owner().text() == nonce;
}

// rule W1
void key_queue::enqueue(waiter& this_waiter)
{
    if (queue_.empty() && join(this_waiter))
        return;
    insert(queue_.end(), this_waiter);
    this_waiter.ticket = ++tickets_;
    if (!local().busy())
        return ask(core::batch_policy::next::coming);
    ask_for_more();
    if (this_waiter.hook.is_linked() && !this_waiter.own_acquirer)
        this_waiter.tell_waiting(position(this_waiter), false);
}

void key_queue::insert(waiters::const_iterator before, waiter& this_waiter)
{
    queue_.insert(before, this_waiter);
    count_waiter();
}

void key_queue::drop(waiter& this_waiter)
{
    this_waiter.own_acquirer = nullptr;
    if (!this_waiter.hook.is_linked())
        return;
    queue_.erase(queue_.iterator_to(this_waiter));
    discount_waiter();
}

// rule M8
void key_queue::take_over(waiter& this_waiter)
{
    holder_ = nullptr;
    this_waiter.ticket = queue_.empty() ? ++tickets_ : queue_.front().ticket - 1;
    insert(queue_.begin(), this_waiter);
    runtime& on = queues().on();
    local().lease_ended(on.loop().now());
    (void)local().ask(this_waiter.lock()->config->batch_policy, core::batch_policy::next::waiting,
                      on.loop().now(), on.open_window_length());
}

// rule W1
void key_queue::leave(waiter& this_waiter)
{
    bool const asks_itself = this_waiter.part_of() && local().asking() && first() == &this_waiter;
    waiter* const next = after(this_waiter);
    acquirer* const own = this_waiter.own_acquirer;
    drop(this_waiter);
    if (own)
        own->stop();
    if (asks_itself)
        return stop_asking();
    if (own || !is_asked_for(this_waiter))
        return ask_for_more();
    if (next) {
        acquirer_->serve(*next);
        return ask_for_more();
    }
    acquirer_->stop(); // votes are released before the nodes are asked for another waiter
    stop_asking();
}

void key_queue::stop_asking()
{
    acquirer_ = nullptr;
    local().stop_asking();
    ask_next();
}

/// Asks for the first waiter, unless the client asks for the lock already, or holds it.
void key_queue::ask_next()
{
    if (!local().asking() && !holder_ && first() && !queues().on().life.closing())
        ask(core::batch_policy::next::waiting);
}

/// A waiter that wants several names, or that has its own acquirer, is not served by the one before it.
waiter* key_queue::after(waiter& this_waiter)
{
    if (!this_waiter.hook.is_linked() || this_waiter.own_acquirer)
        return nullptr;
    auto const next = std::next(queue_.iterator_to(this_waiter));
    return next != queue_.end() && !next->own_acquirer && !next->part_of() ? &*next : nullptr;
}

/// The own acquirer of the first waiter, if it has one, is the queue's from now on.
void key_queue::ask(core::batch_policy::next who)
{
    waiter& next = *first();
    bool const asks_itself = next.part_of() != nullptr;
    acquirer* const own = std::exchange(next.own_acquirer, nullptr);
    acquirer* const its = own || asks_itself ? own : new_acquirer();
    if (!its && !asks_itself) {
        local().stop_asking();
        return fail_all(make_error_code(boost::system::errc::not_enough_memory));
    }
    runtime& on = queues().on();
    auto const how =
        local().ask(next.lock()->config->batch_policy, who, on.loop().now(), on.open_window_length());
    acquirer_ = its;
    if (asks_itself)
        next.first_in_one_more(how);
    else if (!own)
        its->start(*this, *this, next, how);
    ask_for_more();
}

/// Asks for the next waiters that want permits, each through an acquirer of its own.
void key_queue::ask_for_more()
{
    for (auto others = count_asked_for(); others != 0; others = count_asked_for()) {
        auto const where = std::next(queue_.begin(), others);
        if (where == queue_.end() || !may_ask_for_more(*where, others))
            return;
        waiter& next = *where;
        next.own_acquirer = new_acquirer();
        if (next.own_acquirer)
            next.own_acquirer->start(*this, *this, next, core::start_mode::at_once);
        else if (next.asks_once())
            fail(next, make_error_code(boost::system::errc::not_enough_memory));
        else
            return;
    }
}

/// Returns how many waiters at the head of the queue want permits, and are asked for.
std::ptrdiff_t key_queue::count_asked_for() const
{
    auto const next = std::ranges::find_if_not(queue_, [this](waiter const& each) {
        return is_asked_for(each) && each.lock()->config->kind.has_permits;
    });
    return std::distance(queue_.begin(), next);
}

bool key_queue::may_ask_for_more(waiter const& this_waiter, std::ptrdiff_t others) const
{
    return !holder_ && this_waiter.lock()->config->kind.has_permits && others < most_asked_for &&
           !queues().on().life.closing();
}

bool key_queue::would_ask(waiter const& this_waiter) const
{
    auto const others = count_asked_for();
    return !busy() ||
           (std::next(queue_.begin(), others) == queue_.end() && may_ask_for_more(this_waiter, others));
}

void key_queue::fail(waiter& vain, boost::system::error_code why)
{
    drop(vain);
    vain.fail(why);
}

/// Fails all waiters, because none of them can be asked for.
void key_queue::fail_all(boost::system::error_code why)
{
    while (waiter* const vain = first())
        fail(*vain, why);
}

void key_queue::won(acquirer& by, held_lease& held)
{
    bool const asked_for = acquirer_ == &by;
    if (held.permits())
        drop(*by.current_waiter()); // perhaps behind others
    else if (asked_for)
        drop(*first());
    if (asked_for)
        acquirer_ = nullptr;
    changed_here(queues().on().nodes.all()); // the waiters have been overtaken
    if (held.is_shared() || held.permits()) {
        local().won_shared(asked_for, by.nobody_came());
        if (held.is_shared() && !by.won().claims())
            local().passing().interrupted(); // the lock was free, or readers had it
        if (held.is_shared())
            joinable_reader_ = &held;
        let_readers_join();
        return ask_for_more();
    }
    local().won(asked_for, by.nobody_came(), queues().on().loop().now());
    holder_ = &held;
}

/// Lets the waiters at the head of the queue join. The first waiter that may not join is asked for.
void key_queue::let_readers_join()
{
    while (first() && !local().asking() && join(*first()))
        ;
    ask_next();
}

/// A reader, by a lease that has been won not long ago. Later the nodes are asked, who know whether a writer waits (rule
/// S18).
// rule S18
bool key_queue::join(waiter& this_waiter)
{
    auto joined = joinable_reader_ && this_waiter.lock()->config->kind.shared
                      ? joinable_reader_->join(this_waiter)
                      : nullptr;
    if (!joined)
        return false;
    drop(this_waiter);
    this_waiter.receive(std::move(joined));
    return true;
}

void key_queue::acquirer_ended(acquirer const& by)
{
    acquirer_ == &by ? stop_asking() : ask_for_more();
}

void key_queue::adopted(held_lease& held)
{
    if (holder_ || held.is_shared())
        return;
    holder_ = &held;
    local().hold(queues().on().loop().now());
}

// rule W4
bool key_queue::hand_over(held_lease& held)
{
    waiter* const next = first();
    auto passed = next && may_hand_over(held, *next->lock()->config) ? held.pass_to(*next) : nullptr;
    if (!passed)
        return false;
    pass_on(*passed);
    next->receive(std::move(passed));
    return true;
}

bool key_queue::may_hand_over(held_lease const& held, lock_config const& next) const
{
    return holder_ == &held && local().may_hand_over(next.batch_policy, queues().on().loop().now());
}

void key_queue::pass_on(held_lease& passed)
{
    drop(*first());
    local().hold(queues().on().loop().now());
    holder_ = &passed;
}

void key_queue::downgraded(held_lease& held)
{
    if (holder_ == &held) {
        holder_ = nullptr;
        local().lease_ended(queues().on().loop().now());
    }
    changed_here(queues().on().nodes.all());
    joinable_reader_ = &held;
    let_readers_join();
}

void key_queue::renewed_by(held_lease const& former, held_lease& next)
{
    if (joinable_reader_ == &former)
        joinable_reader_ = &next;
}

void key_queue::lease_ended(held_lease const& held)
{
    runtime& on = queues().on();
    changed_here(on.nodes.all());
    if (joinable_reader_ == &held)
        joinable_reader_ = nullptr;
    if (holder_ != &held)
        return;
    holder_ = nullptr;
    local().lease_ended(on.loop().now());
    ask_next();
}

void key_queue::invalidated(unsigned node)
{
    if (acquirer_)
        acquirer_->invalidated(node, *this);
    if (holder_)
        holder_->invalidated(node);
}

// rule W2
void key_queue::changed_here(core::node_set where)
{
    if (acquirer_)
        acquirer_->changed_here(where);
    leader_changed(where);
}

// rule EL5
void key_queue::leader_changed(core::node_set where)
{
    for (leader_listener& each : leader_listeners_)
        each.leader_changed(where);
}

acquirer* key_queue::new_acquirer() noexcept
{
    return queues().new_acquirer();
}

acquirer* key_queues::new_acquirer() noexcept
{
    try {
        return &acquirers_.take(runtime_);
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}

void key_queues::invalidated(unsigned node, std::optional<std::string_view> key)
{
    auto const queue = [](auto const& known) -> key_queue& { return static_cast<key_queue&>(*known); };
    if (!key) {
        for (auto const& any : all()) {
            queue(any).invalidated(node);
            queue(any).leader_changed(core::node_set(node));
        }
    } else if (auto const known = find(*key)) {
        queue(known).invalidated(node);
    } else if (key->ends_with(kind::leader_suffix)) {
        key->remove_suffix(kind::leader_suffix.size());
        if (auto const led = find(*key))
            queue(led).leader_changed(core::node_set(node));
    }
}

} // namespace redlock::detail
