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

/// A lock's key: what the keys of all locks of its client begin with, and its name. May hold any byte.
struct lock_key {
    std::string_view prefix;
    std::string_view name;
};

/// The commands of all locks whose keys live equally long. A nonce is `nonce_length` bytes of any kind.
class lock_commands {
public:
    explicit lock_commands(std::chrono::milliseconds key_ttl);

    /// SET key nonce NX PX ttl: `+OK` is a grant, nil means held by another.
    void append_vote(std::string& out, lock_key const&, std::string_view nonce) const;

    /// Compare and renew to the full ttl: 1, or 0 where the key is not ours.
    void append_extend(std::string& out, lock_key const&, std::string_view nonce, script_form form) const;

private:
    std::string vote_options_;
    std::string ttl_; // as an argument
};

/// What is made when it is first needed is made now: afterwards a command needs no memory but for its own text.
void prepare_commands();

/// Compare and delete: 1, or 0 where the key is not ours.
void append_release(std::string& out, lock_key const&, std::string_view nonce, script_form form);

/// PTTL key, GET key. With client tracking, either makes the server tell when the key changes.
void append_time_left(std::string& out, lock_key const&);
void append_owner(std::string& out, lock_key const&);
/// GET of the fence beside it.
void append_fence(std::string& out, lock_key const&);

/// Beside a fenced lock's key stands its fence, and on each node one marker for all of them.
inline constexpr std::string_view fence_suffix = ":redlock-fence";
/// Fences are below it, as the scripts see to it (docs/protocol.md, rule F1).
inline constexpr std::uint64_t fence_end = std::uint64_t{1} << 43U;
inline constexpr std::string_view marker_name = "redlock-marker";

/// The name of something that stands beside locks: `before` is their key, or the prefix of all keys.
[[nodiscard]] std::string name_beside(std::string_view before, std::string_view what);

/// The fenced commands of all locks with the same times. All four name the same keys and take the same arguments.
class fenced_commands {
public:
    /// \param key_prefix where the marker stands: beside all locks of the client
    fenced_commands(std::string_view key_prefix, std::chrono::milliseconds key_ttl,
                    std::chrono::milliseconds fence_ttl);

    /// What is fresh in a command.
    struct call {
        lock_key key;
        std::string_view nonce;
        std::uint64_t number; ///< the proposal, or the token
        script_form form;
    };
    // All of a command but what is left to the node: its marker, by append_marker().
    void append_vote(std::string& out, call const&) const;
    void append_raise(std::string& out, call const&) const;
    void append_extend(std::string& out, call const&) const;
    /// The first extension of a lease that another client was granted.
    void append_adopt(std::string& out, call const&) const;

    /// The end of each. \param marker as it must stand on the node; empty: whatever it is
    static void append_marker(std::string& out, std::string_view marker);

private:
    void append(std::string& out, std::string_view head, call const&) const;

    std::string constant_; // from the marker's key to the header of the nonce
};

} // namespace redlock::redis
