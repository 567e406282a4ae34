// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/options.hpp"
#include "cli/output.hpp"

namespace redlock::cli {

/// One for each subcommand; they return the exit status.
/// \throws failure, lock_error `errc::misconfigured`
[[nodiscard]] int run(options const&, output const&);
[[nodiscard]] int acquire(options const&, output const&);
[[nodiscard]] int extend(options const&, output const&);
[[nodiscard]] int release(options const&, output const&);
[[nodiscard]] int elect(options const&, output const&);
[[nodiscard]] int leader(options const&, output const&);
[[nodiscard]] int status(options const&, output const&);
[[nodiscard]] int list(options const&, output const&);
[[nodiscard]] int doctor(options const&, output const&);

} // namespace redlock::cli
