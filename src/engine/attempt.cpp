// SPDX-License-Identifier: BSL-1.0
#include "engine/attempt.hpp"

#include "core/validity.hpp"
#include "redis/error_class.hpp"
#include <redlock/node_outcome.hpp>
#include <redlock/observer.hpp>

#include <boost/system/errc.hpp>

#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

// How an attempt begins and ends.
namespace redlock::detail {

attempt::attempt(runtime& on, attempt_listener& listener)
    : runtime_(on), rows_(on.nodes.size()), listener_(listener)
{}

attempt::~attempt()
{
    if (block_)
        runtime_.lease_blocks.give(block_);
}

// rule A3
boost::system::error_code attempt::provide(lock_descriptor const& lock) noexcept
{
    try {
        bool const has_permits = lock.config->kind.has_permits;
        auto const wanted = kind::permits_of(lock.config->kind_terms);
        permits_ = has_permits ? std::make_unique<kind::permit_list>(wanted) : nullptr;
        choice_ = has_permits
                      ? std::make_unique<core::permit_choice>(nodes().size(), kind::longest_list(wanted))
                      : nullptr;
        if (!rollback_)
            rollback_ = &runtime_.rollbacks.prepare();
        if (!block_)
            block_ = runtime_.lease_blocks.take();
        nonce_ = runtime_.its.fresh_nonce();
        return {};
    } catch (std::bad_alloc const&) {
        return make_error_code(boost::system::errc::not_enough_memory);
    } catch (std::runtime_error const&) {
        return errc::no_randomness;
    }
}

// rule Q10
void attempt::start(lock_ptr const& lock, bool meeting_node_first, std::string_view given_up)
{
    previous_owner_.reset();
    given_up_ = given_up;
    begin(lock);
    heed_queue_node();
    auto const first = meeting_node_first ? runtime_.registry.meeting_node(*lock_) : std::nullopt;
    first ? ask_meeting_node_first(*first) : ask_all();
}

// rules Q6 and K6
void attempt::claim(lock_ptr const& lock, remote_handoff const& handed)
{
    nonce_ = handed.next_owner;
    previous_owner_ = handed.previous_owner;
    claimed_name_ = handed.which;
    begin(lock);
    if (choice_)
        choice_->claim(handed.permits);
    claim_.emplace(votes_.sent(), handed.window, runtime_.round_trip());
    ask_all();
}

/// If the node where others may be queued refuses, the attempt is lost, even with a majority of grants. So it does not
/// overtake them (rule Q10). That node also chooses the permits (rule Q14).
void attempt::heed_queue_node()
{
    if (!type().heeds())
        return;
    auto const node = runtime_.registry.meeting_node(*lock_);
    if (node)
        votes_.heed(*node);
    if (choice_)
        choice_->ask_for_any(node);
}

void attempt::begin(lock_ptr const& lock)
{
    lock_ = lock;
    config_ = lock_->config.get();
    open_round();
    open_ = true;
    claim_.reset();
    pauses_ = paused_ = false;
    heeds_since_.reset();
    meeting_node_first_ = false;
    asked_ = queued_ = held_by_others_ = {};
    if (choice_)
        start_ = static_cast<std::uint16_t>(runtime_.loop().machine().random_bits() %
                                            kind::permits_of(config_->kind_terms).limit);
    if (type().counts())
        proposal_ = core::proposal(lock_->key->highest_number(), runtime_.loop().machine().wall_clock());
    votes_ = core::attempt(type().agreement, nodes().size(), runtime_.loop().now());
    for (unsigned i = 0; i != rows_.size() && rows_written_; ++i)
        rows_[i].clear();
    rows_written_ = false;
}

// rule V4
void attempt::time_out()
{
    if (auto const then = stop_awaiting_chooser(); then != step::pending)
        return act_on(then);
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (votes_.awaits(i)) {
            row_of(i).result = node_result::timed_out;
            tell_vote(i, rows_[i]);
        }
    act_on(votes_.time_out());
}

void attempt::expire()
{
    if (pauses_)
        return claim_again();
    if (core::reached(votes_.sent() + config_->node_timeout, runtime_.loop().now())) {
        if (is_behind_other_commands())
            runtime_.limit.too_many(votes_.sent());
        return time_out();
    }
    if (meeting_node_first_) { // and silent
        paused_ = true;
        return ask_all();
    }
    await_answers(); // others may be asked once more
    act_on(choice_ ? stop_awaiting_chooser() : votes_.heed_no_longer());
}

/// Has a node sent anything since this attempt's votes, but no answer to them? Then too many commands are before them.
bool attempt::is_behind_other_commands() const
{
    for (unsigned i = 0; i != nodes().size(); ++i)
        if (votes_.awaits(i) && !core::reached(nodes().at(i).heard(), votes_.sent()))
            return true;
    return false;
}

void attempt::act_on(step what)
{
    if (what == step::pending && choice_)
        what = settle_permits();
    switch (what) {
    case step::pending: return;
    case step::heeding: return await_queue_node();
    case step::write_back: return write_back();
    case step::won: return decide_won();
    case step::lost: return decide_lost();
    }
}

/// Decided, or given up.
void attempt::close()
{
    runtime_.loop().suspend(*this);
    open_ = false;
}

// rule V5
void attempt::decide_won()
{
    close();
    if (too_late(runtime_.loop().now()))
        return listener_.on_lost(errc::too_slow);
    runtime_.limit.won();
    listener_.on_won();
}

void attempt::decide_lost()
{
    if (will_claim_again())
        return;
    close();
    listener_.on_lost(votes_.contended(unreached()) ? errc::contended : errc::no_quorum);
}

bool attempt::too_late(core::instant now) const
{
    return core::reached(core::deadline(votes_.sent(), config_->terms.ttl), now);
}

core::node_set attempt::reached() const
{
    core::node_set found = asked_;
    found.erase(held_by_others_);
    found.erase(unreached());
    return found;
}

/// Returns the nodes where the vote still waits for a connection.
core::node_set attempt::unreached() const
{
    core::node_set found;
    for (unsigned i = 0; i != nodes().size() && !queued_.empty(); ++i)
        if (queued_.contains(i) && nodes().at(i).state() != node_state::ready)
            found.insert(i);
    return found;
}

// rules A6 and Q5
core::node_set attempt::roll_back()
{
    if (!open_ || !has_only_begun()) // the answers to the attempt before say more
        lock_->key->publish(all_rows());
    close();
    choice_.reset();
    core::node_set perhaps = asked_;
    if (!type().several || !claims()) // A node keeps one name for us, though it refuses another.
        perhaps.erase(held_by_others_);
    if (perhaps.empty())
        return {};
    constexpr core::fence no_term = 0; // another leader may have the term that we proposed (rule EL2)
    // A vote may wait for a connection before it is executed.
    core::instant const expires = votes_.sent() + runtime_.its.settings().connect_timeout + config_->key_ttl;
    // A name that was handed over goes on to the next (rule Q19).
    auto const passed = claims() ? lock_->key->name_at(claimed_name_).contention.passing.lasted(votes_.sent())
                                 : core::duration::zero();
    runtime_.rollbacks.start(*std::exchange(rollback_, nullptr),
                             {{lock_->key, &type(), nonce_, no_term}, expires, {}, passed}, perhaps,
                             reached());
    return perhaps;
}

std::vector<node_report>& attempt::all_rows()
{
    rows_written_ = true; // older rows come back from the key
    core::node_set const granted = type().counts() ? core::node_set() : votes_.holders();
    for (unsigned i = 0; i != rows_.size(); ++i)
        if (granted.contains(i) && rows_[i].result == node_result::pending)
            row_of(i).result = node_result::granted;
    return rows_;
}

void attempt::tell_of_nodes(lock_descriptor const& lock)
{
    for (unsigned i = 0; i != nodes().size(); ++i) {
        row_of(i).clear();
        nodes().explain(i, lock, rows_[i]);
    }
    lock.key->publish(rows_);
}

boost::intrusive_ptr<held_lease> attempt::make_lease(lock_ptr const& lock, unsigned attempts,
                                                     core::duration waited)
{
    rows_written_ ? lock_->key->publish_success(all_rows()) : lock_->key->publish_grants(votes_.holders());
    if (permits_)
        permits_->assign(choice_->set());
    lease_ = ::new (std::exchange(block_, nullptr))
        held_lease(lock, nonce_, votes_, reached(), attempts, waited, std::move(permits_));
    lease_->begin();
    return lease_;
}

void attempt::finish()
{
    if (block_)
        runtime_.lease_blocks.give(std::exchange(block_, nullptr));
}

void attempt::discard()
{
    auto const lock = std::move(lock_);
    lease_.reset();
}

/// The program may learn a new password later than the server: it is asked again at each connection.
bool attempt::may_be_told_another(unsigned node, server_error error) const
{
    bool const of_password = error == server_error::wrongpass || error == server_error::noauth;
    return of_password && runtime_.its.settings().peers[node]->credentials_provider != nullptr;
}

core::node_census attempt::census() const
{
    core::node_census found{.nodes = nodes().size()};
    for (unsigned i = 0; i != rows_.size(); ++i) {
        node_report const& row = rows_[i];
        bool const refused = row.result == node_result::refused;
        found.quarantined += row.result == node_result::quarantined ? 1U : 0U;
        found.voting += detail::votes(row) ? 1U : 0U;
        found.broken +=
            refused && redis::permanent(row.error) && !may_be_told_another(i, row.error) ? 1U : 0U;
    }
    return found;
}

bool attempt::hears_too_few() const
{
    core::attempt so_far = votes_;
    return so_far.time_out() == step::lost && !so_far.contended() && !is_young();
}

bool attempt::has_only_begun() const
{
    core::attempt so_far = votes_;
    return so_far.time_out() == step::lost && is_young();
}

/// Nodes can hardly have answered yet.
bool attempt::is_young() const
{
    return core::elapsed(votes_.sent(), runtime_.loop().now()) < config_->node_timeout / 8;
}

void attempt::tell_vote(observer& watcher, unsigned node, node_report const& row) const
{
    if (row.result == node_result::pending)
        return;
    std::chrono::microseconds const round_trip{row.round_trip_us};
    watcher.on_vote({lock_->name(), runtime_.its.settings().names[node], false, row.result, round_trip,
                     row.error, row.words()});
}

} // namespace redlock::detail
