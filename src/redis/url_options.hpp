// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/url.hpp"

#include <string_view>

namespace redlock::redis::url_parts {

/// From the path or from the option `db`.
unsigned read_database(std::string_view text);

/// What follows the '?'.
void read_options(endpoint& node, std::string_view query, bool database_in_path);

} // namespace redlock::redis::url_parts
