// SPDX-License-Identifier: BSL-1.0
#include "core/reconnection.hpp"
#include "core/tally.hpp"
#include "engine/held_lease.hpp"
#include "engine/replies.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <limits>
#include <utility>

// How a lease is kept: extensions, and the replies to all that it sends.
namespace redlock::detail {

namespace {

using meaning = kind::answer::meaning;

bool gives_back(kind::request what)
{
    return what == kind::request::release || what == kind::request::give_back ||
           what == kind::request::lock_release;
}

core::extension_answer counted(meaning said)
{
    switch (said) {
    case meaning::granted: return core::extension_answer::mine;
    case meaning::repaired: return core::extension_answer::repaired;
    case meaning::denied: return core::extension_answer::not_mine;
    default: return core::extension_answer::failed;
    }
}

} // namespace

template class round<held_lease>;

bool held_lease::hangs() const
{
    return on().loop().now().boot - progressed() > lock().plan->terms.progress_within;
}

/// A lease without progress is not renewed.
// rule H8
void held_lease::renew()
{
    core::instant const now = on().loop().now();
    bool const stalled = hangs();
    bool const news = stalled && !stalled_;
    stalled_ = stalled;
    if (!stalled)
        return start_extension();
    if (news)
        tell(event::stalled);
    machine_.postpone_renewal(now);
    pass_lead();
    schedule();
}

void held_lease::extend(wait_op& w)
{
    take_up();
    if (machine_.over())
        return w.finish(why_over());
    waiting_.push_back(w);
    if (follows() && lose_if_over())
        return leave_key();
    if (held_lease& asks = leader(); !asks.machine_.extending())
        asks.start_extension();
    if (follows() && !leader().machine_.extending()) // that one's time was over
        leader().start_extension();
}

bool held_lease::extension_awaited() const
{
    return std::ranges::any_of(waiting_, [](wait_op const& w) { return !w.waits_for_the_end(); });
}

/// Operations that wait for the end wait on; those that came too late for this round wait for the next one.
void held_lease::finish_extension(boost::system::error_code result)
{
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        wait_op& w = *at++;
        if (w.skips_round())
            w.round_ended();
        else if (!w.waits_for_the_end())
            w.finish(result);
    }
}

void held_lease::schedule_next()
{
    if (extension_awaited())
        on().loop().schedule(*this, on().loop().now());
    else
        schedule();
}

void held_lease::start_extension()
{
    if (lose_if_over())
        return leave_key();
    if (!machine_.proven() && wait_for_nodes())
        return;
    open_round();
    machine_.extension_started(on().loop().now());
    history_.begin_round(lock().wanted->tables(), machine_);
    show_votes();
    for (unsigned i = 0; i != nodes().size() && machine_.extending() && !machine_.over(); ++i)
        extend_on(i);
    if (machine_.extending())
        schedule();
}

void held_lease::extend_on(unsigned node)
{
    if (node_report row; !nodes().admit(node, lock(), row)) {
        tell_answer(node, row);
        keep(node, std::move(row));
        return answer_extension(node, core::extension_answer::failed);
    }
    if (nodes().at(node).state() == node_state::ready)
        reached_.insert(node);
    else
        machine_.away(node);
    if (machine_.proven())
        send(node, renewal());
    else
        send_in_full(node, kind::request::adopt); // once
}

/// An extension of a lease that is over is not repeated: it would arrive behind the release (rule R1). Nor is one of an
/// expired lease whose end is not reported yet (rule H7).
// rule A7
bool held_lease::repeats(unsigned, kind::request what, bool late) const
{
    if (gives_back(what))
        return true;
    return !late && !machine_.over() && !machine_.lost_at(on().loop().read_clock());
}

/// A waiter has asked in between, and found the key.
void held_lease::on_repeated(unsigned node, kind::request what)
{
    if (gives_back(what))
        lock().wanted->changed_here(core::node_set(node));
}

void held_lease::on_answer(node_answer const& got)
{
    switch (got.what) {
    case kind::request::owner: return on_watch(got);
    case kind::request::release:
    case kind::request::lock_release: return on_release(got);
    case kind::request::give_back: return on_given_back(got);
    default: return on_extension(got);
    }
}

/// A node that lets nobody stand in line is told as the others are. Of several names all nodes are asked to serve their
/// queues; the first one tells whether what they held may be claimed.
// rule M3
void held_lease::on_given_back(node_answer const& got)
{
    bool const decides = !type().several || got.node == line_;
    if (got.said.what == meaning::handed_on)
        may_be_claimed_ = true;
    else if (decides && got.said.what != meaning::error)
        may_be_claimed_ = false;
    if (got.said.what != meaning::error) {
        on_release(got);
    } else {
        key_state& name = lock().wanted->one(lock().wanted->in_the_way());
        on().lines.refused(got.node, name, got.reply);
        release_late(core::node_set(got.node));
    }
    release_the_rest();
}

