// SPDX-License-Identifier: BSL-1.0
// One coroutine takes a lock and gives it back. Run: 01_hello redis://10.0.0.1 redis://10.0.0.2 …
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <stdexcept>

namespace asio = boost::asio;

asio::awaitable<void> book(redlock::client& locks)
{
    redlock::mutex seat{locks, "seat:42"};
    redlock::lease lease = co_await seat.acquire(); // waits until held; renews itself from now on
    std::cout << "held on " << lease.votes() << " servers\n";
    co_await lease.release(); // frees the key on every server
}

int main(int argc, char** argv)
try {
    if (argc < 2)
        throw std::invalid_argument("usage: hello redis://HOST:PORT...");
    asio::io_context context;
    auto log = redlock::log_to(std::clog); // says at once what is wrong, and why a lock is waited for
    redlock::client locks{context, {.nodes = {argv + 1, argv + argc}, .observer = log}};
    auto done = asio::co_spawn(context, book(locks), asio::use_future);
    context.run();
    done.get(); // throws what the coroutine threw
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
