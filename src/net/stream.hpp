// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/coroutine.hpp"
#include "net/machine.hpp"

#include <boost/asio/buffer.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::net {

class stream_listener {
public:
    virtual void on_read(error_code, std::size_t bytes) = 0;
    /// More can be written, or, with an error, nothing any more.
    virtual void on_writable(error_code) = 0;

protected:
    ~stream_listener() = default;
};

/// One connection's bytes, plain or TLS. A new connection is a new stream: a TLS stream cannot be used twice.
class stream : public std::enable_shared_from_this<stream> {
public:
    stream(stream const&) = delete;
    stream& operator=(stream const&) = delete;
    virtual ~stream() = default;

    /// \name Setting up, for a coroutine
    ///@{
    /// Connects a plain stream, also one that becomes a TLS stream later.
    /// \param keep_alive the system shall find out when the peer is gone
    virtual void connect(endpoint const&, bool keep_alive, resumption) = 0;
    /// Ends the operation that is under way with an error.
    virtual void interrupt() = 0;
    virtual void handshake(resumption) = 0;
    virtual void read(boost::asio::mutable_buffer, resumption) = 0;
    virtual void write(boost::asio::const_buffer, resumption) = 0;
    /// After a failure: the problem with a certificate, the peer's or ours; empty if there is none.
    [[nodiscard]] virtual std::string certificate_trouble() { return {}; }
    ///@}

    /// \name In use, for the listener
    ///@{
    /// \param buffer for all reads: a system may write into it until the stream's last handler has run
    void listen(stream_listener& listener, std::shared_ptr<void> buffer = nullptr)
    {
        listener_ = &listener;
        buffer_ = std::move(buffer);
    }
    /// Starts one read; `on_read` follows.
    virtual void start_read(boost::asio::mutable_buffer) = 0;
    /// Writes what can be written now and removes it from `out`; `on_writable` follows if something is left.
    virtual void flush(std::string& out) = 0;
    /// Writes what can be written now of bytes that come behind all others. Returns how many: none if others wait, or the
    /// connection has failed.
    [[nodiscard]] virtual std::size_t write_now(std::string_view) { return 0; }
    /// Is there something to read: bytes, or the end of the stream?
    [[nodiscard]] virtual bool readable() = 0;
    /// Has the peer hung up, whatever is still to be read?
    [[nodiscard]] virtual bool hung_up() = 0;
    /// Copies bytes that a read would give now, and leaves them to a later read; zero if they cannot be seen.
    [[nodiscard]] virtual std::size_t peek(boost::asio::mutable_buffer) { return 0; }
    ///@}

    /// Detaches the listener, and closes the connection.
    virtual void close() = 0;
    /// The same without reading: unread bytes belong to a forked child's parent.
    virtual void drop() = 0;
    /// Detaches the listener, writes what can be written of `rest` now, then closes the connection.
    virtual void finish(std::string rest) = 0;

protected:
    stream() = default;

    stream_listener* listener_ = nullptr;

private:
    std::shared_ptr<void> buffer_;
};

} // namespace redlock::net
