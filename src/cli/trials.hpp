// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/lock_use.hpp"
#include "cli/query.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// What a missing right means, and where these rights are documented.
struct use_words {
    std::string_view id;
    std::string_view without; ///< "elections do not work"
    std::string_view advice;
};
[[nodiscard]] use_words words_of(lock_use) noexcept;

/// Such a right, and a command that tries it and changes nothing.
struct trial {
    std::string_view right;
    std::vector<std::string> command;
    std::string object; ///< the pattern of what the command is about; empty: that right is of no concern
};

/// The key that is locked to try the rights: beside the lock's, so that a user who may use only some keys may use it.
[[nodiscard]] std::string probe_of(std::string const& lock);

/// On the trial's key, or on one beside it.
[[nodiscard]] std::vector<trial> trials_of(lock_use, std::string const& key_prefix, std::string const& lock,
                                           interview const&);

/// Behind everything else that is asked.
void ask_for(lock_use, questions&, std::string const& key_prefix, std::string const& lock, interview const&);

} // namespace redlock::cli
