// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/server_error.hpp>

#include <string_view>

namespace redlock::redis {

/// Classifies the text of an error reply, given without the leading `-`.
server_error classify(std::string_view error_text) noexcept;

/// True if the user may run the command, but not on these keys.
bool is_about_keys(std::string_view error_text) noexcept;

/// True if asking again cannot help until somebody changes the server or the configuration.
bool permanent(server_error error) noexcept;

} // namespace redlock::redis
