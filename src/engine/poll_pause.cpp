// SPDX-License-Identifier: BSL-1.0
#include "engine/poll_pause.hpp"

#include "net/machine.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"
#include <redlock/lock_options.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::detail {

template class round<poll_pause>;

// rules W2 and W5
bool poll_pause::begin(pause_reason const& reason)
{
    if (reason.why == pause_reason::cause::rivals)
        return false; // a vote finds out whether they have the lock
    type_ = &wanted_.lock().config->kind;
    window_is_unused_ = reason.why == pause_reason::cause::others_first;
    refused_ = reason.why == pause_reason::cause::refused;
    granted_ = refused_ ? last_.votes().answered() : core::node_set();
    granted_.erase(last_.held_by_others());
    blocked_ = false;
    core::instant const now = runtime_.loop().now();
    if (window_is_unused_)
        pause_.begin(now, pace(), runtime_.open_window_length());
    else
        pause_.begin(now, pace(), wanted_.refusals, runtime_.loop().machine().random_bits());
    probe_in_the_way(); // a lease may be over before this one votes again
    return true;
}

core::vote_pause::pace poll_pause::pace() const
{
    retry_policy const& policy = wanted_.lock().config->options.retry;
    core::duration const round_trip = runtime_.round_trip();
    return {std::max<core::duration>(policy.min_delay, 2 * round_trip), policy.max_delay, round_trip};
}

void poll_pause::probe_in_the_way()
{
    if (auto const node = runtime_.registry.meeting_node(wanted_.lock(), granted_))
        probe(*node);
}

/// Asks for the key. With tracking, the same read makes the server report the key's next change, so no change between the
/// two is missed.
// rule W2
void poll_pause::probe(unsigned node)
{
    net::node& n = nodes().at(node);
    if (!n.ensure_can_send_now())
        return; // on_nodes_changed() probes again
    n.track();  // once on each connection
    send(node, kind::request::time_left);
    send(node, kind::request::owner); // diagnostics show for which client the operation waits
}

void poll_pause::on_answer(node_answer const& got)
{
    if (got.late)
        return;
    if (got.what == kind::request::time_left && redis::is_error(got.reply.type))
        nodes().note_minor_refusal(got.node, "PTTL", got.reply);
    auto const found = type_->read_observation(got.what, got.reply);
    wanted_.saw(got.node, nodes().size(), found);
    blocked_ |= found.immortal;
    if (found.gone && !window_is_unused_)
        return refused_ && last_.reached().contains(got.node) ? look_elsewhere(got.node) : vote_soon();
    if (!found.left)
        return;
    window_is_unused_ = false;
    auto const left = std::min<core::duration>(*found.left, wanted_.lock().config->key_ttl);
    pause_.found_held(left, runtime_.loop().now(), runtime_.loop().machine().random_bits());
    listener_.on_step(pause_step::wait);
}

/// The vote was granted there after the attempt was decided: the key that is gone was our own.
void poll_pause::look_elsewhere(unsigned node)
{
    granted_.insert(node);
    probe_in_the_way();
}

void poll_pause::on_key_changed(unsigned)
{
    if (std::exchange(window_is_unused_, false))
        wanted_.met_others();
    vote_soon();
}

void poll_pause::vote_soon()
{
    pause_.changed(runtime_.loop().now(), runtime_.loop().machine().random_bits());
    listener_.on_step(pause_step::wait);
}

} // namespace redlock::detail
