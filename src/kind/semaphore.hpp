// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kind/kind.hpp"
#include "redis/resp.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The slots of a semaphore (docs/protocol.md, rules P1 to P9).
namespace redlock::kind {

/// Beside the lock's key, which says whose each slot is, stands until when,
inline constexpr std::string_view slots_suffix = ":redlock-slots";
/// the highest number of each,
inline constexpr std::string_view slot_fences_suffix = ":redlock-slot-fences";
/// and who waits.
inline constexpr std::string_view slot_line_suffix = ":redlock-slot-line";

inline constexpr unsigned most_slots = 1024;

/// What stands in a semaphore's line behind a nonce.
/// \param window so long the slots are kept for whom they are handed to
[[nodiscard]] std::string slot_place(std::chrono::milliseconds window, permits, std::string_view channel);

/// What a node has given, or let be claimed.
struct grant {
    std::uint64_t number = 0;
    unsigned taken = 0;       ///< of all slots
    std::string_view slots{}; ///< as they are written; part of the reply
};
[[nodiscard]] std::optional<grant> read_grant(redis::resp_node const&);

/// The slots of one lease. Takes its memory before they are known.
class slot_list {
public:
    /// \throws std::bad_alloc
    explicit slot_list(permits);

    /// False: these are not as many as are wanted, or none that there are. It has none, then.
    bool assign(std::string_view written) noexcept;
    void clear() noexcept;
    [[nodiscard]] std::string const& text() const { return text_; }
    [[nodiscard]] std::vector<std::uint16_t> const& numbers() const { return numbers_; }

private:
    permits wanted_;
    std::string text_;
    std::vector<std::uint16_t> numbers_;
};

} // namespace redlock::kind
