#include "engine/marker.hpp"

#include "engine/node_group.hpp"
#include "engine/replies.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace redlock::detail {

void marker::require()
{
    if (group_.at(node_).state() != node_state::ready)
        return;
    if (std::exchange(stale_, false))
        return group_.at(node_).renew();
    if (awaited_ || !text_.empty() || refusal_ || !group_.at(node_).usable_now())
        return;
    try {
        ask();
    } catch (std::exception const&) { // no memory, or no randomness: it stays unknown
    }
}

void marker::ask()
{
    net::node& node = group_.at(node_);
    // Whose user answers for a promotion answers for himself: others go by when the marker was placed.
    auto const since =
        group_.known().trusts_promotion(node_, node) ? std::nullopt : group_.known().certain_since(node_);
    nonce const drawn = group_.surroundings().fresh_nonce();
    redis::mark_call call{.key_prefix = group_.surroundings().settings().key_prefix,
                          .incarnation = node.incarnation(),
                          .lineage = drawn.text().substr(0, 8),
                          .certain_for = {},
                          .absence_is_excused = group_.known().excuses_absence(node_, node),
                          .seen = seen_};
    if (since)
        call.certain_for = std::chrono::floor<std::chrono::milliseconds>(
            core::remaining(group_.surroundings().loop().now(), *since)); // on the slower clock
    std::string command;
    redis::append_mark(command, call);
    node.output().append(command);
    excused_ = !since;
    awaited_ = true;
    group_.marker_asked();
    node.expect(*this, 0);
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
    if (awaited_ || !refusal_) {
        row.result = node_result::unreachable;
        return describe(row, [] { return "still connecting"; });
    }
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
        group_.note(node_, "marker", reply);
    }
    group_.marker_settled(node_);
}

void marker::take(redis::marker found)
{
    if (!seen_.text.empty() && redis::lineage(seen_.text) != redis::lineage(found.text))
        group_.known().has_lost_data(node_, group_.surroundings().loop().now());
    auto const from = excused_ ? found.since : found.placed;
    certain_since_.reset();
    if (from != std::chrono::milliseconds::zero())
        certain_since_ = group_.surroundings().loop().now() - (found.now - from);
    seen_ = std::move(found);
    text_ = seen_.text;
}

void marker::on_failure(unsigned, std::uint32_t, net::failure const&)
{
    awaited_ = false;
    group_.marker_settled(node_);
}

} // namespace redlock::detail
