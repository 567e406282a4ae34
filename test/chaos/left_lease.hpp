// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock::chaos {

/// A lease that was detached, for another actor in this program or another one.
struct left_lease {
    std::string nonce{};
    std::uint64_t token = 0;
    std::uint64_t owner = 0; ///< as in the journal
    std::chrono::milliseconds ttl{};
};

/// Puts it into a file, in place of the lease that nobody has taken from there.
void leave_behind(std::string const& file, left_lease const&);
/// Takes it out of the file, so that nobody else does. Nothing: there is none.
/// \param unique a name that no other caller uses
[[nodiscard]] std::optional<left_lease> take_left(std::string const& file, std::string const& unique);

} // namespace redlock::chaos
