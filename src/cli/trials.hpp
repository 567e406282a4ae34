// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/answer.hpp"
#include "cli/lock_use.hpp"
#include "cli/query.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The effect of a missing right, and where these rights are documented.
struct use_words {
    std::string_view id;
    std::string_view without; ///< "elections do not work"
    std::string_view advice;
};
[[nodiscard]] use_words words_of(lock_use) noexcept;

/// A right, and a command that tries it and changes nothing.
struct trial {
    std::string_view right;
    std::vector<std::string> command;
    std::string object; ///< the pattern of the command's object; empty: a right to it is not tried
};

/// The key that is locked to try the rights. Its name begins with the lock's, for users who may use only some keys.
[[nodiscard]] std::string probe_of(std::string const& lock);

/// The trials on that key, or on one that belongs to it.
[[nodiscard]] std::vector<trial> trials_of(lock_use, std::string const& key_prefix, std::string const& lock,
                                           interview const&);

/// Adds the trials after all other questions.
void ask_for(lock_use, questions&, std::string const& key_prefix, std::string const& lock, interview const&);

} // namespace redlock::cli
