// SPDX-License-Identifier: BSL-1.0
#include "core/admission.hpp"
#include "core/memory.hpp"
#include "engine/node_group.hpp"
#include "engine/replies.hpp"
#include <redlock/observer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

// Decides on which nodes' memory a lock may rely (docs/protocol.md, rules N2 to N7 and F6).
namespace redlock::detail {

std::optional<net::failure> node_group::disqualification(unsigned node)
{
    return admissions_.disqualification(node, *nodes_[node], environment_.loop().now());
}

bool node_group::is_certain(unsigned node)
{
    return !core::quarantined_until(admissions_.certain_since(node), admissions_.longest_quarantine(),
                                    environment_.loop().now());
}

// rule N7
bool node_group::was_set_forward(unsigned node)
{
    if (!admissions_.was_set_forward(node, *nodes_[node], environment_.loop().now()))
        return false;
    certain_.erase(node);
    quarantines_[node].reset(); // the reported one was another
    (void)tell_longest_quarantine(node);
    return true;
}

void node_group::require_markers()
{
    for (auto const& its : markers_)
        its->require();
}

/// A fenced vote is not sent before the node's marker is known, which identifies its data set.
void node_group::connect_for(lock_descriptor const& lock)
{
    bool const marked = lock.config->kind.marked;
    if (marked || ready() != size())
        connect();
    if (marked)
        require_markers();
}

bool node_group::awaits_voters(lock_descriptor const& lock) const
{
    if (unsettled() == 0)
        return false;
    return !has_majority(lock) || (lock.config->kind.marked && has_newcomers());
}

// rules N5 and F6
void node_group::on_marker_settled(unsigned node)
{
    --marking_;
    certain_.erase(node);                   // the marker may have made it uncertain
    if (states_[node] != node_state::ready) // it has failed with its connection
        return;
    if (admissions_.has_unknown_past(node)) {
        if (marker const& its = *markers_[node]; !its.text().empty() && its.certain_since())
            admissions_.learn_past(node, *its.certain_since());
    }
    tell_node(node, true);
    listener_.on_nodes_changed();
}

core::duration node_group::quarantine_for(lock_descriptor const& lock) const
{
    return core::quarantine_length(
        std::max(lock.key->longest_key_life(), environment_.settings().longest_ttl));
}

bool node_group::is_quarantined(unsigned node, lock_descriptor const& lock) const
{
    return quarantined_until(node, lock).has_value();
}

/// Returns since when the marker has been certain. Only some kinds use it.
std::optional<core::instant> node_group::marked_since(unsigned node, lock_descriptor const& lock) const
{
    return lock.config->kind.marked ? markers_[node]->certain_since() : std::nullopt;
}

// rules N4 and F6
std::optional<core::instant> node_group::quarantined_until(unsigned node, lock_descriptor const& lock) const
{
    auto const since = core::later(admissions_.certain_since(node), marked_since(node, lock));
    return core::quarantined_until(since, quarantine_for(lock), environment_.loop().now());
}

/// A fenced lock asks only nodes whose marker is known (rule F6). Every lock asks only nodes whose memory has been
/// certain for long enough. A node that is being connected is admitted again once it is connected.
// rules N4 and K1
bool node_group::admit(unsigned node, lock_descriptor const& lock, node_report& row)
{
    if (!nodes_[node]->ensure_can_send()) {
        report_failure(nodes_[node]->last_failure(), row);
        return false;
    }
    if (lock.config->kind.marked && !knows_marker(node, row))
        return false;
    return nodes_[node]->state() != node_state::ready || admitted(lock).contains(node) ||
           has_waited(node, lock, row);
}

void node_group::explain(unsigned node, lock_descriptor const& lock, node_report& row)
{
    if (states_[node] == node_state::ready)
        return void(has_waited(node, lock, row));
    net::failure const& last = nodes_[node]->last_failure();
    bool const has_failed = !last.detail.empty() || states_[node] != node_state::connecting;
    has_failed ? report_failure(last, row) : report_connecting(row);
}

/// A marker that was missed is asked for again.
bool node_group::knows_marker(unsigned node, node_report& row)
{
    markers_[node]->require();
    if (nodes_[node]->state() == node_state::ready && !markers_[node]->text().empty())
        return true;
    markers_[node]->explain(row);
    return false;
}

bool node_group::has_waited(unsigned node, lock_descriptor const& lock, node_report& row)
{
    auto const until = quarantined_until(node, lock);
    if (!until) {
        if (quarantines_[node] && core::surely_reached(*quarantines_[node], environment_.loop().now()))
            end_quarantine(node);
        note_certain(node);
        return true;
    }
    row.result = node_result::quarantined;
    row.remaining = quarantine_left(*until, environment_.loop().now());
    describe(row, [&] { return quarantine_of(node, lock, *until).explanation(environment_.loop().now()); });
    tell_quarantine(node, lock, *until);
    return false;
}

/// A node that is certain for the longest lock stays so for all, until something happens to the node.
void node_group::note_certain(unsigned node)
{
    if (certain_for_ != admissions_.longest_quarantine())
        certain_ = {};
    certain_for_ = admissions_.longest_quarantine();
    if (is_certain(node) && !quarantines_[node])
        certain_.insert(node);
}

unsigned node_group::voters(lock_descriptor const& lock) const
{
    unsigned count = 0;
    for (unsigned i = 0; i != size(); ++i) {
        bool const known = !lock.config->kind.marked || !markers_[i]->text().empty();
        count += states_[i] == node_state::ready && known && !is_quarantined(i, lock) ? 1U : 0U;
    }
    return count;
}

std::optional<core::instant> node_group::majority_at(lock_descriptor const& lock) const
{
    core::instant const now = environment_.loop().now();
    std::array<core::duration, core::max_nodes> waits;
    std::size_t waiting = 0;
    for (unsigned i = 0; i != size(); ++i) {
        if (states_[i] != node_state::ready)
            continue;
        if (lock.config->kind.marked && markers_[i]->text().empty()) // asked again it may tell
            return {};
        if (auto const until = quarantined_until(i, lock))
            waits[waiting++] = -core::elapsed_at_least(*until, now);
    }
    unsigned const voting = voters(lock);
    unsigned const majority = core::majority(size());
    if (voting >= majority || voting + waiting < majority)
        return {};
    auto const wanted = waits.begin() + (majority - voting - 1);
    std::ranges::nth_element(waits.begin(), wanted, waits.begin() + waiting);
    return now + *wanted; // a timer ends by the clock that runs further
}

quarantine node_group::quarantine_of(unsigned node, lock_descriptor const& lock, core::instant until) const
{
    auto const own = admissions_.certain_since(node);
    auto const marked = marked_since(node, lock);
    bool const by_marker = marked && (!own || core::elapsed(*own, *marked) > core::duration::zero());
    return {by_marker ? "first met by a fenced lock, or lost its data," : admissions_.what_happened(node),
            by_marker ? *marked : own.value_or(until), until, lock.name()};
}

/// Tells the quarantine only if it ends later than all that were told of the node.
void node_group::tell_quarantine(unsigned node, lock_descriptor const& lock, core::instant until) noexcept
{
    auto& reported_until = quarantines_[node];
    if (reported_until && core::elapsed(*reported_until, until) <= core::duration::zero())
        return;
    reported_until = until;
    core::if_memory_allows([&] {
        core::instant const now = environment_.loop().now();
        auto const why = quarantine_of(node, lock, until);
        table_.enter(node, why);
        if (observer* const o = watcher())
            o->on_node({environment_.settings().names[node], node_state::quarantined, why.notice(now),
                        why.lock, quarantine_left(until, now), nodes_[node]->facts().master});
    });
}

/// Reports the longest quarantine among locks that are held or wanted now. False: all of them may rely on the node.
bool node_group::tell_longest_quarantine(unsigned node)
{
    lock_descriptor const* longest = nullptr;
    std::optional<core::instant> last;
    auto const look_at = [&](lock_descriptor const& lock) {
        auto const until = quarantined_until(node, lock);
        if (!until || (last && core::elapsed(*last, *until) <= core::duration::zero()))
            return;
        last = until;
        longest = &lock;
    };
    listener_.for_each_lock(look_at);
    if (longest)
        tell_quarantine(node, *longest, *last);
    return longest != nullptr;
}

void node_group::end_quarantine(unsigned node)
{
    quarantines_[node].reset();
    tell_node(node, true);
}

} // namespace redlock::detail
