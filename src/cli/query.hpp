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

/// One answer of a server, of which only the outermost level is kept.
struct answer {
    enum class kind : std::uint8_t { null, number, text, error, list };
    kind type = kind::null;
    std::int64_t number = 0;
    std::string text{};              ///< also an error's
    std::vector<std::string> list{}; ///< elements of an array or a map, one after the other

    [[nodiscard]] bool is(kind k) const { return type == k; }
    [[nodiscard]] bool refused() const { return type == kind::error; }
};

/// One node's answers to some questions, on a connection of their own.
struct interview {
    /// local: a connection that does not leave this machine
    enum class transport : std::uint8_t { local, plain, unverified, verified };

    std::string node;
    transport how = transport::local;
    std::optional<net::failure> failed{}; ///< then nothing else is known
    redis::server_facts facts{};
    bool called_durable = false; ///< by the user; known before the node is
    std::chrono::microseconds round_trip{};
    /// By how much the server's wall clock is ahead of ours, with an error of up to half of the round trip.
    std::optional<std::chrono::microseconds> ahead{};
    std::vector<answer> answers{};
};

/// Commands in one write, and their number.
struct questions {
    std::string bytes{};
    std::size_t count = 0;

    void ask(std::vector<std::string_view> const& command);
};

/// Returns why a key under a lock's name cannot be a lock's key; empty: it may be one, or does not exist, or may not be
/// read.
/// \param value of GET
/// \param left of PTTL
[[nodiscard]] std::string_view why_no_lock(answer const& value, answer const& left);

/// Returns the kind of holder of a key under a lock's name.
/// \param whose answer about readers and permit holders; refused if a right is missing
[[nodiscard]] holder_kind holder_of(answer const& value, answer const& left, answer const& whose);

/// Asks all nodes at once. These questions are not asked on the library's own connections, which are not affected.
/// \param asked makes one node's questions, from the facts of its handshake
/// \throws lock_error `errc::misconfigured`
[[nodiscard]] std::vector<interview> ask_nodes(config const&,
                                               std::function<questions(interview const&)> const& asked);

} // namespace redlock::cli
