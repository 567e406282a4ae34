// SPDX-License-Identifier: BSL-1.0
#include "engine/key_queue.hpp"

#include "core/contention.hpp"
#include "core/memory.hpp"
#include "engine/held_lease.hpp"
#include "kind/election.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
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
    bool const comes_first = !holder_ && !first_has_turn();
    go_on(core::batch_policy::next::coming);
    if (comes_first)
        return; // its operation may be over
    if (this_waiter.hook.is_linked() && !this_waiter.has_turn)
        this_waiter.tell_waiting(position(this_waiter), false);
}

void key_queue::insert(waiters::const_iterator before, waiter& this_waiter)
{
    queue_.insert(before, this_waiter);
    count_waiter();
}

void key_queue::remove(waiter& this_waiter)
{
    this_waiter.asked_by = nullptr;
    this_waiter.has_turn = false;
    if (!this_waiter.hook.is_linked())
        return;
    queue_.erase(queue_.iterator_to(this_waiter));
    discount_waiter();
}

waiter* key_queue::drop(waiter& done)
{
    waiter* const next = after(done);
    if (next) {
        next->asked_by = done.asked_by;
        next->has_turn = true;
    }
    remove(done);
    return next;
}

// rule M8
void key_queue::take_over(waiter& this_waiter)
{
    this_waiter.ticket = queue_.empty() ? ++tickets_ : queue_.front().ticket - 1;
    this_waiter.has_turn = true;
    insert(queue_.begin(), this_waiter);
}

// rule W1
void key_queue::leave(waiter& this_waiter)
{
    acquirer* const its = this_waiter.asked_by;
    waiter* const next = drop(this_waiter);
    if (its)
        next ? its->serve(*next)
             : its->stop(); // votes are released before the nodes are asked for another waiter
    go_on();
}

/// If the first waiter leaves, its acquirer goes on for the next one, unless either wants several names, or the next one has
/// an acquirer already.
waiter* key_queue::after(waiter const& this_waiter)
{
    if (!this_waiter.asked_by || first() != &this_waiter || this_waiter.part_of)
        return nullptr;
    auto const next = std::next(queue_.begin());
    return next != queue_.end() && !next->has_turn && !next->part_of ? &*next : nullptr;
}

/// A waiter for which the nodes cannot be asked ends at once, and calls this again: the first call goes on for it.
void key_queue::go_on(core::batch_policy::next who)
{
    if (std::exchange(goes_on_, true))
        return;
    for (; waiter* const next = next_to_ask_for(); who = core::batch_policy::next::waiting)
        ask_for(*next, who);
    goes_on_ = false;
}

/// Returns the next waiter on whose behalf the nodes may be asked. Null: there is none, or it has to wait.
waiter* key_queue::next_to_ask_for()
{
    if (holder_ || queue_.empty() || queues().on().life.closing())
        return nullptr;
    auto const others = count_asking_for_permits();
    auto const next = std::next(queue_.begin(), others);
    bool const may_ask = next != queue_.end() && (!first_has_turn() || may_ask_beside(others, *next));
    return may_ask ? &*next : nullptr;
}

/// Returns how many waiters at the head of the queue want permits, and have their turn.
std::ptrdiff_t key_queue::count_asking_for_permits() const
{
    auto const next = std::ranges::find_if_not(
        queue_, [](waiter const& each) { return each.has_turn && each.lock()->config->kind.has_permits; });
    return std::distance(queue_.begin(), next);
}

bool key_queue::may_ask_beside(std::ptrdiff_t others, waiter const& this_waiter) const
{
    return others != 0 && others < most_turns && this_waiter.lock()->config->kind.has_permits;
}

bool key_queue::would_ask(waiter const& this_waiter) const
{
    auto const others = count_asking_for_permits();
    bool const all_ask = std::next(queue_.begin(), others) == queue_.end();
    return !holder_ && all_ask && (others == 0 || may_ask_beside(others, this_waiter));
}

