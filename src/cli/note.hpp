// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <climits>
#include <cstddef>
#include <string>

namespace redlock::cli {

/// The largest write that a pipe takes in one piece.
inline constexpr std::size_t longest_remark = PIPE_BUF;

/// Writes to standard error, in one piece or not at all, and without waiting for a reader: the tool may have to stop a
/// command in time. A longer line is cut.
void note(std::string line);

/// Writing to a pipe without a reader fails, and does not end the tool while it holds a lock. The command gets the
/// former handling of the signal. Call it first.
void survive_broken_pipes();

/// Called in the child, between fork and exec.
void restore_broken_pipes();

} // namespace redlock::cli
