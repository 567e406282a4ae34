#pragma once

#include "net/coroutine.hpp"
#include "net/handler_memory.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace redlock::net {

/// Tcp or unix-domain: what they are called differs, how bytes move does not.
using socket = boost::asio::generic::stream_protocol::socket;
using boost::system::error_code;

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
    /// The plain socket underneath.
    virtual socket& transport() = 0;
    virtual void handshake(resumption) = 0;
    virtual void read(boost::asio::mutable_buffer, resumption) = 0;
    virtual void write(boost::asio::const_buffer, resumption) = 0;
    /// After a failure: what a certificate, the peer's or ours, has to do with it; empty where none has.
    [[nodiscard]] virtual std::string certificate_trouble() { return {}; }
    ///@}

    /// \name In use, for the listener
    ///@{
    void listen(stream_listener& listener) { listener_ = &listener; }
    /// Starts one read; `on_read` follows.
    virtual void start_read(boost::asio::mutable_buffer) = 0;
    /// Writes what can be written now and removes it from `out`; `on_writable` follows if something is left.
    virtual void flush(std::string& out) = 0;
    /// Is there something to read: bytes, or the end of the stream?
    [[nodiscard]] bool readable();
    /// Has the peer hung up, whatever is still to be read?
    [[nodiscard]] bool hung_up();
    /// Bytes that a read would give now, and later still does; none where they cannot be seen.
    [[nodiscard]] virtual std::size_t peek(boost::asio::mutable_buffer) { return 0; }
    ///@}

    /// No listener any more, and no connection.
    void close();
    /// The same without reading: what a forked child would read is the parent's.
    void drop();
    /// No listener any more; what can be written of `rest` is, then the connection is closed.
    virtual void finish(std::string rest) = 0;

protected:
    stream() = default;

    stream_listener* listener_ = nullptr;
    handler_memory read_memory_;
    handler_memory write_memory_;
    bool writing_ = false;
};

[[nodiscard]] std::shared_ptr<stream> make_plain_stream(socket);

} // namespace redlock::net
