// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::redis {

/// A node's marker, as a client has found or left it (docs/protocol.md, rule F6). Times are milliseconds on the node's clock.
struct marker {
    std::string text{};                 ///< as it stands on the node
    std::chrono::milliseconds now{};    ///< when that was
    std::chrono::milliseconds since{};  ///< keys set before may be lost; zero: none can be
    std::chrono::milliseconds placed{}; ///< the same for clients whose user does not answer for the node
};

/// Which placing of the marker its text goes back to: whoever has seen another one has seen the node lose its data.
[[nodiscard]] std::string_view lineage(std::string_view text);

/// Nothing: that is no answer to `append_mark`.
[[nodiscard]] std::optional<marker> read_marker(std::string_view reply);

struct mark_call {
    std::string_view key_prefix;
    std::string_view incarnation; ///< empty: the server does not tell who it is
    std::string_view lineage;
    std::optional<std::chrono::milliseconds> certain_for; ///< nothing: the user answers for it
    bool absence_is_excused = false;
    marker const& seen; ///< by this client, on this node
};

/// Asks for a node's marker, or leaves it.
void append_mark(std::string& out, mark_call const&);

} // namespace redlock::redis
