// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace redlock::test {

/// To the command with which a server from Redis 8.4 and Valkey 9.0 on compares by itself, " +delex"; an older one has none.
std::string const& native_right();

} // namespace redlock::test
