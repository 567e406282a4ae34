// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/memory.hpp"
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A row of the outcome table while it is being filled: cheap to reset, and text only where something went wrong.
struct node_report {
    node_result result = node_result::pending;
    server_error error = server_error::none;
    holder_kind holder = holder_kind::unknown;
    bool immortal : 1 = false;  ///< the other's key has no expiry
    std::uint8_t which : 6 = 0; ///< index of the other owner's name, counted from zero
    std::uint32_t round_trip_us = 0;
    std::uint64_t owner = 0; ///< the first bytes of the other owner's nonce; zero: not known
    std::optional<std::chrono::milliseconds> remaining; ///< the other owner's key, or the quarantine
    std::unique_ptr<std::string const> detail;

    void clear()
    {
        result = node_result::pending;
        error = server_error::none;
        holder = holder_kind::unknown;
        immortal = false;
        which = 0;
        round_trip_us = 0;
        owner = 0;
        remaining.reset();
        detail.reset();
    }
    /// A key that never expires is no lock, and in particular no readers' lock.
    [[nodiscard]] holder_kind known_holder() const { return immortal ? holder_kind::no_lock : holder; }
    [[nodiscard]] std::string_view words() const { return detail ? *detail : words_of_holder(); }
    [[nodiscard]] std::string_view words_of_holder() const
    {
        switch (known_holder()) {
        case holder_kind::readers: return "readers have it";
        case holder_kind::waiting: return "clients that came earlier wait for it";
        case holder_kind::permits: return "its permits are taken";
        case holder_kind::maybe_readers: return "readers or permits have it, or its key is no lock";
        case holder_kind::no_lock:
            return immortal ? "its key is no lock: it has no expiry" : "its key is no lock";
        default: return {};
        }
    }
    /// Notes another owner's key. Earlier knowledge that is not told now stays.
    void note(holder_kind who, std::uint64_t whose, std::optional<std::chrono::milliseconds> left,
              bool for_ever)
    {
        if (who != holder_kind::unknown) {
            holder = who;
            owner = whose;
        }
        if (left)
            remaining = left;
        if (left || for_ever)
            immortal = for_ever;
    }
};

/// Did the node vote, or may it still do so?
[[nodiscard]] inline bool votes(node_report const& row)
{
    return row.result == node_result::granted || row.result == node_result::held_by_other ||
           row.result == node_result::pending;
}

/// The text is optional: without memory there is none.
template <class Words>
void describe(node_report& row, Words const& words)
{
    row.detail.reset();
    core::if_memory_allows([&] { row.detail = std::make_unique<std::string const>(words()); });
}

/// \param names the nodes' URLs, in order
/// \param several the names of a lock that has several
[[nodiscard]] std::vector<node_outcome> to_table(std::vector<node_report> const&,
                                                 std::vector<std::string> const& names,
                                                 std::span<std::string const> several = {});

} // namespace redlock::detail