void held_lease::on_release(node_answer const& got)
{
    bool const ours = got.said.what == meaning::granted || got.said.what == meaning::handed_on;
    bool const answered = ours || got.said.what == meaning::denied;
    if (got.said.what == meaning::error)
        nodes().note(got.node, "release", got.reply);
    if (asks_for_lock_alone(got, type()) && nodes().at(got.node).make_reachable())
        return send(got.node, kind::request::lock_release);
    if (!history_.empty() || !ours) {
        node_report row;
        report(got, type(), row);
        keep(got.node, std::move(row));
    }
    if (answered)
        release_.answered(ours || may_be_claimed_);
    else
        release_.missed();
    settle_release(got.node);
}

// rule K8
void held_lease::on_extension(node_answer const& got)
{
    bool const wanted = !got.late && !machine_.over();
    if (wanted && got.said.what == meaning::unknown_script && lose_if_over())
        return leave_key();
    if (got.said.what == meaning::error)
        nodes().note(got.node, "extend", got.reply);
    node_report row;
    report(got, type(), row);
    if (!wanted)
        return tell_answer(got.node, row); // a late answer says nothing of the end
    tell_answer(got.node, row, core::elapsed(machine_.extension_sent(), on().loop().now()));
    keep(got.node, std::move(row));
    if (got.said.unread && watching_)
        watch_on(got.node);
    if (proclaimed_) // the node does not report changes by this client itself
        lock().wanted->proclaimed_here(core::node_set(got.node));
    answer_extension(got.node, counted(got.said.what));
}

void held_lease::on_silence(unsigned node, kind::request what, bool late, net::failure const& why)
{
    switch (what) {
    case kind::request::owner: return;
    case kind::request::release:
    case kind::request::give_back:
    case kind::request::lock_release: return on_release_silence(node, why);
    default: return on_extension_silence(node, late, why);
    }
}

void held_lease::on_release_silence(unsigned node, net::failure const& why)
{
    release_the_rest();
    if (send_release_again(node, why))
        return;
    if (!why.unsent)
        reached_.insert(node); // with it a vote that waited for the connection, too
    keep_failure(node, why);
    // Written, and confirmed by the others: it is the end of the client that keeps this answer from being read.
    bool const cut_off = on().life.closed() && !why.unsent && release_.confirmed(nodes().size());
    if (!cut_off)
        fail_release(node);
}

/// An unsent extension waited for a connection, which is ready now; that node may be old enough for this lock.
void held_lease::on_extension_silence(unsigned node, bool late, net::failure const& why)
{
    bool const wanted = !late && !machine_.over();
    if (wanted && why.unsent)
        return extend_on(node);
    node_report row;
    report_failure(why, row);
    tell_answer(node, row);
    if (wanted)
        keep(node, std::move(row));
    if (!late)
        answer_extension(node, core::extension_answer::failed);
}

void held_lease::answer_extension(unsigned node, core::extension_answer answer)
{
    if (machine_.over())
        return;
    bool const open = machine_.extending();
    auto const outcome = machine_.answer(node, answer, on().loop().read_clock());
    if (open || outcome == core::lease_machine::outcome::lost)
        return settle(outcome);
    show_votes(); // the answer of a node that the verdict did not wait for
}

void held_lease::time_out_extension()
{
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (machine_.awaits(i))
            keep_silence(i);
    settle(machine_.time_out(on().loop().read_clock()));
}

// rule H10
void held_lease::settle(core::lease_machine::outcome outcome)
{
    using result = core::lease_machine::outcome;
    switch (outcome) {
    case result::pending: return show_votes();
    case result::extended: {
        core::duration const spare = published_deadline().boot - on().loop().now().boot;
        show(lease_state::held);
        history_.confirm(lock().wanted->tables(), machine_);
        tell(event::renewed, spare);
        failed_ = 0;
        tell_followers([](held_lease& each) { each.follow(); });
        finish_extension({});
        pass_lead();
        if (changed_)
            machine_.postpone_renewal(on().loop().now()); // not at a third of the TTL, but soon
        changed_ = false;
        return schedule_next();
    }
    case result::failed:
        show(published());
        nodes().hasten(core::pace_of_holder(machine_.left(on().loop().now()), lock().plan->node_timeout));
        if (failed_ != std::numeric_limits<std::uint8_t>::max())
            ++failed_;
        if (failed_ == 1) // the others are told at the row's end
            tell(event::renewal_failed);
        tell_followers([](held_lease& each) { each.finish_extension(errc::no_quorum); });
        finish_extension(errc::no_quorum);
        return schedule_next();
    case result::lost: lose(); return leave_key();
    }
}

} // namespace redlock::detail
