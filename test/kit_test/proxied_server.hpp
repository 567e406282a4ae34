// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/fault_proxy.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "kit_test/wire.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace redlock::test {

/// A server, reached through a proxy and directly.
struct proxied_server {
    redis_server server;
    fault_proxy proxy{server.port()};
    probe direct{server.port()};
};

inline constexpr auto to_server = direction::to_server;
inline constexpr auto to_client = direction::to_client;
inline std::string const pong = "+PONG\r\n";

inline void ping(wire& client)
{
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
}

} // namespace redlock::test
