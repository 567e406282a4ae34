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

    /// PTTL key, GET key. With client tracking, either makes the server tell when the key changes.
    void append_time_left(std::string& out) const;
    void append_owner(std::string& out) const;

private:
    std::string
        key_; // the key and the header of the nonce, which follows the key in the three commands that write
    std::string ttl_;          // the ttl as an argument
    std::size_t key_size_ = 0; // of `key_`, without the header
};

/// Beside a fenced lock's key stands its fence, and on each node one marker for all of them.
inline constexpr std::string_view fence_suffix = ":redlock-fence";
inline constexpr std::string_view marker_name = "redlock-marker";
inline constexpr std::string_view quarantine_name = "redlock-quarantine";

/// The name of something that stands beside locks: `before` is their key, or the prefix of all keys.
[[nodiscard]] std::string name_beside(std::string_view before, std::string_view what);

/// Asks for a node's marker, or leaves it: milliseconds until fenced votes count there.
/// \param trust "any", "absent" or "none"
void append_mark(std::string& out, std::string_view key_prefix, std::string_view incarnation,
                 std::chrono::nanoseconds quarantine, std::string_view trust);

/// What a fenced lock is made of on a node, formatted once.
struct fenced_keys {
    std::string_view lock;
    std::string_view fence;
    std::string_view marker;
};

/// The fenced commands of one lock. All three name the same keys and take the same arguments.
class fenced_commands {
public:
    fenced_commands(fenced_keys const& keys, std::chrono::milliseconds key_ttl,
                    std::chrono::milliseconds fence_ttl);

    /// What is fresh in a command.
    struct call {
        std::string_view nonce;
        std::uint64_t number;    ///< the proposal, or the token
        std::string_view marker; ///< as it must stand on the node; empty: whatever it is
        script_form form;
    };
    void append_vote(std::string& out, call const&) const;
    void append_raise(std::string& out, call const&) const;
    void append_extend(std::string& out, call const&) const;

private:
    void append_rest(std::string& out, call const&) const;

    std::string keys_; // from the number of keys to the header of the nonce
};

} // namespace redlock::redis
