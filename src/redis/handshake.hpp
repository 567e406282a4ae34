// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/info.hpp"
#include "redis/resp.hpp"
#include <redlock/server_error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::redis {

struct handshake_settings {
    std::string username{};
    std::string password{};
    std::string client_name{};
    unsigned database = 0;
    int protocol = 3;   ///< the highest version to speak, 2 or 3
    bool group = false; ///< is it a group's master?
};

/// Sets a connection up: bytes to send come out, replies go in.
///
/// Everything is sent in one flight around HELLO 3. Servers and proxies without HELLO get a second flight in RESP2 with
/// AUTH. Client and library names only help readers of CLIENT LIST: their refusal is ignored. If INFO, CONFIG or TIME
/// is refused, its information is unknown.
class handshake {
public:
    enum class step : std::uint8_t { more, ready, failed };

    explicit handshake(handshake_settings settings);

    /// Bytes to send now; may be empty.
    std::string take_output();

    /// Takes one complete message that is no push. After `more` there may be output.
    step on_reply(std::span<resp_node const> message);

    /// Why it failed: the class, and the server's words, bounded, printable and without the password.
    [[nodiscard]] server_error failure() const noexcept { return failure_; }
    [[nodiscard]] std::string const& failure_text() const noexcept { return failure_text_; }

    /// The information from HELLO, INFO, CONFIG and TIME.
    [[nodiscard]] server_facts facts() const;

private:
    enum class request : std::uint8_t {
        hello,
        auth,
        select,
        courtesy,
        ping,
        info,
        append_settings,
        replica_settings,
        time
    };

    [[nodiscard]] bool has_credentials() const noexcept;
    void send(request kind, std::vector<std::string_view> const& args);
    void send_resp3();
    void send_resp2();
    void send_select_and_names(bool name_client);
    void send_questions();
    step fail(server_error error, std::string_view context, std::string_view words);
    step on_error(request answered, std::string_view words);
    step on_value(request answered, std::span<resp_node const> reply);
    step on_hello(std::span<resp_node const> reply);
    void learn(std::string_view key, resp_node const& told);
    step proceed();

    handshake_settings settings_;
    std::string output_;
    std::vector<request> flight_;
    std::size_t answered_ = 0;
    bool fall_back_ = false;
    server_error failure_ = server_error::none;
    std::string failure_text_;
    int protocol_ = 2;
    std::optional<bool> cluster_;
    std::optional<bool> replica_;
    std::optional<server_info> info_;
    append_settings append_;
    std::optional<replica_settings> replication_;
    std::optional<std::chrono::microseconds> time_;
};

} // namespace redlock::redis
