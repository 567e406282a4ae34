// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/connect.hpp"
#include "redis/info.hpp"
#include <redlock/config.hpp>
#include <redlock/node_outcome.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// One answer of a server, of which only the outermost level is looked at.
struct answer {
    enum class kind : std::uint8_t { null, number, text, error, list };
    kind type = kind::null;
    std::int64_t number = 0;
    std::string text{};              ///< of an error, too
    std::vector<std::string> list{}; ///< of an array or a map: what stands in it, one after the other

    [[nodiscard]] bool is(kind k) const { return type == k; }
    [[nodiscard]] bool refused() const { return type == kind::error; }
};

/// What a node said to some questions on a connection of their own.
struct interview {
    /// local: what never leaves this machine
    enum class transport : std::uint8_t { local, plain, unverified, verified };

    std::string node;
    transport how = transport::local;
    std::optional<net::failure> failed{}; ///< then nothing else is known
    redis::server_facts facts{};
    bool called_durable = false; ///< by the user; known before the node is
    std::chrono::microseconds round_trip{};
    /// By how much the server's wall clock is ahead of ours, give or take half of the round trip.
    std::optional<std::chrono::microseconds> ahead{};
    std::vector<answer> answers{};
};

/// Commands in one write, and how many of them.
struct questions {
    std::string bytes{};
    std::size_t count = 0;

    void ask(std::vector<std::string_view> const& command);
};

/// What a key under a lock's name has that no lock has; empty: it may be one, or is not there, or may not be looked at.
/// \param value of GET
/// \param left of PTTL
[[nodiscard]] std::string_view why_no_lock(answer const& value, answer const& left);

/// Who has a key under a lock's name.
/// \param whose of the question that knows readers; refused where a right is missing
[[nodiscard]] holder_kind holder_of(answer const& value, answer const& left, answer const& whose);

/// Asks all nodes at once. What the library may not say, or does not want to know, is asked here: its own connections
/// are not touched.
/// \param asked makes one node's questions, from what its handshake told
/// \throws lock_error `errc::misconfigured`
[[nodiscard]] std::vector<interview> ask_nodes(config const&,
                                               std::function<questions(interview const&)> const& asked);

} // namespace redlock::cli
