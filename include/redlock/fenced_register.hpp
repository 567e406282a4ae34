#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace redlock {

/// A value in memory that holders of a `fenced_mutex` may touch only in the order of their tokens.
///
/// Reading counts as showing one's token ("fence first"): after a holder has read, no holder before it can write any
/// more. Without that a late write would slip in between its reading and its writing.
///
/// Thread safety: any thread. Nothing here blocks for longer than a copy of `T` takes.
/// \par Source
/// docs/protocol.md, T2.
template <class T>
class fenced_register {
public:
    /// Nobody has been here yet.
    explicit fenced_register(T value = {}) : value_(std::move(value)) {}

    /// The value, or nothing if a larger token has been here: then the lease is over, whatever its holder believes.
    [[nodiscard]] std::optional<T> read(std::uint64_t token)
    {
        std::scoped_lock const guard(lock_);
        return admit(token) ? std::optional<T>(value_) : std::nullopt;
    }

    /// False, and nothing is written, if a larger token has been here.
    [[nodiscard]] bool write(std::uint64_t token, T value)
    {
        std::scoped_lock const guard(lock_);
        if (!admit(token))
            return false;
        value_ = std::move(value);
        return true;
    }

    /// The largest token that has been here.
    [[nodiscard]] std::uint64_t fence() const
    {
        std::scoped_lock const guard(lock_);
        return fence_;
    }

private:
    /// The same token again is the same holder.
    bool admit(std::uint64_t token)
    {
        if (token < fence_)
            return false;
        fence_ = token;
        return true;
    }

    std::mutex mutable lock_;
    T value_;
    std::uint64_t fence_ = 0;
};

/// The same for a value in a Redis server, which may be any server and need not be one of the nodes: two scripts to be
/// run with EVAL by any client. KEYS[1] is the value, KEYS[2] the key that keeps its fence, ARGV[1] the token.
namespace fenced_scripts {

/// The value after showing the token: an array of 1 and the value, or of 0 where a larger token has been here.
inline constexpr std::string_view read = R"lua(
if tonumber(redis.call('get', KEYS[2]) or 0) > tonumber(ARGV[1]) then
    return {0}
end
redis.call('set', KEYS[2], ARGV[1])
return {1, redis.call('get', KEYS[1])}
)lua";

/// Writes ARGV[2]: 1, or 0 where a larger token has been here.
inline constexpr std::string_view write = R"lua(
if tonumber(redis.call('get', KEYS[2]) or 0) > tonumber(ARGV[1]) then
    return 0
end
redis.call('set', KEYS[2], ARGV[1])
redis.call('set', KEYS[1], ARGV[2])
return 1
)lua";

} // namespace fenced_scripts

} // namespace redlock
