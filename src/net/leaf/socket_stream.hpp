// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/coroutine.hpp"
#include "net/executor.hpp"
#include "net/leaf/handler_memory.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"

#include <boost/asio/generic/stream_protocol.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace redlock::net {

/// Tcp or unix-domain: what they are called differs, how bytes move does not.
using socket = boost::asio::generic::stream_protocol::socket;

/// A stream over a socket of the system.
class socket_stream : public stream {
public:
    /// The plain socket underneath.
    virtual socket& transport() = 0;

    void connect(endpoint const&, bool keep_alive, resumption) override;
    void interrupt() override;
    [[nodiscard]] bool readable() override;
    [[nodiscard]] bool hung_up() override;
    void close() override;
    void drop() override;

protected:
    /// Said once, and after the connection is set up: each time it would be a system call.
    void stop_blocking(error_code&);
    /// Returns how much the socket took. That it is full is no error.
    std::size_t write_some(std::string_view, error_code&);
    /// `on_room` follows when the socket can take more; one that has failed can at once.
    /// \param failed why it takes no more
    void await_room(error_code failed);
    virtual void on_room(error_code ec) { listener_->on_writable(ec); }

    handler_memory read_memory_;
    handler_memory write_memory_;
    bool writing_ = false;
};

[[nodiscard]] std::shared_ptr<stream> make_plain_stream(any_io_executor const&);

} // namespace redlock::net
