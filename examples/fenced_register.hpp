// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

/// A value in memory that holders of a `fenced_mutex` or `fenced_shared_mutex` can access only in the order of their
/// tokens.
///
/// Reading shows the token, too ("fence first"): after a holder has read, no earlier holder can write. Otherwise a late
/// write could happen between its read and its write.
///
/// Thread safety: any thread. No call blocks for longer than a copy of `T` takes.
/// \par Source
/// docs/protocol.md, T2.
template <class T>
class fenced_register {
public:
    /// No token has been shown yet.
    explicit fenced_register(T value = {}) : value_(std::move(value)) {}

    /// The value, or empty if a larger token has been shown: then the lease has ended, even if its holder does not
    /// know.
    [[nodiscard]] std::optional<T> read(std::uint64_t token)
    {
        std::scoped_lock const guard(lock_);
        return admit(token) ? std::optional<T>(value_) : std::nullopt;
    }

    /// Returns false and writes nothing if a larger token has been shown.
    [[nodiscard]] bool write(std::uint64_t token, T value)
    {
        std::scoped_lock const guard(lock_);
        if (!admit(token))
            return false;
        value_ = std::move(value);
        return true;
    }

    /// The largest token that has been shown.
    [[nodiscard]] std::uint64_t fence() const
    {
        std::scoped_lock const guard(lock_);
        return fence_;
    }

private:
    /// An equal token comes from the same holder, or from readers of the same moment.
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

/// The same for a value in a Redis server: two scripts to run with EVAL from any client. The server may be any server; it
/// need not be one of the nodes. KEYS[1] is the value, KEYS[2] the key that stores its fence, ARGV[1] the token.
namespace fenced_scripts {

/// Shows the token and reads: an array of 1 and the value, or of 0 if a larger token has been shown.
inline constexpr std::string_view read = R"lua(
if tonumber(redis.call('get', KEYS[2]) or 0) > tonumber(ARGV[1]) then
    return {0}
end
redis.call('set', KEYS[2], ARGV[1])
return {1, redis.call('get', KEYS[1])}
)lua";

/// Shows the token and writes ARGV[2]: 1, or 0 if a larger token has been shown.
inline constexpr std::string_view write = R"lua(
if tonumber(redis.call('get', KEYS[2]) or 0) > tonumber(ARGV[1]) then
    return 0
end
redis.call('set', KEYS[2], ARGV[1])
redis.call('set', KEYS[1], ARGV[2])
return 1
)lua";

} // namespace fenced_scripts