void key_queue::ask_for(waiter& next, core::batch_policy::next who)
{
    runtime& on = queues().on();
    auto const how =
        contention.ask(next.lock()->config->batch_policy, who, on.loop().now(), on.open_window_length());
    next.has_turn = true;
    if (next.part_of)
        return next.first_in_one_more(how);
    next.asked_by = queues().new_acquirer();
    if (next.asked_by)
        return next.asked_by->start(*this, *this, next, how);
    remove(next);
    next.fail(make_error_code(boost::system::errc::not_enough_memory));
}

void key_queue::won(acquirer& by, held_lease& held)
{
    remove(first()->asked_by == &by ? *first() : *by.current_waiter()); // permits: perhaps behind others
    if (by.nobody_came())
        by.awaits(*this) ? contention.batch.nobody_came() : contention.batch.begin_anew();
    changed_by_us(queues().on().nodes.all()); // the waiters have been overtaken
    if (held.is_shared() && !by.won().claims())
        contention.passing.interrupted(); // the lock was free, or readers had it
    hold(held);
}

/// The lease is this client's: won, handed over, adopted or downgraded.
void key_queue::hold(held_lease& held)
{
    bool const is_exclusive = !held.is_shared() && !held.permits();
    if (is_exclusive) {
        holder_ = &held;
        return contention.granted(queues().on().loop().now());
    }
    if (held.is_shared())
        joinable_reader_ = &held;
    while (first() && !first_has_turn() && join(*first()))
        ;
    go_on();
}

/// Returns false if it is not the holder's.
bool key_queue::let_go(held_lease const& held)
{
    if (holder_ != &held)
        return false;
    holder_ = nullptr;
    contention.batch.ended(queues().on().loop().now());
    return true;
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
    remove(this_waiter);
    this_waiter.receive(std::move(joined));
    return true;
}

void key_queue::adopted(held_lease& held)
{
    if (!holder_ && !held.is_shared())
        hold(held);
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
    return holder_ == &held && !first_has_turn() &&
           contention.batch.may_go_on(next.batch_policy, core::batch_policy::next::waiting,
                                      queues().on().loop().now());
}

void key_queue::pass_on(held_lease& passed)
{
    remove(*first());
    hold(passed);
}

void key_queue::downgraded(held_lease& held)
{
    (void)let_go(held);
    changed_by_us(queues().on().nodes.all());
    hold(held);
}

void key_queue::renewed_by(held_lease const& former, held_lease& next)
{
    if (joinable_reader_ == &former)
        joinable_reader_ = &next;
}

void key_queue::lease_ended(held_lease const& held)
{
    changed_by_us(queues().on().nodes.all());
    if (joinable_reader_ == &held)
        joinable_reader_ = nullptr;
    if (let_go(held))
        go_on();
}

/// Collects them first, because what is told may end some of them.
void key_queue::for_each_acquirer(auto const& tell)
{
    if (queue_.empty())
        return;
    std::array<acquirer*, most_turns> its{};
    std::size_t count = 0;
    for (waiter& each : queue_) {
        if (!each.asked_by || count == its.size())
            break;
        its[count++] = each.asked_by;
    }
    for (acquirer* each : std::span(its).first(count))
        tell(*each);
}

void key_queue::invalidated(unsigned node)
{
    for_each_acquirer([&](acquirer& each) { each.invalidated(node, *this); });
    if (holder_)
        holder_->invalidated(node);
}

// rule W2
void key_queue::changed_by_us(core::node_set where)
{
    for_each_acquirer([&](acquirer& each) { each.changed_by_us(where); });
    leader_changed(where);
}

// rule EL5
void key_queue::leader_changed(core::node_set where)
{
    for (leader_listener& each : leader_listeners_)
        each.leader_changed(where);
}

acquirer* key_queues::new_acquirer() noexcept
{
    acquirer* made = nullptr;
    core::if_memory_allows([&] { made = &acquirers_.take(runtime_); });
    return made;
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
