// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/fault_proxy_pipe.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <set>

namespace redlock::test::proxy {

using session_ptr = std::shared_ptr<session>;
using session_set = std::set<session_ptr>;

/// One connection: a socket on either side and a pipe each way.
class session : public std::enable_shared_from_this<session> {
public:
    session(tcp::socket accepted, std::array<orders, 2>& wanted, board& news, session_set& all);

    void start(std::uint16_t server_port);
    void swallow();
    void reset();
    void close();
    void close_orderly();
    void finished_one();
    pipe& towards(direction way) { return way == direction::to_server ? up_ : down_; }

private:
    void leave();

    tcp::socket client_;
    tcp::socket server_;
    board& news_;
    session_set& all_;
    pipe up_;
    pipe down_;
};

} // namespace redlock::test::proxy
