// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace redlock::redis {

/// Appends one command as the protocol's array of bulk strings. Arguments may hold any byte.
void append_command(std::string& out, std::span<std::string_view const> args);
void append_command(std::string& out, std::initializer_list<std::string_view> args);

/// 16 random bytes as lower-case hex.
inline constexpr std::size_t nonce_length = 32;

/// The form in which a script is sent: its hash, its text, which every server understands, or the command that does the
/// same on servers that compare by themselves (docs/protocol.md, rule K8).
enum class script_form : std::uint8_t {
    hash,
    text,
    delex,   ///< DELEX and SET with IFEQ: Redis from 8.4 on
    delifeq, ///< DELIFEQ and SET with IFEQ: Valkey from 9.0 on
};
[[nodiscard]] constexpr bool is_native(script_form form)
{
    return form >= script_form::delex;
}

/// A lock's key: the prefix of all locks of its client, and its name. May hold any byte.
struct lock_key {
    std::string_view prefix;
    std::string_view name;
    std::span<std::string const> several{}; ///< all names of a lock of several names
};

/// The name of each node's marker, which all marked locks share (docs/protocol.md, rule F6).
inline constexpr std::string_view marker_name = "redlock-marker";

/// Returns the name of a key that belongs to a lock, or to all locks. `before` is the lock's key, or the prefix of all
/// keys.
[[nodiscard]] std::string joined_name(std::string_view before, std::string_view what);

} // namespace redlock::redis
