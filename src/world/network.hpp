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

/// One server with its place in the network, its clock and what has befallen it.
struct node {
    node(network&, unsigned number);

    server redis;
    duration clock_ahead{}; ///< of its wall clock, before true time
    double clock_rate = 1;
    bool up = true;           ///< somebody listens
    bool reachable = true;    ///< otherwise packets are lost for good, and with them the connections
    bool cuts_answer = false; ///< the next thing that it says is broken off by a reset
    duration stalled_until{};
    /// Whoever sits between: gets all that it says on a connection, and passes on what he likes.
    std::function<std::string(server::connection_id, std::string)> garble{};
    /// Told of all that is said to it, write by write.
    std::function<void(server::connection_id, std::string_view)> overhear{};
    tls_traits tls{};
    boost::asio::ip::address_v4 address;

    [[nodiscard]] std::int64_t wall_us(duration now) const;
    /// From now on its wall clock runs at this rate.
    void run_clock_at(double rate, duration now);
};

/// How a client and a node hear of each other.
struct path {
    duration latency = std::chrono::microseconds{100};
    duration jitter{};
    duration cut_there_until{}; ///< what is sent before comes after
    duration cut_back_until{};
};

/// Where a connection comes in.
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
    /// Whoever asks there hears nothing. At other addresses without a server he is refused.
    static constexpr auto nowhere = 0x7f4e0001U; // 127.78.0.1
    /// Nothing: nobody has it.
    [[nodiscard]] std::optional<unsigned> at_address(boost::asio::ip::address_v4) const;
    [[nodiscard]] world::names& names() { return names_; }
    [[nodiscard]] path& between(unsigned host, std::size_t node) { return paths_[{host, node}]; }

    [[nodiscard]] std::shared_ptr<net::stream> make_stream(unsigned host, net::any_io_executor const&,
                                                           std::weak_ptr<void> busy);
    void run_server(unsigned node, std::shared_ptr<link> const&, std::string const& bytes);
    /// FIN has come.
    void hang_up(unsigned node, std::shared_ptr<link> const&);

    /// Its process ends. Clients hear of it, or, where the machine is gone, do not.
    void kill(std::size_t node, bool with_rst = true);
    using data = std::map<std::string, keyspace::value>;
    /// A new process with these keys, as from an append-only file.
    void start(std::size_t node, data keys = {});
    /// A replica takes its place, which has been there for as long, with what had been told to it.
    void promote(std::size_t node, data keys);
    /// It is told to follow another server, which has no key; and then to follow nobody.
    void follow(std::size_t node);
    void lead(std::size_t node);
    /// \param host only those of this one
    void reset_connections(std::size_t node, std::optional<unsigned> host = {});
    /// What comes on the connections that stand arrives late, as a whole behind what comes on later ones.
    void hold_connections(std::size_t node, unsigned host, duration until);
    /// A middleman resets the client's side of them: what was sent before still arrives.
    void reset_clients(std::size_t node, unsigned host);
    /// With FIN, behind what was said.
    /// \param announced by close_notify, where they are TLS
    void close_connections(std::size_t node, bool announced);
    /// Its name tells its address, and no other one.
    void tell_address(std::size_t node) { names_.known[name(node)] = {nodes_[node]->address}; }
    /// Its machine gets another address, which its name does not tell yet. Its process goes on.
    void move(std::size_t node, bool with_rst);

    /// That process was killed: what it has not sent yet never is, and its machine ends its connections.
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
