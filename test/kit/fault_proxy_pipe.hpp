// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/fault_proxy_board.hpp"
#include "kit/fault_proxy_orders.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <deque>
#include <string>

namespace redlock::test::proxy {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct chunk {
    enum class kind { data, fin, reset };
    kind what = kind::data;
    std::string bytes{};
    clock::time_point due{};
    bool dribble = false;
};

class session;

/// One direction of one connection: reads a chunk, lets the orders judge it, writes what is ready.
class pipe {
public:
    pipe(session& owner, direction way, tcp::socket& from, tcp::socket& to, orders& wanted, board& news)
        : owner_(owner), way_(way), from_(from), to_(to), wanted_(wanted), news_(news),
          due_(from.get_executor()), gap_(from.get_executor())
    {}

    void read();
    void judge_again();
    void flush();
    /// From now on bytes are read and forgotten.
    void swallow();
    void stop();
    bool source_ended() const noexcept { return source_ended_; }
    bool finished() const noexcept { return finished_; }

private:
    bool deaf() const { return wanted_.how == mode::cut && !swallowing_; }
    void on_readable();
    void on_end(error_code ec);
    void arrived(std::string bytes);
    void judge(chunk part);
    void keep(chunk part, clock::time_point due);
    chunk next_waiting();
    void lose_waiting();
    void arm();
    void write();
    void write_bytes();
    void on_written(error_code ec, std::size_t count);

    session& owner_;
    direction way_;
    tcp::socket& from_;
    tcp::socket& to_;
    orders& wanted_;
    board& news_;
    asio::steady_timer due_;
    asio::steady_timer gap_;
    std::deque<chunk> waiting_;
    std::deque<chunk> ready_;
    chunk current_;
    std::size_t written_ = 0;
    bool reading_ = false;
    bool writing_ = false;
    bool swallowing_ = false;
    bool source_ended_ = false;
    bool finished_ = false;
};

} // namespace redlock::test::proxy
