// SPDX-License-Identifier: BSL-1.0
#include "engine/inspector.hpp"

#include "core/memory.hpp"
#include "core/tally.hpp"
#include "engine/key_queue.hpp"
#include "engine/lock_descriptor.hpp"
#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace redlock::detail {

namespace {

/// The resolution of an expiry on a server.
constexpr core::duration resolution = std::chrono::milliseconds{1};

} // namespace

inspector::inspector(runtime& on, pool<inspector>& home)
    : runtime_(on), home_(home), rows_(on.nodes.size()), found_(on.nodes.size())
{}

void inspector::start(lock_ptr lock, handler_type handler)
{
    lock_ = std::move(lock);
    handler_ = std::move(handler);
    phase_ = phase::asking;
    std::ranges::generate(rows_, [] { return node_report(); });
    std::ranges::fill(found_, finding());
    highest_number_ = 0;
    known_ = 0;
    type_ = &lock_->config->kind;
    asked_again_ = {};
    asked_for_readers_ = {};
    runtime_.life.begin_inspection(*this);
    if (runtime_.life.closing())
        return finish(make_error_code(errc::shut_down));
    sent_ = runtime_.loop().now();
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (nodes().at(i).ensure_can_release()) // a quarantined node, too: to read is no vote
            ask(i);
        else
            report_failure(nodes().at(i).last_failure(), rows_[i]);
    connecting_ = !connected_to_majority();
    auto const connecting = connecting_ ? runtime_.its.settings().connect_timeout : core::duration::zero();
    runtime_.loop().schedule_after(*this, connecting + lock_->config->node_timeout);
    if (drained())
        on_drained();
}

bool inspector::connected_to_majority() const
{
    return nodes().ready() >= core::majority(nodes().size());
}

/// The owner first: what is told of the time is then never older.
void inspector::ask(unsigned node)
{
    for (kind::request const what : type().inspection)
        send(node, what);
}

void inspector::on_answer(node_answer const& got)
{
    if (phase_ != phase::asking)
        return;
    switch (got.what) {
    case kind::request::owner:
        return take_owner(got.node, type().read_observation(got.what, got.reply), got.reply);
    case kind::request::whose:
        return void(take_holder(got.node, type().read_observation(got.what, got.reply)));
    case kind::request::time_left:
        return take_time_left(got.node, type().read_observation(got.what, got.reply));
    default: highest_number_ = std::max(highest_number_, got.answer.number);
    }
}

void inspector::on_silence(unsigned node, kind::request what, bool, net::failure const& why)
{
    if (phase_ == phase::asking && what == kind::request::owner)
        ask_again_or_report(node, why);
}

/// When a node is quarantined, all commands that wait for it fail, questions too. A question is no vote, so it is asked
/// once more.
void inspector::ask_again_or_report(unsigned node, net::failure const& why)
{
    if (why.result != node_result::quarantined || asked_again_.contains(node) ||
        !nodes().at(node).ensure_can_release())
        return report_failure(why, rows_[node]);
    asked_again_.insert(node);
    ask(node);
}

/// Connecting is waited for until a majority has answered. From then on the other nodes have one node timeout left.
void inspector::take_owner(unsigned node, kind::key_observation const& seen, redis::resp_node const& reply)
{
    node_report& row = rows_[node];
    auto const took = core::elapsed(sent_, runtime_.loop().now());
    row.round_trip_us = static_cast<std::uint32_t>(took / std::chrono::microseconds{1});
    if (!take_holder(node, seen))
        return report_refusal(reply, row);
    if (++known_ == core::majority(nodes().size()) && std::exchange(connecting_, false))
        runtime_.loop().schedule_after(*this, lock_->config->node_timeout);
}

/// False: it does not say, and what was known stays.
bool inspector::take_holder(unsigned node, kind::key_observation const& seen)
{
    using kind = core::key_answer::kind;
    finding& found = found_[node];
    node_report& row = rows_[node];
    if (seen.gone) {
        found_absent(node);
        return true;
    }
    if (seen.who == holder_kind::unknown)
        return false;
    found.ours = seen.nonce && key_queue::of(*lock_).held_by(*seen.nonce);
    found.key.owner = seen.nonce ? std::hash<std::string_view>()(*seen.nonce) : 0;
    bool const several = seen.who == holder_kind::readers || seen.who == holder_kind::permits;
    found.key.what = seen.nonce ? kind::owned : several ? kind::several : kind::no_lock;
    row.result = found.ours ? node_result::granted : node_result::held_by_other;
    row.note(seen.who, seen.owner, {}, false);
    return true;
}

/// Without the right to ask, the time alone is not known.
void inspector::take_time_left(unsigned node, kind::key_observation const& seen)
{
    if (seen.gone)
        return found_absent(node); // between the two questions
    found_[node].read = runtime_.loop().now();
    found_[node].immortal = seen.immortal;
    node_report& row = rows_[node];
    if (row.result == node_result::refused)
        return;
    row.remaining = seen.left;
    row.immortal = seen.immortal && row.result == node_result::held_by_other;
    if (row.holder == holder_kind::maybe_readers && seen.left)
        ask_for_readers(node);
}

