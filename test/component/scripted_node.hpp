// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/canned.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

/// The node's reaction to a command.
struct answer {
    enum class kind { reply, late, silence, close, reset, dribble };
    kind what;
    std::string bytes{};
};

inline answer reply(std::string_view bytes)
{
    return {answer::kind::reply, std::string(bytes)};
}
inline std::string bulk(std::string_view text)
{
    return '$' + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}
/// INFO's answer, `canned::info` with these changes: {"role", "slave"}.
std::string info_reply(std::vector<std::pair<std::string, std::string>> const& changes);
/// SUBSCRIBE's answer, which is a push.
inline std::string subscription_push(std::string_view channel)
{
    return ">3\r\n$9\r\nsubscribe\r\n" + bulk(channel) + ":1\r\n";
}
/// Returns the message that a subscriber receives.
inline std::string message_push(std::string_view channel, std::string_view text)
{
    return ">3\r\n$7\r\nmessage\r\n" + bulk(channel) + bulk(text);
}
/// TIME's answer.
std::string time_reply(std::chrono::microseconds since_1970);
/// Held back, with every later reply of that connection, until `deliver_late`.
inline answer late(std::string_view bytes)
{
    return {answer::kind::late, std::string(bytes)};
}
/// A byte at a time, each in a segment of its own.
inline answer dribble(std::string_view bytes)
{
    return {answer::kind::dribble, std::string(bytes)};
}
/// Replies come in order, so that connection says nothing any more.
inline answer silence()
{
    return {answer::kind::silence};
}
/// FIN.
inline answer hang_up()
{
    return {answer::kind::close};
}
/// RST.
inline answer reset()
{
    return {answer::kind::reset};
}

/// A server that does what a real one cannot be made to do. It lives in the test's own context, so that test, client
/// and server move step by step together.
///
/// A script is a queue of expectations. Commands of the handshake (HELLO, AUTH, SELECT, CLIENT, PING, INFO, CONFIG,
/// TIME), PUBLISH and SUBSCRIBE that are not the next expected one are answered as a friendly server does; each node
/// has a run id of its own. Votes and scripts are checked against the queue; with an empty queue every vote is granted
/// and every script succeeds. An unexpected command is in `surprises()`, and gets no answer.
class scripted_node {
public:
    using words = std::vector<std::string>;

    explicit scripted_node(boost::asio::io_context&);
    ~scripted_node();
    scripted_node(scripted_node const&) = delete;
    scripted_node& operator=(scripted_node const&) = delete;

    scripted_node& expect(std::string command, answer);
    void deliver_late();
    /// Says this on every open connection without having been asked.
    void say(std::string_view bytes);
    void close_all();

    [[nodiscard]] std::string url() const;
    /// Nothing of the script is left.
    [[nodiscard]] bool done() const;
    [[nodiscard]] std::vector<words> const& heard() const;
    [[nodiscard]] std::size_t count(std::string_view command) const;
    [[nodiscard]] std::vector<std::string> const& surprises() const;
    /// Connections accepted since the start, and those open now.
    [[nodiscard]] std::size_t accepted() const;
    [[nodiscard]] std::size_t open() const;
    /// TCP segments with data that the newest connection received: with TCP_NODELAY and small commands one per write.
    [[nodiscard]] std::uint32_t writes_received() const;

private:
    class impl;
    std::shared_ptr<impl> impl_;
};

} // namespace redlock::test
