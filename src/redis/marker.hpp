// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::redis {

/// A node's marker, as a client has found or left it (docs/protocol.md, rule F6). Times are milliseconds on the node's clock.
struct marker {
    std::string text{};                 ///< the value on the node
    std::chrono::milliseconds now{};    ///< when it was read
    std::chrono::milliseconds since{};  ///< keys set before may be lost; zero: none can be
    std::chrono::milliseconds placed{}; ///< the same for clients whose user does not answer for the node
};

/// Identifies the placing of the marker that the text goes back to: a client that has seen another one knows that the
/// node has lost its data.
[[nodiscard]] std::string_view lineage(std::string_view text);

/// Empty: this is no answer to `append_mark`.
[[nodiscard]] std::optional<marker> read_marker(std::string_view reply);

struct mark_call {
    std::string_view key_prefix;
    std::string_view incarnation; ///< empty: the server has no identity
    std::string_view lineage;
    std::optional<std::chrono::milliseconds> certain_for; ///< empty: the user answers for it
    bool absence_is_excused = false;
    marker const& seen; ///< marker that this client has seen on this node
};

/// Asks for a node's marker, or leaves it.
void append_mark(std::string& out, mark_call const&);

} // namespace redlock::redis