/// GET cannot tell readers from any other data. The time is asked for again, so that this time is the readers'.
// rule S4
void inspector::ask_for_readers(unsigned node)
{
    if (asked_for_readers_.contains(node) || !nodes().at(node).ensure_can_release())
        return;
    asked_for_readers_.insert(node);
    send_in_full(node, kind::request::whose);
    send(node, kind::request::time_left);
}

void inspector::found_absent(unsigned node)
{
    found_[node].key = core::absent_key;
    found_[node].ours = false;
    node_report row;
    row.result = node_result::free;
    row.round_trip_us = rows_[node].round_trip_us;
    rows_[node] = std::move(row);
}

/// A node that has not answered by now does not count.
void inspector::expire()
{
    if (phase_ != phase::asking)
        return;
    for (node_report& row : rows_)
        if (row.result == node_result::pending)
            row.result = node_result::timed_out;
    finish({});
}

void inspector::on_drained()
{
    if (phase_ == phase::asking)
        finish({});
    recycle_if_drained();
}

void inspector::cancel(std::uint32_t generation)
{
    if (generation == generation_)
        abort(boost::asio::error::operation_aborted);
}

void inspector::abort(boost::system::error_code ec)
{
    if (phase_ == phase::asking)
        finish(ec);
}

void inspector::finish(boost::system::error_code ec)
{
    runtime_.loop().cancel(*this);
    phase_ = phase::finished;
    result_ = ec;
    runtime_.loop().enqueue(static_cast<net::task&>(*this));
}

void inspector::discard()
{
    phase_ = phase::draining;
    auto const handler = std::move(handler_);
    auto const lock = std::move(lock_);
}

/// Recycles the object first, unless replies are on their way, because the handler may start the next operation. The
/// turn keeps the engine alive.
void inspector::run()
{
    if (phase_ != phase::finished)
        return;
    boost::system::error_code ec = result_;
    inspection found;
    if (!ec && !core::if_memory_allows([&] { found = report(); }))
        ec = make_error_code(boost::system::errc::not_enough_memory);
    if (!ec && found.status == lock_status::unknown)
        ec = make_error_code(errc::no_quorum);
    auto handler = std::move(handler_);
    auto const lock = std::move(lock_);
    ++generation_;
    runtime_.life.end_inspection(*this);
    phase_ = phase::draining;
    recycle_if_drained();
    handler(ec, std::move(found));
}

/// The server named the time left after `sent_` and before `found.read`. So at most what has passed since `sent_` is to
/// be subtracted, and at least what has passed since `found.read`.
core::key_answer inspector::aged(unsigned node, core::instant now) const
{
    finding const& found = found_[node];
    core::key_answer key = found.key;
    auto const not_negative = [](core::duration d) { return std::max(d, core::duration::zero()); };
    if (found.immortal)
        key.lives_at_least = core::duration::max();
    auto const left = rows_[node].remaining;
    if (!left || key.what == core::key_answer::kind::unknown)
        return key;
    key.lives_at_least = not_negative(*left - resolution - core::elapsed(sent_, now));
    key.lives_at_most = not_negative(*left + resolution - core::elapsed(found.read, now));
    return key;
}

/// On a majority of the nodes.
holder_kind inspector::holder_of(core::lock_verdict const& verdict) const
{
    bool const several = found_[verdict.witness].key.what == core::key_answer::kind::several;
    if (verdict.status == lock_status::held)
        return several ? rows_[verdict.witness].known_holder() : holder_kind::owner;
    for (holder_kind const who : {holder_kind::maybe_readers, holder_kind::no_lock})
        if (std::ranges::count(rows_, who, &node_report::known_holder) >= core::majority(nodes().size()))
            return who;
    return holder_kind::unknown;
}

inspection inspector::report() const
{
    core::instant const now = runtime_.loop().now();
    std::array<core::key_answer, core::max_nodes> keys;
    for (unsigned i = 0; i != nodes().size(); ++i)
        keys[i] = aged(i, now);
    auto const verdict = core::judge({keys.data(), nodes().size()});
    inspection found{.status = verdict.status, .votes = verdict.votes, .free = verdict.free};
    found.node_table = to_table(rows_, runtime_.its.settings().names);
    found.holder = holder_of(verdict);
    if (found.holder == holder_kind::owner) {
        found.owner = found.node_table[verdict.witness].owner;
        found.ours = found_[verdict.witness].ours;
    }
    found.expires_after = verdict.taken_at_least;
    found.expires_within = verdict.taken_at_most;
    found.last_token = core::fencing_token(highest_number_);
    return found;
}

void inspector::recycle_if_drained()
{
    if (phase_ != phase::draining || !drained())
        return;
    phase_ = phase::idle;
    home_.recycle(*this);
}

} // namespace redlock::detail
