// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/node_outcome.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// One answer of a server, of which two levels are kept.
struct answer {
    enum class kind : std::uint8_t { null, number, text, error, list };
    kind type = kind::null;
    std::int64_t number = 0;
    std::string text{};               ///< also an error's
    std::vector<std::string> list{};  ///< elements of an array or a map, one after the other
    std::vector<std::string> inner{}; ///< elements of the arrays in that array, one after the other

    [[nodiscard]] bool is(kind k) const { return type == k; }
    [[nodiscard]] bool refused() const { return type == kind::error; }
};

/// Commands in one write, and their number.
struct questions {
    std::string bytes{};
    std::size_t count = 0;
    std::size_t longest = std::string::npos; ///< how many bytes of a text are kept

    void ask(std::vector<std::string_view> const& command);
};

/// Is the key of another type than the command wants?
[[nodiscard]] bool is_wrong_type(answer const&);

/// Returns why a key under a lock's name cannot be a lock's key; empty: it may be one, or does not exist, or may not be
/// read.
/// \param value of GET
/// \param left of PTTL
[[nodiscard]] std::string_view why_no_lock(answer const& value, answer const& left);

/// Returns the kind of holder of a key under a lock's name; unknown: there is no key, or it may not be read.
/// \param whose answer about readers and permit holders; refused if a right is missing
[[nodiscard]] holder_kind holder_of(answer const& value, answer const& left, answer const& whose);

/// Names the holder of a key that is no string.
[[nodiscard]] std::string other_holder(holder_kind);

/// The beginning of an owner token: the rest is secret, because a client that knows it can release the lock.
[[nodiscard]] std::string beginning_of(std::string const& owner);

} // namespace redlock::cli
