// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/handshake.hpp"
#include "redis/resp.hpp"
#include "redis/url.hpp"
#include <redlock/server_error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace redlock::redis {

/// A Sentinel's knowledge of a group of servers.
struct group_view {
    address master;
    unsigned replicas = 0; ///< all that it has ever heard of, whether they can be reached or not
};

/// Asks a Sentinel for the master of a group, in RESP2, which all Sentinels speak. Bytes to send come out, replies go
/// in.
class sentinel_talk {
public:
    using step = handshake::step;

    /// \param where the group, and the credentials for its Sentinels
    explicit sentinel_talk(endpoint const& where);

    /// Bytes to send now; may be empty.
    std::string take_output();

    /// Takes one complete message. Nothing is sent after the first output.
    step on_reply(std::span<resp_node const> message);

    [[nodiscard]] server_error failure() const noexcept { return failure_; }
    /// Bounded, printable and without the password.
    [[nodiscard]] std::string const& failure_text() const noexcept { return failure_text_; }

    /// Valid when the step is `ready`.
    [[nodiscard]] group_view const& view() const noexcept { return view_; }

private:
    enum class request : std::uint8_t { auth, address, state };

    step on_error(std::string_view words);
    step on_address(std::span<resp_node const> reply);
    step on_state(std::span<resp_node const> reply);
    step fail(server_error error, std::string text);

    std::string group_;
    std::string password_;
    std::string output_;
    request awaited_;
    group_view view_;
    server_error failure_ = server_error::none;
    std::string failure_text_;
};

} // namespace redlock::redis
