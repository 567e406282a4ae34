// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock::chaos {

/// A lease that was detached, or whose holder was killed, for another actor in any program.
struct left_lease {
    std::string nonce{};
    std::uint64_t token = 0;
    std::uint64_t owner = 0; ///< as in the journal
    std::chrono::milliseconds ttl{};
    std::uint32_t lock = 0; ///< with its things as in the journal
    std::uint32_t things = 0;
    std::string file{}; ///< adopters look for it there
};

/// Puts it into its file, in place of the lease that nobody has taken from there.
void leave_behind(left_lease const&);
/// Puts it into another file, for the case that its holder is killed.
void write_will(std::string const& file, left_lease const&);
/// Returns the name of that file for an owner of the journal. Each actor has one.
[[nodiscard]] inline std::string name_of_will(std::uint64_t owner)
{
    return "will-" + std::to_string(owner >> 32U);
}
/// Takes a lease out of the file, so that nobody else does. Nothing: there is none.
/// \param unique a name that no other caller uses
[[nodiscard]] std::optional<left_lease> take_left(std::string const& file, std::string const& unique);

} // namespace redlock::chaos
