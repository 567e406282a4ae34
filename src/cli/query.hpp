// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/answer.hpp"
#include "net/connect.hpp"
#include "redis/info.hpp"
#include <redlock/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace redlock::cli {

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

/// Says why a node was not asked, or did not answer: "unreachable (Connection refused)".
[[nodiscard]] std::string trouble_of(net::failure const&);

/// The node's wall clock, since 1970. Reads this machine's clock if the node's is not known.
[[nodiscard]] std::chrono::milliseconds clock_of(interview const&);

/// Asks all nodes at once. These questions are not asked on the library's own connections, which are not affected.
/// \param asked makes one node's questions, from the facts of its handshake
/// \throws lock_error `errc::misconfigured`
[[nodiscard]] std::vector<interview> ask_nodes(config const&,
                                               std::function<questions(interview const&)> const& asked);

/// Asks all nodes at once, and each of them again and again.
/// \param next makes the next questions of the node with this index from its last answers. No questions: it is done
/// \throws lock_error `errc::misconfigured`
[[nodiscard]] std::vector<interview>
converse(config const&, std::function<questions(std::size_t, interview const&)> const& next);

} // namespace redlock::cli
