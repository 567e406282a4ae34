// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>

/// The lease of a program that links the installed library is lost in the kit's world.
int main()
{
    boost::asio::io_context context;
    redlock::testing::world servers(context);
    redlock::client locks = servers.make_client();
    redlock::mutex lock(locks, "seat:42");
    redlock::lease held;
    lock.acquire([&](boost::system::error_code, redlock::lease got) { held = std::move(got); });
    servers.advance(std::chrono::seconds{60});
    bool const kept = held.valid();
    servers.lose(held);
    servers.advance(std::chrono::seconds{0});
    return kept && held.state() == redlock::lease_state::lost ? 0 : 1;
}
