#pragma once

#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A row of the outcome table while it is being filled: cheap to reset, and text only where something went wrong.
struct node_report {
    node_result result = node_result::pending;
    server_error error = server_error::none;
    std::uint32_t round_trip_us = 0;
    std::uint64_t owner = 0; ///< the first bytes of the other owner's nonce; zero: not known
    std::optional<std::chrono::milliseconds> remaining; ///< of the other owner's key, or of the quarantine
    std::unique_ptr<std::string const> detail;

    void clear()
    {
        result = node_result::pending;
        error = server_error::none;
        round_trip_us = 0;
        owner = 0;
        remaining.reset();
        detail.reset();
    }
    [[nodiscard]] std::string_view words() const { return detail ? *detail : std::string_view(); }
};

/// It votes, one way or the other, or has not answered yet.
[[nodiscard]] inline bool votes(node_report const& row)
{
    return row.result == node_result::granted || row.result == node_result::held_by_other ||
           row.result == node_result::pending;
}

/// Words are a courtesy: without memory there are none.
template <class Words>
void describe(node_report& row, Words const& words)
{
    try {
        row.detail = std::make_unique<std::string const>(words());
    } catch (std::bad_alloc const&) {
        row.detail.reset();
    }
}

/// What is in the way has no owner that will release it.
inline void describe_no_lock(node_report& row)
{
    describe(row, [] { return "its key is no lock"; });
}

/// \param names the nodes' URLs, in order
[[nodiscard]] std::vector<node_outcome> to_table(std::vector<node_report> const&,
                                                 std::vector<std::string> const& names);

} // namespace redlock::detail
