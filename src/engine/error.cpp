// SPDX-License-Identifier: BSL-1.0
#include "engine/in_words.hpp"
#include "engine/words.hpp"
#include "redis/server_words.hpp"
#include <redlock/error.hpp>
#include <redlock/inspection.hpp>
#include <redlock/lease.hpp>
#include <redlock/observer.hpp>

#include <chrono>
#include <cstddef>
#include <utility>

namespace redlock {

namespace {

class category final : public boost::system::error_category {
public:
    category() : error_category(0x7c1e0f5a3b9d2468ULL) {} // equal across shared libraries

    char const* name() const noexcept override { return "redlock"; }

    std::string message(int value) const override
    {
        switch (static_cast<errc>(value)) {
        case errc::contended: return "contended";
        case errc::timed_out: return "timed out";
        case errc::no_quorum: return "no quorum";
        case errc::too_slow: return "too slow: the validity was over before a majority had granted";
        case errc::lease_lost: return "lease lost";
        case errc::released: return "released";
        case errc::misconfigured: return "misconfigured";
        case errc::shut_down: return "client shut down";
        case errc::empty_lease: return "empty lease";
        case errc::no_randomness: return "no random numbers from OpenSSL";
        case errc::forked: return "the client belongs to the parent process";
        case errc::wrong_mode: return "wrong mode: only a writer's lease is downgraded";
        }
        return "unknown redlock error " + std::to_string(value);
    }

