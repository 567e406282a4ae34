// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>

namespace redlock::cli {

/// Returns what fits into so many lines. The last line says how many are missing.
[[nodiscard]] std::string first_lines(std::string const& text, std::size_t lines);

/// From now on the signal INT ends the process with status 0, unless it is ignored.
void end_at_interrupt();

/// Returns the text in place of the last one if standard output is a terminal, and otherwise as one of several blocks.
[[nodiscard]] std::string in_place(std::string const& text);

} // namespace redlock::cli
