// SPDX-License-Identifier: BSL-1.0
#include "engine/key_queue.hpp"

#include "core/instant.hpp"
#include "core/local_queue.hpp"
#include "engine/held_lease.hpp"
#include "kind/election.hpp"
#include <redlock/error.hpp>

#include <boost/system/errc.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace redlock::detail {

key_queue::key_queue(key_queues& all, std::string name) : lock_queue(all, std::move(name)) {}

key_queues& key_queue::queues() const
{
    return static_cast<key_queues&>(index());
}

bool key_queue::held_by(std::string_view nonce) const
{
    return holder_ && holder_->owner().text() == nonce;
}

void key_queue::drop(candidate& one)
{
    if (is_front(one))
        overtakings_ = 0;
    one.own = nullptr;
    lock_queue::drop(one);
}

void key_queue::enqueue(candidate& one)
{
    if (queue_.empty() && join(one))
        return;
    insert(queue_.end(), one);
    one.ticket = ++tickets_;
    if (!local().busy() && may_ask())
        return ask(core::batch_policy::next::coming);
    ask_beside();
    if (one.place.is_linked() && !one.own)
        one.tell_waiting(position(one), false);
}

/// Before all others: it had the key, and gave it up for an attempt to get it with others (rule M8).
void key_queue::come_back(candidate& one)
{
    one.ticket = queue_.empty() ? ++tickets_ : queue_.front().ticket - 1;
    insert(queue_.begin(), one);
    runtime& on = queues().on();
    local().lease_ended(on.loop().now());
    (void)local().ask(one.lock()->plan->batch_policy, core::batch_policy::next::waiting, on.loop().now(),
                      on.turn());
}

void key_queue::leave(candidate& one)
{
    bool const asks_itself = one.turn() && local().asking() && first() == &one;
    candidate* const next = after(one);
    attempt_loop* const own = one.own;
    drop(one);
    if (own) {
        own->stop();
        return ask_next();
    }
    if (asks_itself)
        return stop_asking();
    if (!served(one))
        return;
    if (next)
        return asking_->serve(*next);
    asking_->stop(); // what was voted is taken back before anybody else is asked for
    stop_asking();
}

/// For whoever it was. Whom the same loop cannot serve is asked for anew.
void key_queue::stop_asking()
{
    asking_ = nullptr;
    local().stop_asking();
    ask_next();
}

/// Unless somebody is asked for, or has the key.
void key_queue::ask_next()
{
    if (!local().asking() && !holder_ && may_ask() && !queues().on().life.closing())
        ask(core::batch_policy::next::waiting);
}

bool key_queue::is_front(candidate const& one) const
{
    return !queue_.empty() && &queue_.front() == &one;
}

/// Not while who is asked for beside others has been passed by too many of them: it may stand in another line than they.
bool key_queue::may_ask() const
{
    auto const next = std::ranges::find_if(queue_, [](candidate const& one) { return !one.own; });
    return next != queue_.end() && may_pass_front(*next);
}

bool key_queue::may_pass_front(candidate const& one) const
{
    return overtakings_ < most_overtakings || is_front(one);
}

/// For one loop to serve both.
candidate* key_queue::after(candidate& one)
{
    if (!one.place.is_linked() || one.own)
        return nullptr;
    candidate* const next = first_from(std::next(queue_.iterator_to(one)));
    return next && !next->turn() && may_pass_front(*next) ? next : nullptr;
}

/// Whom no loop of its own asks for.
candidate* key_queue::first_from(queue::iterator where)
{
    auto const found = std::find_if(where, queue_.end(), [](candidate const& one) { return !one.own; });
    return found == queue_.end() ? nullptr : &*found;
}

void key_queue::ask(core::batch_policy::next who)
{
    candidate& next = *first();
    bool const asks_itself = next.turn() != nullptr;
    attempt_loop* const loop = asks_itself ? nullptr : queues().new_loop();
    if (!loop && !asks_itself) {
        local().stop_asking();
        return fail_all(make_error_code(boost::system::errc::not_enough_memory));
    }
    runtime& on = queues().on();
    auto const how = local().ask(next.lock()->plan->batch_policy, who, on.loop().now(), on.turn());
    asking_ = loop;
    asks_itself ? next.come_first(how) : loop->start(*this, next, how);
}

