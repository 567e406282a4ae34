// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "world/server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// A real server and the simulated one. Every command goes to both, and their answers are compared byte for byte.
class pair_of_servers {
public:
    /// How a connection begins.
    struct manner {
        int protocol = 3;
        bool tracks = false;
        bool no_loop = false;
    };
    using words = std::vector<std::string>;

    pair_of_servers();

    /// Numbered from 1.
    unsigned connect(manner);
    /// Both have seen that it was closed.
    void reconnect(unsigned id);
    unsigned connections() const { return static_cast<unsigned>(peers_.size()); }

    static std::string in_bytes(words const& command);
    /// Other connections may have received messages, too.
    void compare(unsigned id, std::string const& to_both) { compare(id, to_both, to_both); }
    void ask(unsigned id, words const& command) { compare(id, in_bytes(command)); }
    void compare(unsigned id, std::string const& to_real, std::string const& to_fake);
    /// Compares the values of these keys, without a visible access.
    void compare_keys(words const& names);

    /// Runs a command of a client that is not compared.
    void as_somebody_else(words const& command);
    /// There is no memory left.
    void fill(bool now);
    /// Makes it follow another server, which cannot be reached.
    void demote(bool now);
    void append(bool now);
    void evict();
    void protect(std::string const& password);
    /// Nobody may run it any more.
    void forbid(std::string const& command);
    /// No user may use a channel; subscribers are disconnected.
    void forbid_channels(bool now);
    /// Restores all rights, the memory, and the role of a master.
    void mend();
    void forget_scripts();
    void advance_clock(std::chrono::milliseconds by);
    std::int64_t now_us() const;
    /// Is the real one newer than Redis 7.0, whose words the simulation says?
    bool is_newer() const { return newer_; }

    redis_server& real() { return real_; }
    world::server& fake() { return fake_; }
    /// The markers that each of the two has told.
    std::string const& real_marker() const { return real_marker_; }
    std::string const& fake_marker() const { return fake_marker_; }

private:
    struct peer {
        boost::asio::ip::tcp::socket socket;
        manner how;
    };

    void open(unsigned id);
    void ask_real(unsigned id, std::string const& question);
    std::string take_real_answer(unsigned id);
    std::string real_answer(unsigned id, std::string const& to_real);
    std::string fake_answer(unsigned id, std::string const& to_fake);
    void compare_answers(unsigned id, std::string const& to_real, std::string const& to_fake);
    void compare_answers(unsigned id, std::string const& to_real, std::string const& real,
                         std::string const& to_fake);

    redis_server real_;
    probe probe_{real_.port()};
    boost::asio::io_context context_;
    std::map<unsigned, peer> peers_;
    world::server fake_{[](world::server::connection_id) {}};
    bool newer_ = false;
    std::chrono::milliseconds ahead_{};
    std::string real_marker_;
    std::string fake_marker_;
    std::string earlier_; ///< the former text
};

} // namespace redlock::test
