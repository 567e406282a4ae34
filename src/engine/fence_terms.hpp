// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/fencing.hpp"
#include "engine/configuration.hpp"
#include "kind/fenced.hpp"

#include <cstdint>
#include <string>

// The common parts of locks whose leases carry fencing tokens.
namespace redlock::detail {

/// Checks the fencing token with which a lease is adopted.
/// \throws lock_error `errc::misconfigured`
inline void check_token(std::uint64_t token, std::string const& lock)
{
    if (token >> core::hand_off_bits == 0)
        misconfigured("a fenced lock's lease is adopted with its fencing token, which is " +
                          std::to_string(core::fencing_token(1)) + " or more, not " + std::to_string(token),
                      lock);
    if (token >> core::hand_off_bits >= kind::fence_end)
        misconfigured("a fencing token is below 2^53, not " + std::to_string(token), lock);
}

} // namespace redlock::detail
