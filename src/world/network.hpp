// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/executor.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"
#include "world/keyspace.hpp"
#include "world/names.hpp"
#include "world/server.hpp"
#include "world/timeline.hpp"
#include "world/tls_end.hpp"

#include <boost/asio/ip/address_v4.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::world {

class network;

/// One server with its address, its clock and its faults.
struct node {
    node(network&, unsigned number);

    server redis;
    duration clock_ahead{}; ///< how far the wall clock is ahead of true time
    double clock_rate = 1;
    bool up = true;           ///< the server listens
    bool reachable = true;    ///< otherwise packets are lost permanently, and with them the connections
    bool cuts_answer = false; ///< the next answer is cut off by a reset
    duration stalled_until{};
    /// A middleman: receives all that the server sends on a connection, and returns what the client receives.
    std::function<std::string(server::connection_id, std::string)> garble{};
    /// Receives all that is sent to the server, write by write.
    std::function<void(server::connection_id, std::string_view)> overhear{};
    tls_traits tls{};
    boost::asio::ip::address_v4 address;

    [[nodiscard]] std::int64_t wall_us(duration now) const;
    /// From now on its wall clock runs at this rate.
    void run_clock_at(double rate, duration now);
};

/// The network between a client and a node.
struct path {
    duration latency = std::chrono::microseconds{100};
    duration jitter{};
    duration cut_there_until{}; ///< bytes that are sent earlier arrive later
    duration cut_back_until{};
};

/// The kind of address at which a connection arrives.
struct entrance {
    bool local = false;  ///< by a socket of the server's machine, where no packet is lost
    bool secure = false; ///< speaks TLS
};

/// One connection's two directions.
class link;

/// Nodes, and the connections of clients to them. Nodes have the addresses 127.77.0.1 and on, names and sockets.
class network {
public:
    network(timeline& t, unsigned nodes, std::uint64_t seed);
    ~network();

    [[nodiscard]] timeline& time() { return time_; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] node& at(std::size_t i) { return *nodes_[i]; }
    [[nodiscard]] std::string url(std::size_t i) const;
    [[nodiscard]] static std::string name(std::size_t i)
    {
        return "node-" + std::to_string(i + 1) + ".world";
    }
    [[nodiscard]] static std::string path_of(std::size_t i) { return "/world/" + name(i); }
    static constexpr std::uint16_t port = 6379;
    static constexpr std::uint16_t tls_port = 6380;
    /// An address without a server that never answers. Other addresses without a server refuse connections.
    static constexpr auto nowhere = 0x7f4e0001U; // 127.78.0.1
    /// Empty: no server has the address.
    [[nodiscard]] std::optional<unsigned> at_address(boost::asio::ip::address_v4) const;
    [[nodiscard]] world::names& names() { return names_; }
    [[nodiscard]] path& between(unsigned host, std::size_t node) { return paths_[{host, node}]; }

    [[nodiscard]] std::shared_ptr<net::stream> make_stream(unsigned host, net::any_io_executor const&,
                                                           std::weak_ptr<void> busy);
    void run_server(unsigned node, std::shared_ptr<link> const&, std::string const& bytes);
    /// Handles FIN.
    void hang_up(unsigned node, std::shared_ptr<link> const&);

    /// Ends its process. If `with_rst` is false, the machine is gone, too, and clients do not notice.
    void kill(std::size_t node, bool with_rst = true);
    using data = std::map<std::string, keyspace::value>;
    /// A new process with these keys, as from an append-only file.
    void start(std::size_t node, data keys = {});
    /// Replaces it by a replica of the same uptime, with the data that the replica had received.
    void promote(std::size_t node, data keys);
    /// Makes it follow another server, which has no key. `lead` makes it a master again.
    void follow(std::size_t node);
    void lead(std::size_t node);
    /// \param host only those of this one
    void reset_connections(std::size_t node, std::optional<unsigned> host = {});
    /// Delays the bytes of existing connections: they arrive behind those of later connections.
    void hold_connections(std::size_t node, unsigned host, duration until);
    /// A middleman resets the client's side of them: bytes that were sent before still arrive.
    void reset_clients(std::size_t node, unsigned host);
    /// Ends them with FIN, behind the bytes that were sent.
    /// \param announced by close_notify, if they are TLS
    void close_connections(std::size_t node, bool announced);
    /// Makes its name resolve to its address alone.
    void tell_address(std::size_t node) { names_.known[name(node)] = {nodes_[node]->address}; }
    /// Gives its machine another address, which its name does not resolve to yet. Its process goes on.
    void move(std::size_t node, bool with_rst);

    /// That process was killed: bytes that are not sent yet never are, and its machine ends its connections.
    void bury(unsigned host);
    [[nodiscard]] bool buried(unsigned host) const { return dead_.contains(host); }

    [[nodiscard]] std::minstd_rand& dice() { return dice_; }
    [[nodiscard]] duration between_zero_and(duration most);
    /// A process has used a connection, or the names.
    void touch(unsigned host) { ++touched_[host]; }
    [[nodiscard]] std::uint64_t touched(unsigned host) { return touched_[host]; }
    /// Chance in a hundred that a write takes only a part, and that bytes arrive in pieces.
    unsigned pieces = 0;

private:
    friend class link;
    friend struct node;
    [[nodiscard]] std::vector<std::shared_ptr<link>> links_of(std::size_t node, unsigned host) const;
    void speak(unsigned node, server::connection_id);
    void serve(unsigned node, std::shared_ptr<link> const&);
    [[nodiscard]] bool decipher(unsigned node, std::shared_ptr<link> const&);
    void cut_answer(unsigned node, std::shared_ptr<link> const&, std::string const& bytes);
    [[nodiscard]] std::string new_id(char fill);
    [[nodiscard]] std::shared_ptr<link> join(unsigned host, unsigned node, entrance);
    void forget(unsigned node, server::connection_id);
    [[nodiscard]] std::vector<std::shared_ptr<link>> take_links(std::size_t node, bool remote_only = false,
                                                                std::optional<unsigned> host = {});

    timeline& time_;
    std::minstd_rand dice_;
    std::vector<std::unique_ptr<node>> nodes_;
    std::map<std::pair<unsigned, std::size_t>, path> paths_;
    std::map<server::connection_id, std::weak_ptr<link>> links_;
    std::set<unsigned> dead_;
    world::names names_;
    std::map<unsigned, std::uint64_t> touched_;
    server::connection_id next_id_ = 1;
    unsigned lives_ = 0;

    friend class sim_stream;
};

} // namespace redlock::world