/// Those who are next, as long as what was asked for last is granted (rule P7).
void key_queue::ask_beside()
{
    while (candidate* const next = next_beside()) {
        next->own = queues().new_loop();
        if (!next->own)
            return next->asks_once() ? fail(*next, make_error_code(boost::system::errc::not_enough_memory))
                                     : void();
        next->own->start(*this, *next, core::start_mode::at_once);
    }
}

/// Null: nobody, for now.
candidate* key_queue::next_beside()
{
    auto const asking = asking_beside();
    auto const next = std::next(queue_.begin(), asking);
    return next != queue_.end() && may_ask_beside(*next, asking) ? &*next : nullptr;
}

/// So many at the head of the queue, with nobody between who wants something else.
std::ptrdiff_t key_queue::asking_beside() const
{
    auto const next = std::ranges::find_if_not(queue_, [this](candidate const& one) {
        bool const is_asked_for = one.own || (asking_ && asking_->whom() == &one);
        return is_asked_for && one.lock()->plan->kind.slotted;
    });
    return std::distance(queue_.begin(), next);
}

bool key_queue::may_ask_beside(candidate const& one, std::ptrdiff_t others) const
{
    lock_state const& wanted = *one.lock();
    return asks_more_ && !holder_ && wanted.plan->kind.slotted && others < wanted.most_asking();
}

bool key_queue::would_ask(candidate const& one) const
{
    auto const asking = asking_beside();
    bool const nobody_waits = std::next(queue_.begin(), asking) == queue_.end();
    return !busy() || (nobody_waits && may_ask_beside(one, asking));
}

/// Who was asked for beside others waits in the queue, but not before the one whom the queue asks for.
bool key_queue::reclaim(attempt_loop& by, errc /*cause*/)
{
    candidate& one = *by.whom();
    asks_more_ = false;
    if (asking_ == &by)
        return false;
    if (local().asking())
        stand_behind_asked(one);
    one.own = nullptr;
    ask_next();
    return true;
}

/// And behind those who came back to there before.
void key_queue::stand_behind_asked(candidate& one)
{
    candidate& asked = *first();
    auto const place = queue_.iterator_to(one);
    if (first_from(place) != &asked)
        return;
    if (is_front(one))
        overtakings_ = 0;
    one.ticket = asked.ticket;
    auto const behind = std::find_if(std::next(queue_.iterator_to(asked)), queue_.end(),
                                     [&](candidate const& other) { return other.ticket != asked.ticket; });
    queue_.splice(behind, queue_, place);
}

void key_queue::fail(candidate& vain, boost::system::error_code why)
{
    drop(vain);
    vain.fail(why);
}

/// None of them can be asked for.
void key_queue::fail_all(boost::system::error_code why)
{
    while (candidate* const vain = first())
        fail(*vain, why);
}

void key_queue::won(attempt_loop& by, held_lease& held)
{
    bool const asked_for = asking_ == &by;
    bool const in_order = is_front(*by.whom());
    if (held.slots())
        drop(*by.whom()); // perhaps behind others
    else if (asked_for)
        drop(*first());
    if (asked_for)
        asking_ = nullptr;
    changed_here(queues().on().nodes.all()); // who waits has been overtaken
    if (held.is_shared() || held.slots()) {
        local().won_beside_others(asked_for, by.offered_turn());
        if (held.is_shared() && !by.claims())
            local().passing().interrupted(); // the lock was free, or readers had it
        if (held.is_shared())
            readers_ = &held;
        else
            note_permits(asked_for, in_order);
        let_readers_join();
        return ask_beside();
    }
    local().won(asked_for, by.offered_turn(), queues().on().loop().now());
    holder_ = &held;
}

void key_queue::note_permits(bool asked_for, bool in_order)
{
    if (!in_order)
        ++overtakings_;
    asks_more_ = (asks_more_ || asked_for) && overtakings_ < most_overtakings;
}

