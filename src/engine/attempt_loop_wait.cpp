// SPDX-License-Identifier: BSL-1.0
#include "core/backoff.hpp"
#include "engine/attempt_loop.hpp"
#include "engine/node_report.hpp"
#include "kind/multi.hpp"
#include "net/machine.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

// Between two attempts: when there is another one, and what is asked meanwhile.
namespace redlock::detail {

void attempt_loop::nodes_changed()
{
    if (whom_)
        hasten_nodes();
    if (phase_ == phase::connecting)
        return connect_or_vote();
    if (phase_ == phase::in_line) {
        watch_majority();
        return place_.nodes_changed();
    }
    if (phase_ != phase::waiting)
        return;
    if (cause_ == errc::no_quorum)
        return nodes().has_majority(lock()) ? vote() : void();
    peek_in_the_way(); // what a connection's server was to tell ends with it
}

void attempt_loop::wait_for_nodes(errc cause)
{
    enter(phase::waiting);
    cause_ = errc::no_quorum;
    in_turn_ = false;
    retry_policy const& policy = lock().plan->options.retry;
    auto const first = std::max<core::duration>(policy.min_delay, 2 * runtime_.round_trip());
    auto const jitter = cause == errc::no_quorum ? core::half_jitter : core::full_jitter;
    auto const delay = jitter(refusals_, first, policy.max_delay, runtime_.loop().machine().random_bits());
    auto const at = cause == errc::no_quorum ? nodes().majority_at(lock()) : std::nullopt;
    at ? runtime_.loop().schedule(*this, *at) : runtime_.loop().schedule_after(*this, delay);
}

/// Of several names the one that is waited for.
redis::lock_key attempt_loop::awaited_key() const
{
    auto const key = key_->key();
    return key.several.empty() ? key : redis::lock_key{key.prefix, key.several[awaited_]};
}

/// The one that is in the way on most nodes. A node that names none of them is
/// not believed.
// rules Q21 and M7
void attempt_loop::await_most_refused()
{
    if (!type().several)
        return;
    std::array<unsigned, kind::most_names> refusals{};
    for (node_report const& row : attempt_.rows())
        if (row.result == node_result::held_by_other)
            ++refusals[row.which];
    auto const names = std::span(refusals).first(key_->key().several.size());
    auto const most = std::ranges::max_element(names) - names.begin();
    awaited_ = static_cast<std::uint8_t>(most);
    key_->note_in_the_way(awaited_);
}

core::vote_pause::pace attempt_loop::pace() const
{
    retry_policy const& policy = lock().plan->options.retry;
    core::duration const round_trip = runtime_.round_trip();
    return {std::max<core::duration>(policy.min_delay, 2 * round_trip), policy.max_delay, round_trip};
}

/// Chance says when it votes again, if it is not woken before.
// rule W2
void attempt_loop::wait_for_others()
{
    enter(phase::waiting);
    cause_ = errc::contended;
    in_turn_ = true;
    listen();
    pause_.begin(runtime_.loop().now(), pace(), refusals_, runtime_.loop().machine().random_bits());
    schedule_vote();
    peek_in_the_way();
}

/// A client that has had the lock leaves it alone for the time of an open window.
// rule W5
void attempt_loop::offer_turn()
{
    enter(phase::waiting);
    cause_ = errc::contended;
    in_turn_ = true;
    pause_.begin(runtime_.loop().now(), pace(), runtime_.turn());
    schedule_vote();
    listen();
    if (auto const node = runtime_.lines.meeting_node(lock()))
        peek(*node); // a lease may be over before this one votes again
}

/// Notes that others took the lock in the time that was left to them.
void attempt_loop::somebody_came()
{
    if (std::exchange(offered_turn_, false))
        note_rivals();
}

void attempt_loop::listen()
{
    if (!std::exchange(listening_, true))
        nodes().listen();
}

void attempt_loop::schedule_vote()
{
    runtime_.loop().schedule_finely(*this, pause_.at());
}

/// At the first node that was asked in vain. Where the vote was granted, the key is gone with it: that is no news.
void attempt_loop::peek_in_the_way()
{
    core::node_set others = attempt_.votes().answered();
    others.erase(attempt_.refused());
    if (auto const node = runtime_.lines.meeting_node(lock(), others))
        peek(*node);
}

/// On a connection whose server tells when the key changes. The question and the registration are one command, so no change
/// goes unheard between them.
// rule W2
void attempt_loop::peek(unsigned node)
{
    net::node& n = nodes().at(node);
    if (!n.make_usable_now())
        return;
    n.track();
    send(node, kind::request::time_left);
    if (phase_ == phase::waiting)
        send(node, kind::request::owner); // for those who ask why it waits
}

void attempt_loop::on_answer(node_answer const& got)
{
    if (got.late)
        return;
    if (got.what == kind::request::time_left && redis::is_error(got.reply.type))
        nodes().note_lack(got.node, "PTTL", got.reply);
    auto found = type().read_sighting(got.what, got.reply);
    found.which = awaited_;
    if (phase_ == phase::in_line && found.gone)
        return found_free(got.node);
    if (!waits_for_others())
        return;
    key_->note_holder(got.node, nodes().size(), found);
    if (found.gone)
        return offered_turn_ ? void() : key_changed();
    if (!found.left)
        return;
    somebody_came();
    auto const left = std::min<core::duration>(*found.left, key_ttl_);
    pause_.found_held(left, runtime_.loop().now(), runtime_.loop().machine().random_bits());
    schedule_vote();
}

void attempt_loop::key_changed()
{
    pause_.changed(runtime_.loop().now(), runtime_.loop().machine().random_bits());
    schedule_vote();
}

void attempt_loop::invalidated(unsigned node, key_state const& which)
{
    if (&which != key_ && which.name() != awaited_key().name)
        return;
    if (phase_ == phase::in_line)
        place_.key_changed(node);
    else if (waits_for_others()) {
        somebody_came();
        key_changed();
    }
}

/// Of that the server does not tell.
void attempt_loop::changed_here(core::node_set where)
{
    if (phase_ == phase::in_line)
        place_.changed_here(where);
    else if (waits_for_others())
        peek_in_the_way();
}

} // namespace redlock::detail
