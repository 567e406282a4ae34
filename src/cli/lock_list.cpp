// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_list.hpp"

#include "cli/answer.hpp"
#include "cli/lock_use.hpp"
#include "core/tally.hpp"
#include "kind/kind.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace redlock::cli {

using std::chrono::milliseconds;

bool is_helper(std::string_view name)
{
    auto const ends_name = [&](std::string_view kept) { return name.ends_with(kept); };
    bool const tries_rights = name == trial_name || name.ends_with(':' + std::string(trial_name));
    return tries_rights || std::ranges::any_of(kind::kept_names(), ends_name);
}

std::string scan_pattern(std::string_view beginning)
{
    constexpr std::string_view special = "*?[\\";
    std::string pattern;
    for (char const c : beginning)
        pattern.append(special.find(c) == std::string_view::npos ? "" : "\\").push_back(c);
    return pattern + '*';
}

namespace {

using views_of_name = std::vector<key_view const*>;

bool same_holder(key_view const& a, key_view const& b)
{
    return a.who == b.who && a.owner == b.owner;
}

/// Returns the views of the holder with the most nodes.
views_of_name views_of_holder(views_of_name const& all)
{
    views_of_name most;
    for (key_view const* const one : all) {
        views_of_name same;
        std::ranges::copy_if(all, std::back_inserter(same),
                             [&](key_view const* other) { return same_holder(*one, *other); });
        if (same.size() > most.size())
            most = same;
    }
    return most;
}

/// Returns the time for which a majority has the key, or the last node if fewer have it.
std::optional<milliseconds> time_left(views_of_name const& views, std::size_t majority)
{
    std::vector<milliseconds> times;
    for (key_view const* const view : views)
        times.push_back(view->left.value_or(milliseconds::max()));
    std::ranges::sort(times, std::greater());
    milliseconds const left = times.size() < majority ? times.front() : times[majority - 1];
    return left == milliseconds::max() ? std::nullopt : std::optional(left);
}

std::string_view kind_of(holder_kind who, views_of_name const& views)
{
    auto const any = [&](bool key_view::*property) {
        return std::ranges::any_of(views, [&](key_view const* view) { return view->*property; });
    };
    switch (who) {
    case holder_kind::readers: return "readers";
    case holder_kind::permits: return "permits";
    case holder_kind::maybe_readers: return "?";
    case holder_kind::owner: break;
    default: return "no lock";
    }
    if (any(&key_view::announced))
        return "leader";
    if (any(&key_view::among_readers))
        return "writer";
    return any(&key_view::fenced) ? "fenced" : "lock";
}

std::size_t sharers(views_of_name const& views, std::size_t nodes)
{
    std::int64_t readers = 0;
    taken_permits permits;
    for (key_view const* const view : views) {
        readers = std::max(readers, view->readers);
        for (auto const& [permit, votes] : view->permits)
            permits[permit].nodes += votes.nodes;
    }
    return static_cast<std::size_t>(readers) + certain(permits, nodes);
}

std::string holder_in_words(key_view const& view, std::size_t shared_by)
{
    auto const counted = [&](std::string const& what) {
        return std::to_string(shared_by) + ' ' + what + (shared_by == 1 ? "" : "s");
    };
    switch (view.who) {
    case holder_kind::owner: return beginning_of(view.owner);
    case holder_kind::readers: return counted("reader");
    case holder_kind::permits: return counted("permit");
    default: return other_holder(view.who);
    }
}

/// Adds the queues of all nodes: waiters may use several if a node was away.
std::optional<std::int64_t> waiters(views_of_name const& views)
{
    std::optional<std::int64_t> sum;
    for (key_view const* const view : views)
        if (view->waiting)
            sum = sum.value_or(0) + *view->waiting;
    return sum;
}

} // namespace

listed_lock merged(std::string_view name, std::vector<key_view const*> const& views, std::size_t nodes)
{
    auto const its = views_of_holder(views);
    key_view const& first = *its.front();
    std::size_t const shared_by = sharers(its, nodes);
    return {.name = std::string(name),
            .who = first.who,
            .kind = kind_of(first.who, views),
            .holder = holder_in_words(first, shared_by),
            .shared_by = shared_by,
            .left = time_left(its, core::majority(static_cast<unsigned>(nodes))),
            .nodes = its.size(),
            .waiting = waiters(views)};
}

lock_list merge(std::vector<keys_of_node> const& nodes, std::size_t limit)
{
    std::map<std::string_view, views_of_name> names;
    for (keys_of_node const& node : nodes)
        for (auto const& [name, view] : node)
            names[name].push_back(&view);
    lock_list list;
    for (auto const& [name, views] : names) {
        list.is_cut = list.locks.size() == limit;
        if (list.is_cut)
            break;
        list.locks.push_back(merged(name, views, nodes.size()));
    }
    return list;
}

} // namespace redlock::cli
