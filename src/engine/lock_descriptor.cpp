// SPDX-License-Identifier: BSL-1.0
#include "engine/lock_descriptor.hpp"

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

lock_descriptor::lock_descriptor(std::shared_ptr<lock_config const> its_config,
                                 boost::intrusive_ptr<key_state> its_key)
    : config(std::move(its_config)), key(std::move(its_key))
{
    key->expect_keys(config->key_ttl);
}

void intrusive_ptr_add_ref(lock_descriptor* one) noexcept
{
    one->owners.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(lock_descriptor* one) noexcept
{
    if (one->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete one;
}

std::vector<node_outcome> lock_descriptor::last_attempt() const
{
    return key->last_attempt(config->settings.names);
}

namespace {

bool is_about_nodes(boost::system::error_code ec)
{
    return ec == errc::contended || ec == errc::timed_out || ec == errc::no_quorum || ec == errc::too_slow;
}

/// Was the attempt of this table won? Then the error is about something else: other operations of this client had the lock.
bool was_won(std::vector<node_outcome> const& table)
{
    auto const granted = std::ranges::count(table, node_result::granted, &node_outcome::result);
    return static_cast<std::size_t>(granted) >= core::majority(static_cast<unsigned>(table.size()));
}

} // namespace

lock_error lock_descriptor::explain(boost::system::error_code ec, lock_stage stage) const
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

bool same_times(lock_descriptor const& a, lock_descriptor const& b)
{
    return a.config == b.config ||
           (a.config->key_ttl == b.config->key_ttl && a.config->options.ttl == b.config->options.ttl);
}

bool same_terms(lock_descriptor const& a, lock_descriptor const& b)
{
    return same_times(a, b) && &a.config->kind == &b.config->kind &&
           a.config->kind_terms == b.config->kind_terms;
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
