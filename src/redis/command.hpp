#pragma once

#include <chrono>
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

/// How a script is named: by its hash, or by its text where the server answered NOSCRIPT.
enum class script_form : std::uint8_t { hash, text };

/// The commands of one lock, formatted once: only the nonce is fresh. A nonce is `nonce_length` bytes of any
/// kind.
class lock_commands {
public:
    lock_commands(std::string_view key, std::chrono::milliseconds key_ttl);

    /// SET key nonce NX PX ttl: `+OK` is a grant, nil means held by another.
    void append_vote(std::string& out, std::string_view nonce) const;

    /// Compare and delete: 1, or 0 where the key is not ours.
    void append_release(std::string& out, std::string_view nonce, script_form form) const;

    /// Compare and renew to the full ttl: 1, or 0 where the key is not ours.
    void append_extend(std::string& out, std::string_view nonce, script_form form) const;

private:
    std::string key_; // the key and the header of the nonce, which follows the key in all three commands
    std::string ttl_; // the ttl as an argument
};

} // namespace redlock::redis
