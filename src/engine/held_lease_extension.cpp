// SPDX-License-Identifier: BSL-1.0
#include "core/memory.hpp"
#include "core/reconnection.hpp"
#include "core/tally.hpp"
#include "engine/held_lease.hpp"
#include "engine/replies.hpp"
#include <redlock/node_outcome.hpp>

#include <boost/system/errc.hpp>

#include <algorithm>
#include <memory>
#include <utility>

// How a lease is kept: its commands, and the extensions among them.
namespace redlock::detail {

namespace {

bool gives_back(kind::request what)
{
    return what == kind::request::release || what == kind::request::give_back ||
           what == kind::request::lock_release;
}

core::extension_answer counted(kind::answer::meaning said)
{
    using meaning = kind::answer::meaning;
    switch (said) {
    case meaning::granted: return core::extension_answer::mine;
    case meaning::repaired: return core::extension_answer::repaired;
    case meaning::denied: return core::extension_answer::not_mine;
    default: return core::extension_answer::failed;
    }
}

} // namespace

template class round<held_lease>;

/// An extension of a lease that is over would follow the release (rule R1). An extension after the deadline would prolong a
/// lost key (rule H7). Neither extension is repeated.
// rule A7
bool held_lease::repeats(unsigned, kind::request what, bool late) const
{
    if (gives_back(what))
        return true;
    return !late && !over() && !kept().lost_at(on().loop().read_clock());
}

/// A waiter of this client has asked in between, and found the key.
void held_lease::on_repeated(unsigned node, kind::request what)
{
    if (gives_back(what))
        lock().key->changed_by_us(core::node_set(node));
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

void held_lease::on_silence(unsigned node, kind::request what, bool late, net::failure const& why)
{
    if (gives_back(what))
        on_release_silence(node, why);
    else if (what != kind::request::owner)
        on_extension_silence(node, late, why);
}

/// A lease whose holder does not get on is not kept alive.
// rule H8
void held_lease::renew()
{
    core::instant const now = on().loop().now();
    bool const stalled = hangs();
    bool const news = stalled && !kept().stalled;
    kept().stalled = stalled;
    if (!stalled)
        return start_extension();
    if (news)
        tell(event::stalled);
    if (over())
        return;
    kept().postpone_renewal(now);
    pass_renewal();
    schedule();
}

void held_lease::extend(wait_op& w)
{
    begin_if_adopted();
    if (over())
        return w.finish(why_over());
    waiting_.push_back(w);
    if (follows() && end_if_expired())
        return;
    if (held_lease& asks = renewer(); !asks.kept().extending())
        asks.start_extension();
    if (follows() && !renewer().kept().extending()) // the time of that one was over
        renewer().start_extension();
}

/// Has a round to begin? An operation came during the last round, or before the nodes were connected.
bool held_lease::extension_awaited() const
{
    auto const waits = [](wait_op const& w) { return !w.waits_for_the_end(); };
    return !follows() && !kept().extending() && (extension_owed_ || std::ranges::any_of(waiting_, waits));
}

/// Operations that wait for the end go on waiting. One that came too late for this round waits for the next one.
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

/// Without memory it is put off.
void held_lease::start_extension()
{
    if (end_if_expired() || (!kept().confirmed_once() && wait_for_nodes()) ||
        over()) // which an observer may decide
        return;
    extension_owed_ = false;
    core::instant const now = on().loop().now();
    if (!core::if_memory_allows([&] { kept().open_round(now); })) {
        if (kept().renewal_planned())
            kept().postpone_renewal(now);
        return extension_failed(make_error_code(boost::system::errc::not_enough_memory));
    }
    open_round();
    history_.begin_round(lock().key->tables(), facts());
    show_votes();
    for (unsigned i = 0; i != nodes().size() && !over() && kept().extending(); ++i)
        extend_on(i);
    schedule();
}

void held_lease::extend_on(unsigned node)
{
    if (node_report why_not; !nodes().admit(node, lock(), why_not))
        return answer_extension(node, core::extension_answer::failed, std::move(why_not));
    if (over()) // an observer may have released it
        return;
    if (nodes().at(node).state() == node_state::ready)
        reached_.insert(node);
    else
        kept().away(node); // it is being connected: the command waits for that
    if (kept().confirmed_once())
        send(node, renewal());
    else // an adopted lease that no round has confirmed yet
        send_in_full(node, kind::request::adopt);
}

// rule K8
void held_lease::on_extension(node_answer const& got)
{
    if (!got.late && !over() && got.answer.what == meaning::unknown_script && end_if_expired())
        return;
    node_report row;
    report(got, type(), row);
    if (got.late || over())
        return tell_answer(got.node, row); // an answer that comes too late says nothing of the end
    if (got.answer.what == meaning::error)
        nodes().note(got.node, "extend", got.reply);
    if (got.answer.unread && kept().watching)
        watch_on(got.node);
    if (arguments_ && arguments_->are_observed()) // the node does not tell of our own change
        lock().key->announced_here(core::node_set(got.node));
    answer_extension(got.node, counted(got.answer.what), std::move(row),
                     core::elapsed(kept().asked(), on().loop().now()));
}

/// A command that was not sent waited for a connection, which now stands. The node may be old enough for this lock by now.
void held_lease::on_extension_silence(unsigned node, bool late, net::failure const& why)
{
    bool const wanted = !late && !over();
    if (wanted && why.unsent)
        return extend_on(node);
    node_report row;
    report_failure(why, row);
    wanted ? answer_extension(node, core::extension_answer::failed, std::move(row)) : tell_answer(node, row);
}

/// The verdict may not have waited for this node.
void held_lease::answer_extension(unsigned node, core::extension_answer answer, node_report&& row,
                                  core::duration round_trip)
{
    tell_answer(node, row, round_trip);
    if (over())
        return;
    keep(node, std::move(row));
    if (kept().hears())
        settle(kept().answer(node, answer, on().loop().read_clock()));
}

void held_lease::time_out_extension()
{
    keep_silence(kept().silent());
    settle(kept().time_out(on().loop().read_clock()));
}

// rule H10
void held_lease::settle(core::lease_machine::outcome outcome)
{
    using result = core::lease_machine::outcome;
    switch (outcome) {
    case result::pending: return show_votes();
    case result::extended: return extended();
    case result::failed: return extension_failed(errc::no_quorum);
    case result::lost: lose(); return tell_key_of_end();
    }
}

/// An observer may release the lease when it is told.
void held_lease::extended()
{
    core::duration const spare = published_deadline().boot - on().loop().now().boot;
    show(lease_state::held);
    history_.confirm(lock().key->tables(), facts());
    tell(event::renewed, spare);
    tell_followers({});
    if (over())
        return;
    kept().failed = 0;
    if (kept().changed)
        kept().postpone_renewal(on().loop().now()); // not at a third of the TTL, but soon
    kept().changed = false;
    finish_extension({});
    pass_renewal();
    schedule();
}

void held_lease::extension_failed(boost::system::error_code why)
{
    show(published());
    nodes().hasten(core::pace_of_holder(kept().left(on().loop().now()), lock().config->node_timeout));
    kept().round_failed();
    if (kept().failed == 1) // the others are told at the row's end
        tell(event::renewal_failed);
    tell_followers(why);
    if (over())
        return;
    finish_extension(why);
    schedule();
}

/// A round that is under way may have told some nodes the earlier announcement: the operation waits for the next round.
// rule EL2
void held_lease::proclaim(std::unique_ptr<announcement> said, wait_op& w)
{
    if (end_if_expired())
        return w.finish(why_over());
    said->replace(fencing_token(),
                  static_cast<announcement const*>(arguments_.get())); // a leader has no other arguments
    arguments_ = std::move(said);
    waiting_.push_back(w);
    if (kept().extending())
        w.wait_for_another_round();
    else
        start_extension();
}

} // namespace redlock::detail
