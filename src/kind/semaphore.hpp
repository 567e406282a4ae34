// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kind/kind.hpp"
#include "kind/lease_arguments.hpp"
#include "redis/resp.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The permits of a semaphore (docs/protocol.md, rules P1 to P9).
namespace redlock::kind {

// rule P10
inline constexpr unsigned most_permits = 1024;

[[nodiscard]] lock_terms terms_of(permits);
/// Returns no permits for terms of another kind.
[[nodiscard]] permits permits_of(std::string_view terms) noexcept;

/// Each number is below 1024, and a space separates two of them.
constexpr std::size_t longest_list(permits wanted)
{
    return std::size_t{5} * wanted.count;
}

/// A node's grant of permits.
struct grant {
    std::uint64_t number = 0;   ///< the fence that it counted, for a vote
    std::string_view permits{}; ///< as they are written; part of the reply
};
/// Returns nothing if the node has given nothing.
/// \param what a vote, a claim, or an entry, whose answer has no number
[[nodiscard]] std::optional<grant> read_grant(request what, redis::resp_node const&);

/// Are these as many as are wanted, below the limit, and ascending?
[[nodiscard]] bool are_permits(permits wanted, std::string_view written) noexcept;

/// The permits of one lease. Takes its memory before they are known.
class permit_list final : public lease_arguments {
public:
    /// \throws std::bad_alloc
    explicit permit_list(permits);

    /// \param written permits for which `are_permits` is true
    void assign(std::string_view written) noexcept;
    [[nodiscard]] std::string const& text() const { return text_; }
    void add_to(command_arguments& args, bool exact) const override
    {
        if (exact)
            args.numbers = text_;
    }
    [[nodiscard]] permit_list const* as_permits() const override { return this; }
    [[nodiscard]] std::vector<std::uint16_t> const& numbers() const { return numbers_; }

private:
    std::string text_;
    std::vector<std::uint16_t> numbers_;
};

} // namespace redlock::kind
