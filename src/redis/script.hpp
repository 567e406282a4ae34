// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string_view>

namespace redlock::redis {

struct script {
    std::string_view text;
    std::string_view sha1;
    std::size_t index; ///< among all
};

inline constexpr std::size_t most_scripts = 32;
inline constexpr std::size_t longest_script = std::size_t{24} * 1024;

} // namespace redlock::redis
