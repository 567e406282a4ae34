// SPDX-License-Identifier: BSL-1.0
#include "engine/attempt_table.hpp"

#include "core/memory.hpp"

#include <algorithm>
#include <cstddef>

namespace redlock::detail {

namespace {

bool says_more_than_a_grant(node_report const& row)
{
    return row.result != node_result::granted && row.result != node_result::pending;
}

core::node_set grants(std::vector<node_report> const& rows)
{
    core::node_set granted;
    for (unsigned i = 0; i != rows.size(); ++i)
        if (rows[i].result == node_result::granted)
            granted.insert(i);
    return granted;
}

std::vector<node_report> rows_of(core::node_set granted, std::size_t nodes)
{
    std::vector<node_report> rows(nodes);
    for (unsigned i = 0; i != nodes; ++i)
        if (granted.contains(i))
            rows[i].result = node_result::granted;
    return rows;
}

} // namespace

attempt_table::table& attempt_table::make_table()
{
    if (!table_)
        table_ = std::make_unique<table>();
    return *table_;
}

void attempt_table::publish_success(std::mutex& guard, std::vector<node_report>& rows) noexcept
{
    if (std::ranges::any_of(rows, says_more_than_a_grant))
        return publish(guard, rows);
    publish_grants(guard, grants(rows));
}

void attempt_table::publish_grants(std::mutex& guard, core::node_set granted) noexcept
{
    granted_.store(granted, std::memory_order_relaxed);
    if (!has_table()) // written here alone
        return;
    std::scoped_lock const held(guard);
    table().swap(*table_);
}

void attempt_table::publish(std::mutex& guard, std::vector<node_report>& rows) noexcept
{
    std::scoped_lock const held(guard);
    bool const published = core::if_memory_allows([&] {
        table& mine = make_table();
        mine.resize(rows.size());
        mine.swap(rows);
    });
    if (!published) // no table rather than that of an earlier success
        granted_.store({}, std::memory_order_relaxed);
}

void attempt_table::note_holder(std::mutex& guard, unsigned node, unsigned nodes,
                                kind::key_observation const& seen) noexcept
{
    if (seen.who == holder_kind::unknown && !seen.left && !seen.immortal)
        return;
    std::scoped_lock const held(guard);
    auto const make = [&] { make_table() = rows_of(granted_.load(std::memory_order_relaxed), nodes); };
    if (!has_table() && !core::if_memory_allows(make))
        return;
    node_report& row = (*table_)[node];
    if (row.result == node_result::pending) // the attempt was decided without it
        row.result = node_result::held_by_other;
    if (row.result != node_result::held_by_other)
        return;
    row.which = seen.which & 63U;
    row.note(seen.who, seen.owner, seen.left, seen.immortal);
}

std::vector<node_outcome> attempt_table::outcomes(std::mutex& guard, std::vector<std::string> const& nodes,
                                                  std::span<std::string const> several) const
{
    std::scoped_lock const held(guard);
    if (has_table())
        return to_table(*table_, nodes, several);
    auto const granted = granted_.load(std::memory_order_relaxed);
    return granted.empty() ? std::vector<node_outcome>() : to_table(rows_of(granted, nodes.size()), nodes);
}

} // namespace redlock::detail
