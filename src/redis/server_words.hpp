// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::redis {

inline constexpr std::size_t longest_words = 200;

/// Without the control characters that could forge a line of a log.
[[nodiscard]] std::string printable(std::string_view text);

/// No longer than `longest_words`; three dots at its end tell that it was.
[[nodiscard]] std::string shorten(std::string text);

/// Both, with at most `longest_words` characters: a server's text, fit to be shown.
[[nodiscard]] std::string quote(std::string_view words);

/// The same for a lock's name. Control characters are shown as `\xNN`, so that different names differ.
[[nodiscard]] std::string quote_name(std::string_view name);

} // namespace redlock::redis
