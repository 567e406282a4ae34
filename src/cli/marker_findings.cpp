// SPDX-License-Identifier: BSL-1.0
#include "cli/answer.hpp"
#include "cli/findings.hpp"
#include "cli/output.hpp"
#include "cli/query.hpp"
#include "core/admission.hpp"
#include "redis/info.hpp"
#include "redis/marker.hpp"
#include "redis/server_words.hpp"

#include <algorithm>
#include <utility>
#include <vector>

// The marker of fenced locks (docs/protocol.md, rule F6).
namespace redlock::cli {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// Empty if the marker was not asked to be left.
answer const* mark_reply(interview const& node, examination const& terms)
{
    return terms.prepares ? &said(node, question::mark) : nullptr;
}

/// By the server's own clock if the marker's script has run, otherwise by the earlier answer to TIME.
std::optional<redis::marker> read_marker(interview const& node, examination const& terms)
{
    if (auto const* const left = mark_reply(node, terms))
        return left->is(answer::kind::text) ? redis::read_marker(left->text) : std::nullopt;
    answer const& told = said(node, question::mget);
    if (!told.is(answer::kind::list) || told.list.size() != 3 || told.list[2].empty() || !node.ahead)
        return {};
    auto const now = std::chrono::duration_cast<milliseconds>(
        std::chrono::system_clock::now().time_since_epoch() + *node.ahead);
    return redis::read_marker(std::to_string(now.count()) + ' ' + told.list[2]);
}

/// Can the user's word be relied on that the node never forgets?
bool is_durable(interview const& node)
{
    bool const promoted = node.facts.info && node.facts.info->promoted;
    return node.called_durable && node.facts.forgetful.empty() && !promoted;
}

/// The marker's own part, and the rest of the node's youth.
std::chrono::nanoseconds fenced_wait(interview const& node, examination const& terms, milliseconds age)
{
    auto const youth = terms.client.admission.assume_fresh ? 0ns : youth_left(node, terms);
    return std::max(youth, quarantine_of(terms) - age);
}

bool stood_before(interview const& node, redis::marker const& found)
{
    answer const& before = said(node, question::mget);
    return before.is(answer::kind::list) && before.list.size() == 3 &&
           redis::lineage(before.list[2]) == redis::lineage(found.text);
}

} // namespace

std::chrono::nanoseconds quarantine_of(examination const& terms)
{
    return core::quarantine_length(terms.client.admission.longest_ttl.value_or(terms.key_ttl));
}

std::string for_which_locks(examination const& terms)
{
    return terms.client.admission.longest_ttl > 0ns ? " (by --longest-ttl)"
                                                    : " (for a ttl of " + seconds(terms.ttl) + ')';
}

std::chrono::nanoseconds waited_out(interview const& node, examination const& terms)
{
    auto const life = redis::incarnation(node.facts);
    auto const marker = read_marker(node, terms);
    return marker && !life.empty() && marker->text.starts_with(life + '/') ? marker->now - marker->placed
                                                                           : 0ms;
}

void ask_for_marker(questions& all, std::string const& key_prefix, interview const& node,
                    std::string_view lineage)
{
    auto const info = node.facts.info.value_or(redis::server_info{});
    // INFO's uptime is in whole seconds; it does not tell since when a promoted server keeps its data (rule N5).
    std::optional<milliseconds> age = info.promoted ? 0s : std::max(info.uptime.value_or(0s) - 1s, 0s);
    if (is_durable(node))
        age.reset();
    std::string const life = redis::incarnation(node.facts);
    redis::append_mark(all.bytes, {.key_prefix = key_prefix,
                                   .incarnation = life,
                                   .lineage = lineage.substr(0, 8),
                                   .certain_for = age,
                                   .absence_is_excused = false,
                                   .seen = {}});
    ++all.count;
}

std::optional<marker_state> marker_of(interview const& node, examination const& terms)
{
    if (node.failed || is_strange(node) || said(node, question::mget).refused())
        return {};
    bool const answered_for = terms.client.admission.assume_fresh || is_durable(node);
    auto const found = read_marker(node, terms);
    if (!found && mark_reply(node, terms))
        return {};
    if (!found)
        return marker_state{false, false, 0ms, answered_for ? 0ns : fenced_wait(node, terms, 0ms)};
    auto const from = answered_for ? found->since : found->placed; // as the library does
    auto const age = found->now - from;
    return marker_state{true, mark_reply(node, terms) && !stood_before(node, *found), age,
                        std::max(fenced_wait(node, terms, age), 0ns)};
}

void examine_marker(interview const& node, examination const& terms, std::vector<finding>& found)
{
    auto const add = [&](severity grade, std::string id, std::string what, std::string advice) {
        found.push_back({std::move(id), grade, node.node, std::move(what), std::move(advice)});
    };
    if (node.failed || is_strange(node))
        return;
    auto const* const left = mark_reply(node, terms);
    auto const state = marker_of(node, terms);
    if (left && !state)
        return add(severity::error, "no-marker",
                   "the marker of fenced locks cannot be left: " + redis::quote(left->text),
                   "docs/server-checklist.md, \"Rights\"");
    if (!state)
        return; // the rights have been reported already
    std::string const wait = state->wait > 0ns
                                 ? "fenced locks wait " + seconds(state->wait) + for_which_locks(terms)
                                 : "fenced locks wait for nothing";
    if (left)
        add(severity::info, "marker",
            (state->written_now ? "the marker of fenced locks was left now: "
                                : "the marker of fenced locks has stood for " + seconds(state->age) + ": ") +
                wait,
            "");
    else if (!state->exists && state->wait > 0ns)
        add(severity::info, "no-marker",
            "has no marker of fenced locks: the first fenced lock waits " + seconds(quarantine_of(terms)) +
                for_which_locks(terms),
            "redlock doctor --prepare leaves the marker now; nothing, where no lock is fenced");
    else if (quarantine_of(terms) > state->age && state->exists)
        add(severity::warning, "young-marker",
            "its marker of fenced locks is " + seconds(state->age) + " old: " + wait, "wait");
}

} // namespace redlock::cli
