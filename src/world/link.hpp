// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/coroutine.hpp"
#include "net/executor.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"
#include "world/network.hpp"
#include "world/server.hpp"
#include "world/timeline.hpp"
#include "world/tls_end.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::world {

/// One connection. Bytes keep their order in each direction, whatever happens to other connections.
class link : public std::enable_shared_from_this<link> {
public:
    link(network& net, unsigned host, unsigned node, entrance by, server::connection_id id)
        : net_(net), host_(host), node_(node), by_(by), id_(id)
    {}

    [[nodiscard]] unsigned host() const { return host_; }
    [[nodiscard]] unsigned node() const { return node_; }
    [[nodiscard]] server::connection_id id() const { return id_; }
    [[nodiscard]] bool local() const { return by_.local; }
    [[nodiscard]] bool secure() const { return by_.secure; }
    /// True while packets do not get through.
    [[nodiscard]] bool cut_off() const;

    /// \param heard called when there is something to read, or nothing more will come
    void open(std::function<void()> heard) { heard_ = std::move(heard); }
    void send(std::string bytes);
    void send_back(std::string bytes);
    /// Sends FIN from the client, behind its bytes.
    void close();
    /// Nothing is delivered any more, and the client notices now.
    void reset();
    /// Bytes that are sent from now on arrive no sooner.
    void hold_until(duration when) { last_there_ = std::max(last_there_, when); }
    /// A middleman resets the client's side alone: bytes that were sent before still arrive.
    void reset_client();
    /// The client notices a reset or FIN behind the bytes that were sent to it.
    void end_behind(net::error_code);
    /// A packet was lost permanently: nothing behind it is delivered, and neither end is told.
    void lose() { lost_ = true; }
    [[nodiscard]] bool lost() const { return lost_; }

    std::string arrived;     ///< and not read yet
    net::error_code ended{}; ///< the end behind the bytes

    /// True if written bytes are not accepted any more.
    [[nodiscard]] bool broken() const { return ended && ended != boost::asio::error::eof; }

    tls_end tls{};
    std::string enciphered; ///< bytes that have arrived through TLS
    std::string unread;     ///< by the server, which is busy
    bool finished = false;  ///< FIN follows
private:
    [[nodiscard]] duration arrival(duration& last, duration cut_until);
    void end(net::error_code);
    void in_pieces(std::string bytes, void (link::*on)(std::string));
    void carry(std::string bytes);
    void carry_back(std::string bytes);

    network& net_;
    unsigned host_;
    unsigned node_;
    entrance by_;
    server::connection_id id_;
    duration last_there_{};
    duration last_back_{};
    bool lost_ = false;
    bool still_arrives_ = false; ///< although the client's side has ended
    std::function<void()> heard_;
};

class sim_stream final : public net::stream {
public:
    /// \param busy held while an operation is under way
    sim_stream(network& net, unsigned host, net::any_io_executor executor, std::weak_ptr<void> busy)
        : net_(net), host_(host), executor_(std::move(executor)), busy_(std::move(busy))
    {}

    void connect(net::endpoint const&, bool keep_alive, net::resumption) override;
    void interrupt() override;
    void handshake(net::resumption) override;
    void read(boost::asio::mutable_buffer, net::resumption) override;
    void write(boost::asio::const_buffer, net::resumption) override;
    void start_read(boost::asio::mutable_buffer) override;
    std::size_t write_now(std::string_view) override;
    void flush(std::string& out) override;
    [[nodiscard]] bool readable() override { return link_ && (!link_->arrived.empty() || link_->ended); }
    [[nodiscard]] bool hung_up() override { return !link_ || link_->ended.failed(); }
    [[nodiscard]] std::size_t peek(boost::asio::mutable_buffer) override;
    void close() override;
    void drop() override;
    void finish(std::string rest) override;

    /// \name For a stream over this one
    ///@{
    using completion = std::function<void(net::error_code, std::size_t)>;
    void read_some(boost::asio::mutable_buffer, completion);
    void send(std::string bytes, completion);
    /// Forgets the handler.
    void stop_reading() { reading_ = nullptr; }
    /// Calls it on the executor.
    void complete(completion, net::error_code, std::size_t bytes = 0);
    ///@}

private:
    [[nodiscard]] completion under_way(completion) const;
    [[nodiscard]] std::size_t taken_of(std::size_t size);
    void connect_by_path(std::string const& path, completion const&);
    void connect_to(boost::asio::ip::address_v4, std::uint16_t port);
    void arrived(boost::asio::ip::address_v4, std::uint16_t port, completion const&);
    void connected(unsigned node, entrance, completion const&);
    void heard();

    network& net_;
    unsigned host_;
    net::any_io_executor executor_;
    std::weak_ptr<void> busy_;
    std::shared_ptr<link> link_;
    boost::asio::mutable_buffer into_;
    completion reading_;
    completion connecting_;
    bool writing_ = false;
    bool closed_ = false;
};

} // namespace redlock::world
