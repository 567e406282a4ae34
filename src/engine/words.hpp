// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// How a text begins that tells of a lock: `lock "seat:42"`. Control characters are left out, and a long name is cut.
[[nodiscard]] std::string title(std::string_view name);

/// Names with what was said of each; what is said of several is said once.
class shared_words {
public:
    void add(std::string_view name, std::string words);
    /// "; a, b refused (NOAUTH ...); c timed out"
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::pair<std::string, std::string>> groups_; ///< words, names
};

} // namespace redlock::detail
