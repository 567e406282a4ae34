// SPDX-License-Identifier: BSL-1.0
#include "core/local_queue.hpp"
#include "core/passage.hpp"
#include "core/tally.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_state.hpp"
#include "net/node.hpp"

#include <chrono>
#include <new>
#include <utility>

// How a lease ends: lost, given up, passed on, released.
namespace redlock::detail {

void held_lease::await_end(wait_op& w)
{
    take_up();
    if (machine_.over())
        return w.finish(why_over());
    w.wait_for_the_end();
    waiting_.push_back(w);
}

/// For whoever comes after the end.
errc held_lease::why_over() const
{
    if (shut_down_)
        return errc::shut_down;
    return machine_.phase() == core::lease_phase::lost ? errc::lease_lost : errc::released;
}

loss_cause held_lease::find_cause() const
{
    using loss = core::lease_machine::loss;
    switch (machine_.cause()) {
    case loss::refused: return loss_cause::refused;
    case loss::hold_ended: return loss_cause::max_hold;
    case loss::expired: break;
    }
    return stalled_ ? loss_cause::stalled : loss_cause::expired;
}

void held_lease::lose()
{
    if (follows() && machine_.cause() != core::lease_machine::loss::hold_ended)
        history_.share(lock().wanted->tables(), leader().history_); // which is over in this moment, too
    auto const others = end_group();
    core::instant const now = on().loop().read_clock();
    bool const expired = find_cause() == loss_cause::expired;
    history_.close(lock().wanted->tables(), machine_,
                   expired ? machine_.late_by(lock().plan->node_timeout, now) : core::duration::zero(), now);
    publish_cause(find_cause());
    show(lease_state::lost);
    tell_loss();
    end(errc::lease_lost);
    for (held_lease* const each : others)
        each->lose_with(*this);
}

void held_lease::end(errc reason)
{
    shut_down_ = reason == errc::shut_down;
    on().loop().cancel(*this);
    stop_watching();
    on().life.end_lease(*this);
    if (permits_)
        --lock().wanted->leases_with_permits;
    finish_all(waiting_, reason);
}

void held_lease::release(wait_op& w)
{
    take_up();
    if (lose_if_over()) {
        take_back();
        leave_key();
    }
    if (machine_.over())
        return w.finish(why_over());
    if (leave_to_others(errc::released) || lock().wanted->hand_over(*this))
        return w.finish({});
    give_up(errc::released);
    waiting_.push_back(w);
    start_release();
    leave_key();
}

void held_lease::handle_gone()
{
    take_up();
    if (lose_if_over()) {
        take_back();
        return leave_key();
    }
    if (machine_.over() || leave_to_others(errc::released) || lock().wanted->hand_over(*this))
        return;
    give_up(errc::released);
    start_release();
    leave_key();
}

void held_lease::abort(boost::system::error_code why)
{
    if (why == errc::shut_down && leave_to_others(errc::shut_down))
        return;
    if (why == errc::shut_down) {
        give_up(errc::shut_down);
        start_release();
        return leave_key(); // words of keys come until the connections end
    }
    forget_group();
    machine_.release();
    show(lease_state::lost);
    on().loop().cancel(*this);
    watching_ = false;
    on().life.end_lease(*this);
}

// rule EL1
bool held_lease::may_pass_to(lock_state const& heir) const
{
    return type().passes_to == kind::handoff::next && same_terms(lock(), heir) && may_go_on_as(heir);
}

bool held_lease::may_go_on_as(lock_state const& heir) const
{
    if (!same_times(lock(), heir) || !heir.plan->options.renew ||
        machine_.phase() != core::lease_phase::held || on().life.closing())
        return false;
    return handovers() < type().most_handoffs && remaining() >= heir.plan->options.ttl / 2;
}

boost::intrusive_ptr<held_lease> held_lease::pass_to(void* block, std::shared_ptr<lock_state> const& heir,
                                                     core::duration waited, unsigned attempts)
{
    boost::intrusive_ptr<held_lease> made(::new (block) held_lease(heir, *this, attempts, waited));
    give_up(errc::released, event::handed_over);
    made->begin();
    return made;
}

/// After all that this lease had to say on its connections: the next one's vote follows in the same write.
void held_lease::leave_key()
{
    lock().wanted->lease_ended(*this);
}

void held_lease::give_up(errc reason, event how)
{
    machine_.release();
    publish(lease_state::released);
    tell(how);
    end(reason);
}

void held_lease::take_back()
{
    if (on().life.closing() || taken_back_)
        return;
    taken_back_ = true;
    try {
        on().clean.start(on().clean.prepare(), owed(), nodes().all(), reached_);
    } catch (std::bad_alloc const&) { // the keys expire by themselves
    }
}

pending_release held_lease::owed() const
{
    return {{lock().wanted, &type(), owner(), number()}, on().loop().now() + lock().plan->key_ttl};
}

// Release: behind everything sent before on each connection, so no renewal comes after it

// rules Q5, Q11 and R1
void held_lease::start_release()
{
    releasing_ = true;
    on().life.release_began();
    bool const lines = lock().plan->queues() && !on().life.closing();
    if (lines && type().opens_window())
        offer_turn();
    if (lines && (type().heeds() || of_name().has_rivals()) && release_in_line())
        return;
    on().loop().schedule_after(*this, lock().plan->node_timeout);
    release_on(nodes().all(), type().release_word());
}

/// This client's knowledge of rivals for the lock; with several names, for the one that was taken last.
core::local_queue& held_lease::of_name() const
{
    key_state& its = *lock().wanted;
    return its.one(its.in_the_way()).local();
}

/// Opens a window: an unqueued client would never find the lock free otherwise.
// rule Q19
void held_lease::offer_turn()
{
    core::instant const now = on().loop().now();
    auto const turn = on().turn();
    core::passage& passing = of_name().passing();
    if (passing.owes_turn(lock().plan->batch_policy.period, turn, now))
        passing.left_free(now + turn);
}

/// The same when it is said again.
kind::queue_words held_lease::release_words() const
{
    auto const passed = of_name().passing().lasted(on().loop().now());
    auto const time = leaves_free_ ? on().turn() : passed;
    return {.leaves_free = leaves_free_, .time = std::chrono::floor<std::chrono::microseconds>(time)};
}

/// There first, so that nobody takes on the others what is handed on. False: there is no line.
// rule Q11
bool held_lease::release_in_line()
{
    auto const node = on().lines.node_of(lock(), {});
    if (!node)
        return false;
    core::duration const whole = lock().plan->node_timeout;
    leaves_free_ = of_name().passing().is_left_free(on().loop().now());
    may_be_claimed_ = !leaves_free_;
    bool const first =
        may_be_claimed_ && !type().heeds(); // new readers and permits heed the queue node (rule Q11)
    on().loop().schedule_after(*this, first ? on().patience(whole / 2) : whole);
    if (first) {
        line_ = static_cast<std::uint8_t>(*node);
        on().life.put_off_release(*this);
    }
    send(*node, kind::request::give_back);
    if (!first)
        release_on(all_but(*node), type().release_word());
    return true;
}

/// Once the line has answered, or has had its time.
void held_lease::release_the_rest()
{
    unsigned const line = std::exchange(line_, no_line);
    if (line == no_line)
        return;
    link.unlink();
    if (!releasing_)
        return;
    core::duration const whole = lock().plan->node_timeout;
    on().loop().schedule_after(*this, whole - on().patience(whole / 2));
    release_late(all_but(line), type().release_word());
}

core::node_set held_lease::all_but(unsigned node) const
{
    core::node_set others = nodes().all();
    others.erase(core::node_set(node));
    return others;
}

/// Behind what whoever comes next has asked there already, and found the key: of our own change nobody tells (rule W2).
void held_lease::release_late(core::node_set where, kind::request word)
{
    release_on(where, word);
    lock().wanted->changed_here(where);
}

void held_lease::release_on(core::node_set where, kind::request word)
{
    runtime::draft_buffer const buffer(on());
    draft const release = make_draft(word, buffer.text);
    core::node_set const sent = send_at_once(release, where);
    if (sent == where)
        return;
    for (unsigned i = 0; i != nodes().size(); ++i) {
        net::node& to = nodes().at(i);
        if (sent.contains(i) || !where.contains(i))
            continue;
        if (to.make_reachable()) {
            send(to, release);
        } else {
            keep_failure(i, to.last_failure());
            fail_release(i);
        }
    }
}

/// The node may hold the key for as long as it lives, if anything of it was sent there.
void held_lease::fail_release(unsigned node)
{
    if (reached_.contains(node))
        on().clean.keep(node, owed());
    release_.missed();
    settle_release(node);
}

void held_lease::settle_release(unsigned node)
{
    if (!releasing_)
        return;
    machine_.release_ended(node);
    if (release_.decided(nodes().size()))
        finish_release();
}

// rule R2
void held_lease::finish_release()
{
    using verdict = core::release_tally::result;
    releasing_ = false;
    on().loop().cancel(*this);
    bool const confirmed = release_.confirmed(nodes().size());
    auto const said = release_.verdict(nodes().size());
    boost::system::error_code const result = said == verdict::was_gone    ? make_error_code(errc::lease_lost)
                                             : said == verdict::confirmed ? boost::system::error_code{}
                                                                          : make_error_code(errc::no_quorum);
    for (unsigned i = 0; i != nodes().size() && !confirmed; ++i)
        if (machine_.awaits_release(i))
            keep_silence(i);
    on().life.release_ended(confirmed);
    if (observer* const watcher = on().its.watcher())
        watcher->on_release({lock().name(), result, release_.answers(), machine_.nodes()});
    finish_all(waiting_, result);
}

} // namespace redlock::detail
