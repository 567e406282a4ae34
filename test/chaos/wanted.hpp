// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chaos/left_lease.hpp"
#include "chaos/plan.hpp"
#include <redlock/any_lock.hpp>
#include <redlock/client.hpp>
#include <redlock/election.hpp>
#include <redlock/lease.hpp>

#include <variant>

namespace redlock::chaos {

using wanted = std::variant<any_lock, election>;

/// \param permits if the lock has permits, how many
[[nodiscard]] wanted make_lock(client&, unsigned permits, part const&);

/// The lock must not ask for longer than the first holder did (docs/protocol.md, rule H9).
[[nodiscard]] lease adopt(client&, part const&, left_lease const&);

} // namespace redlock::chaos
