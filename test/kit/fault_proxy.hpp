// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace redlock::test {

enum class direction { to_server, to_client };

/// A TCP proxy on loopback in front of one server that does to the traffic what the test says. It runs on a
/// thread of its own; every member may be called from any thread and has taken effect when it returns.
///
/// A mode holds for one direction of all connections, present and future. A switch judges anew what still
/// waits in the proxy: pass() after hold() lets it go in order, drop() after hold() loses it.
///
/// Tests synchronise on what happened, with the wait_* functions: bounded, throwing std::runtime_error at the
/// limit.
class fault_proxy {
public:
    explicit fault_proxy(std::uint16_t server_port,
                         std::chrono::milliseconds limit = std::chrono::seconds(10));
    ~fault_proxy();
    fault_proxy(fault_proxy const&) = delete;
    fault_proxy& operator=(fault_proxy const&) = delete;

    std::uint16_t port() const noexcept;
    std::string url() const;

    // Modes of a direction.
    void pass(direction way);
    /// Keeps bytes and the end of the stream until another mode lets them go.
    void hold(direction way);
    void delay(direction way, std::chrono::milliseconds by);
    /// Swallows bytes; the end of the stream gets through.
    void drop(direction way);
    /// One byte per segment.
    void dribble(direction way);
    /// Stops reading: the sender's window fills, the receiver hears nothing, not even an end. As in a healed
    /// partition, pass() delivers everything late.
    void cut_one_way(direction way);
    /// Ends hold() (the same as pass()).
    void release(direction way) { pass(way); }
    void release();
    /// Forwards what waits and stays in the mode: one step of a held conversation.
    void flush(direction way);

    // Once, to the next chunk that arrives on any connection.
    void duplicate(direction way);
    /// The next chunk from the server is replaced by `bytes`.
    void garbage(std::string bytes);

    // All present connections, both sides.
    void reset_all();
    /// An orderly end (FIN); what waits is lost.
    void close_all();

    // Connections to come.
    /// Stops listening; present connections live on.
    void refuse();
    /// Present and future connections stay open, and every byte is swallowed. One that was swallowed stays
    /// so.
    void black_hole();
    /// Ends refuse() and black_hole().
    void accept();
    /// Takes later connections to another server.
    void redirect(std::uint16_t server_port);

    /// Bytes read from the sender. In cut_one_way they stay in the kernel and are not counted.
    std::uint64_t bytes(direction way) const;
    /// Bytes the receiver's kernel has taken; a duplicate counts. The receiver may see them a moment before
    /// the count.
    std::uint64_t forwarded(direction way) const;
    /// Bytes waiting in the proxy.
    std::uint64_t held(direction way) const;
    /// Open now.
    std::size_t connections() const;
    /// Since the start; tells a reconnection from the connection before it.
    std::size_t accepted() const;

    void wait_for_bytes(direction way, std::uint64_t count) const;
    void wait_forwarded(direction way, std::uint64_t count) const;
    void wait_held(direction way, std::uint64_t min_bytes) const;
    void wait_connections(std::size_t exactly) const;
    void wait_accepted(std::size_t at_least) const;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

} // namespace redlock::test