/// Those at the head of the queue; the first who may not is asked for.
void key_queue::let_readers_join()
{
    while (first() && !local().asking() && join(*first()))
        ;
    ask_next();
}

/// A reader, by a lease that has been won not long ago. Later the nodes are asked, who know whether a writer waits (rule
/// S18).
bool key_queue::join(candidate& one)
{
    runtime& on = queues().on();
    if (!readers_ || !one.lock()->plan->kind.shared || !readers_->may_be_joined(*one.lock()))
        return false;
    void* const block = on.lease_blocks.try_take();
    if (!block)
        return false;
    auto joined = readers_->join(block, one.lock(), one.waited(on.loop().now()), one.attempts());
    if (!joined)
        return false;
    drop(one);
    one.receive(std::move(joined));
    return true;
}

void key_queue::taken_back(attempt_loop const& by, core::node_set where)
{
    if (asking_ != &by)
        changed_here(where);
}

void key_queue::loop_ended(attempt_loop const& by)
{
    asking_ == &by ? stop_asking() : ask_next();
}

void key_queue::adopted(held_lease& held)
{
    if (holder_ || held.is_shared())
        return;
    holder_ = &held;
    local().hold(queues().on().loop().now());
}

bool key_queue::hand_over(held_lease& held)
{
    if (holder_ != &held || !first())
        return false;
    candidate& next = *first();
    runtime& on = queues().on();
    core::instant const now = on.loop().now();
    if (!local().may_hand_over(next.lock()->plan->batch_policy, now) || !held.may_pass_to(*next.lock()))
        return false;
    void* const block = on.lease_blocks.try_take();
    if (!block)
        return false;
    auto passed = held.pass_to(block, next.lock(), next.waited(now), next.attempts());
    pass_on(*passed, now);
    next.receive(std::move(passed));
    return true;
}

/// To the first of those who wait.
void key_queue::pass_on(held_lease& passed, core::instant now)
{
    drop(*first());
    local().hold(now);
    holder_ = &passed;
}

void key_queue::downgraded(held_lease& held)
{
    if (holder_ == &held) {
        holder_ = nullptr;
        local().lease_ended(queues().on().loop().now());
    }
    changed_here(queues().on().nodes.all());
    readers_ = &held;
    let_readers_join();
}

void key_queue::led_by(held_lease const& before, held_lease& now)
{
    if (readers_ == &before)
        readers_ = &now;
}

void key_queue::lease_ended(held_lease const& held)
{
    runtime& on = queues().on();
    changed_here(on.nodes.all());
    if (readers_ == &held)
        readers_ = nullptr;
    if (holder_ != &held)
        return;
    holder_ = nullptr;
    local().lease_ended(on.loop().now());
    ask_next();
}

void key_queue::invalidated(unsigned node)
{
    if (asking_)
        asking_->invalidated(node, *this);
    if (holder_)
        holder_->invalidated(node);
}

void key_queue::changed_here(core::node_set where)
{
    if (asking_)
        asking_->changed_here(where);
    leader_changed(where);
}

void key_queue::leader_changed(core::node_set where)
{
    for (onlooker& each : onlookers_)
        each.leader_changed(where);
}

attempt_loop* key_queues::new_loop() noexcept
{
    try {
        return &loops_.take(runtime_);
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}

void key_queues::invalidated(unsigned node, std::optional<std::string_view> key)
{
    auto const tell = [node](key_state& known) { static_cast<key_queue&>(known).invalidated(node); };
    auto const tell_of_leader = [node](key_state& known) {
        static_cast<key_queue&>(known).leader_changed(core::node_set(node));
    };
    auto const beside = [&](std::string_view suffix) {
        return key->ends_with(suffix) ? find(key->substr(0, key->size() - suffix.size())) : nullptr;
    };
    if (!key) {
        for (auto const& any : all()) {
            tell(*any);
            tell_of_leader(*any);
        }
    } else if (auto const known = find(*key)) {
        tell(*known);
    } else if (auto const led = beside(kind::leader_suffix)) {
        tell_of_leader(*led);
    }
}

} // namespace redlock::detail
