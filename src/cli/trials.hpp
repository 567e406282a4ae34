#pragma once

#include "cli/query.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// What needs more rights than one lock of one name.
enum class beyond : std::uint8_t { readers, several_names, election, permits, fenced_permits };

/// "elections"
[[nodiscard]] std::string_view title_of(beyond) noexcept;
/// Of the documentation, which has these rights under "Rights".
[[nodiscard]] std::string_view page_of(beyond) noexcept;

/// Such a right, and a command that tries it and changes nothing.
struct trial {
    std::string_view right;
    std::vector<std::string> command;
    bool of_key = true; ///< does it matter whether the key is permitted?
};

/// The key that is locked to try the rights: beside the lock's, so that a user who may use only some keys may use it.
[[nodiscard]] std::string probe_of(std::string const& lock);

/// On the trial's key, or on one beside it.
[[nodiscard]] std::vector<trial> trials_of(beyond, std::string const& key_prefix, std::string const& lock);

/// Behind everything else that is asked.
void ask_for(beyond, questions&, std::string const& key_prefix, std::string const& lock);

} // namespace redlock::cli