    boost::system::error_condition default_error_condition(int value) const noexcept override
    {
        if (static_cast<errc>(value) == errc::timed_out)
            return boost::system::errc::make_error_condition(boost::system::errc::timed_out);
        return error_category::default_error_condition(value);
    }
};

/// Describes a holder that has no owner's name. Empty: the result says it.
std::string_view words_of(holder_kind who)
{
    switch (who) {
    case holder_kind::readers: return "held by readers";
    case holder_kind::waiting: return "kept for clients that came earlier";
    case holder_kind::permits: return "its permits are taken";
    case holder_kind::maybe_readers: return "held by readers or permits, or by another program's data,";
    default: return {};
    }
}

/// Returns the node's answer, without the node's name.
std::string words_of(node_outcome const& row)
{
    bool const held = row.result == node_result::held_by_other;
    std::string_view const who = held ? words_of(row.holder) : std::string_view();
    std::string text(who.empty() ? to_string(row.result) : who);
    if (row.result == node_result::quarantined && row.remaining)
        return text + " (" + row.detail + "; may vote in " + detail::in_words(*row.remaining) + ')';
    if (!row.resource.empty())
        text += " under \"" + redis::quote_name(row.resource) + '"';
    if (row.remaining)
        text += " for " + std::to_string(*row.remaining / std::chrono::milliseconds{1}) + " ms";
    if (!row.owner.empty())
        text += " (" + row.owner + "...)";
    if (!row.detail.empty() && who.empty())
        text += " (" + row.detail + ')';
    if (row.ago)
        text += ' ' + detail::in_words(*row.ago) + " ago";
    return text;
}

} // namespace

boost::system::error_category const& error_category() noexcept
{
    static category const instance;
    return instance;
}

lock_error::lock_error(boost::system::error_code code, std::string message, std::vector<node_outcome> table,
                       boost::system::error_code last_failure, std::string resource, loss_cause cause,
                       lock_stage stage)
    : system_error(code), message_(std::move(message)), resource_(std::move(resource)),
      outcomes_(std::move(table)), last_failure_(last_failure), cause_(cause), stage_(stage)
{}

lease_lost_error::lease_lost_error(lock_error told) noexcept : lock_error(std::move(told)) {}

std::string to_string(std::vector<node_outcome> const& table)
{
    if (table.empty())
        return "no node was asked";
    std::size_t granted = 0;
    std::size_t pending = 0;
    detail::shared_words others;
    for (node_outcome const& row : table) {
        if (row.result == node_result::granted)
            ++granted;
        else if (row.result == node_result::pending)
            ++pending;
        else
            others.add(row.node, words_of(row));
    }
    std::string text =
        std::to_string(granted) + " of " + std::to_string(table.size()) + " granted" + others.text();
    if (pending != 0)
        text += "; " + std::to_string(pending) + " still pending";
    return text;
}

std::string_view to_string(errc error) noexcept
{
    switch (error) {
    case errc::contended: return "contended";
    case errc::timed_out: return "timed_out";
    case errc::no_quorum: return "no_quorum";
    case errc::too_slow: return "too_slow";
    case errc::lease_lost: return "lease_lost";
    case errc::released: return "released";
    case errc::misconfigured: return "misconfigured";
    case errc::shut_down: return "shut_down";
    case errc::empty_lease: return "empty_lease";
    case errc::no_randomness: return "no_randomness";
    case errc::forked: return "forked";
    case errc::wrong_mode: return "wrong_mode";
    }
    return "unknown";
}

std::string_view to_string(node_result result) noexcept
{
    switch (result) {
    case node_result::pending: return "pending";
    case node_result::granted: return "granted";
    case node_result::held_by_other: return "held by another";
    case node_result::timed_out: return "timed out";
    case node_result::unreachable: return "unreachable";
    case node_result::refused: return "refused";
    case node_result::quarantined: return "quarantined";
    case node_result::free: return "free";
    }
    return "unknown";
}

std::string_view to_string(holder_kind who) noexcept
{
    switch (who) {
    case holder_kind::unknown: return "unknown";
    case holder_kind::owner: return "owner";
    case holder_kind::readers: return "readers";
    case holder_kind::waiting: return "waiting";
    case holder_kind::permits: return "permits";
    case holder_kind::maybe_readers: return "maybe_readers";
    case holder_kind::no_lock: return "no_lock";
    }
    return "unknown";
}

std::string_view to_string(lock_status status) noexcept
{
    switch (status) {
    case lock_status::unknown: return "unknown";
    case lock_status::free: return "free";
    case lock_status::held: return "held";
    case lock_status::blocked: return "blocked";
    }
    return "unknown";
}

std::string_view to_string(node_state state) noexcept
{
    switch (state) {
    case node_state::idle: return "idle";
    case node_state::connecting: return "connecting";
    case node_state::ready: return "ready";
    case node_state::down: return "down";
    case node_state::quarantined: return "quarantined";
    }
    return "unknown";
}

std::string_view to_string(lease_state state) noexcept
{
    switch (state) {
    case lease_state::empty: return "empty";
    case lease_state::held: return "held";
    case lease_state::suspect: return "suspect";
    case lease_state::lost: return "lost";
    case lease_state::released: return "released";
    }
    return "unknown";
}

std::string_view to_string(lease_end end) noexcept
{
    switch (end) {
    case lease_end::released: return "released";
    case lease_end::lost: return "lost";
    case lease_end::shut_down: return "shut_down";
    case lease_end::forked: return "forked";
    }
    return "unknown";
}

std::string_view to_string(lock_stage stage) noexcept
{
    switch (stage) {
    case lock_stage::acquiring: return "acquiring";
    case lock_stage::holding: return "holding";
    }
    return "unknown";
}

std::string_view to_string(loss_cause cause) noexcept
{
    switch (cause) {
    case loss_cause::none: return "none";
    case loss_cause::expired: return "expired";
    case loss_cause::refused: return "refused";
    case loss_cause::stalled: return "stalled";
    case loss_cause::max_hold: return "max_hold";
    case loss_cause::forked: return "forked";
    }
    return "unknown";
}

std::string_view to_string(lease_event::kind what) noexcept
{
    switch (what) {
    case lease_event::kind::acquired: return "acquired";
    case lease_event::kind::renewed: return "renewed";
    case lease_event::kind::renewal_failed: return "renewal failed";
    case lease_event::kind::stalled: return "stalled";
    case lease_event::kind::suspect: return "suspect";
    case lease_event::kind::lost: return "lost";
    case lease_event::kind::released: return "released";
    case lease_event::kind::handed_over: return "handed over";
    case lease_event::kind::detached: return "detached";
    case lease_event::kind::downgraded: return "downgraded";
    }
    return "unknown";
}

std::string_view to_string(warning_event::kind what) noexcept
{
    switch (what) {
    case warning_event::kind::even_nodes: return "even nodes";
    case warning_event::kind::same_server: return "same server";
    case warning_event::kind::has_replicas: return "has replicas";
    case warning_event::kind::quarantine: return "quarantine";
    }
    return "unknown";
}

observer::~observer() = default;

} // namespace redlock
