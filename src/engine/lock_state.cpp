// SPDX-License-Identifier: BSL-1.0
#include "engine/lock_state.hpp"

#include "core/tally.hpp"
#include "engine/configuration.hpp"
#include "engine/node_report.hpp"
#include "engine/words.hpp"
#include "redis/server_words.hpp"
#include <redlock/detail/error_access.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace redlock::detail {

lock_state::lock_state(std::shared_ptr<lock_plan const> its_plan, boost::intrusive_ptr<key_state> key)
    : plan(std::move(its_plan)), wanted(std::move(key))
{
    wanted->expect_keys(plan->key_ttl);
}

std::string const& lock_state::name() const
{
    return wanted->name();
}

redis::lock_key lock_state::key() const
{
    return wanted->key();
}

std::vector<node_outcome> lock_state::last_attempt() const
{
    return wanted->last_attempt(plan->settings.names);
}

namespace {

bool is_about_nodes(boost::system::error_code ec)
{
    return ec == errc::contended || ec == errc::timed_out || ec == errc::no_quorum || ec == errc::too_slow;
}

/// Then it is not what the error tells of: others of this client had the lock.
bool was_won(std::vector<node_outcome> const& table)
{
    auto const granted = std::ranges::count(table, node_result::granted, &node_outcome::result);
    return static_cast<std::size_t>(granted) >= core::majority(static_cast<unsigned>(table.size()));
}

} // namespace

lock_error lock_state::explain(boost::system::error_code ec, lock_stage stage) const
{
    auto table = is_about_nodes(ec) ? last_attempt() : std::vector<node_outcome>();
    std::string text = title(name()) + ": " + ec.message();
    if (ec != errc::too_slow && !table.empty() && was_won(table)) {
        text += "; won by another operation of this client";
        table.clear();
    }
    if (!table.empty())
        text += ": " + to_string(table);
    return error_access::make(ec, std::move(text), std::move(table), {}, name(), loss_cause::none, stage);
}

bool same_times(lock_state const& a, lock_state const& b)
{
    return a.plan == b.plan ||
           (a.plan->key_ttl == b.plan->key_ttl && a.plan->options.ttl == b.plan->options.ttl);
}

bool same_terms(lock_state const& a, lock_state const& b)
{
    return same_times(a, b) && &a.plan->kind == &b.plan->kind && a.plan->kind_terms == b.plan->kind_terms;
}

namespace {

std::string owner_text(std::uint64_t id)
{
    std::string text(sizeof id, '\0');
    std::memcpy(text.data(), &id, sizeof id);
    text.resize(std::min(text.find('\0'), text.size()));
    return redis::printable(text);
}

} // namespace

std::vector<node_outcome> to_table(std::vector<node_report> const& rows,
                                   std::vector<std::string> const& names,
                                   std::span<std::string const> several)
{
    std::vector<node_outcome> table;
    for (std::size_t i = 0; i != rows.size(); ++i) {
        node_report const& row = rows[i];
        node_outcome out{names[i], row.result, row.error, std::string(row.words()), row.remaining, {}};
        out.owner = owner_text(row.owner);
        out.holder = row.known_holder();
        if (row.which < several.size() && row.result == node_result::held_by_other)
            out.resource = several[row.which];
        if (row.round_trip_us != 0)
            out.round_trip = std::chrono::microseconds{row.round_trip_us};
        table.push_back(std::move(out));
    }
    return table;
}

} // namespace redlock::detail
