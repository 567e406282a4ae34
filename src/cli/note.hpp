// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <climits>
#include <cstddef>
#include <string>

namespace redlock::cli {

/// What a pipe takes in one piece.
inline constexpr std::size_t longest_remark = PIPE_BUF;

/// To standard error, in one piece or not at all, and at once: who holds a lock has a command to stop in time, and waits
/// for no reader. A longer line is cut.
void note(std::string line);

/// A reader that is gone makes writing fail, and does not end the tool with a lock in its hands. The command gets what
/// was there before. Call it first.
void survive_broken_pipes();

/// For the command, between fork and exec.
void restore_broken_pipes();

} // namespace redlock::cli
