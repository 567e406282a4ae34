// SPDX-License-Identifier: BSL-1.0
#include "engine/marker.hpp"

#include "engine/nonce_source.hpp"
#include "engine/replies.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace redlock::detail {

void marker::require()
{
    if (node_.state() != node_state::ready)
        return;
    if (std::exchange(stale_, false))
        return node_.renew();
    if (awaited_ || !text_.empty() || refusal_ || !node_.ensure_can_send_now())
        return;
    try {
        ask();
    } catch (std::exception const&) { // no memory, or no randomness: it stays unknown
    }
}

void marker::ask()
{
    // Empty if the user answers for the node's memory, here for a promotion. He does so for this client alone: others go by the
    // time when the marker was placed (rule F6).
    auto const since =
        known_.trusts_promotion(node_.index(), node_) ? std::nullopt : known_.certain_since(node_.index());
    nonce const drawn = environment_.fresh_nonce();
    redis::mark_call call{.key_prefix = environment_.settings().key_prefix,
                          .incarnation = node_.incarnation(),
                          .lineage = drawn.text().substr(0, 8),
                          .certain_for = {},
                          .absence_is_excused = known_.excuses_absence(node_.index(), node_),
                          .seen = seen_};
    if (since)
        call.certain_for = std::max(std::chrono::floor<std::chrono::milliseconds>(
                                        core::elapsed_at_least(*since, environment_.loop().now())),
                                    std::chrono::milliseconds::zero()); // rule N8
    std::string command;
    redis::append_mark(command, call);
    node_.output().append(command);
    excused_ = !since;
    awaited_ = true;
    listener_.on_marker_asked();
    node_.expect(*this, 0);
}

void marker::forget()
{
    text_.clear();
    refusal_.reset();
    certain_since_.reset();
    stale_ = false;
}

void marker::explain(node_report& row)
{
    if (awaited_ || !refusal_)
        return report_connecting(row);
    row.result = refusal_->result;
    row.error = refusal_->error;
    if (refusal_->detail)
        describe(row, [this] { return *refusal_->detail; });
    refusal_.reset();
}

void marker::on_reply(unsigned, std::uint32_t, redis::resp_node const& reply)
{
    awaited_ = false;
    bool const text =
        reply.type == redis::resp_type::bulk_string || reply.type == redis::resp_type::simple_string;
    auto found = text ? redis::read_marker(reply.text) : std::nullopt;
    if (found) {
        take(std::move(*found));
    } else {
        report_refusal(reply, refusal_.emplace());
        listener_.on_marker_refused(node_.index(), reply);
    }
    listener_.on_marker_settled(node_.index());
}

void marker::take(redis::marker found)
{
    if (!seen_.text.empty() && redis::lineage(seen_.text) != redis::lineage(found.text))
        known_.has_lost_data(node_.index(), environment_.loop().now());
    auto const from = excused_ ? found.since : found.placed;
    certain_since_.reset();
    if (from != std::chrono::milliseconds::zero())
        certain_since_ = environment_.loop().now() - (found.now - from);
    seen_ = std::move(found);
    text_ = seen_.text;
}

void marker::on_failure(unsigned, std::uint32_t, net::failure const&)
{
    awaited_ = false;
    listener_.on_marker_settled(node_.index());
}

} // namespace redlock::detail
