// SPDX-License-Identifier: BSL-1.0
// redlock_cycles CONCURRENCY CYCLES URL...: runs this many cycles against existing nodes, without output: for
// instructions.sh and native.py.
#include "cycle_client.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct load {
    redlock::client locks;
    long left;
};

asio::awaitable<void> cycles(load& shared, unsigned slot)
{
    // No window is opened because time has passed: an emulated processor is slow.
    redlock::mutex lock(shared.locks, redlock::bench::resource_name(0, slot),
                        {.ttl = 10s, .handover = {.period = 1h}});
    while (shared.left-- > 0) {
        redlock::lease held = co_await lock.acquire();
        co_await held.release();
    }
}

void rethrow(std::exception_ptr const& error)
{
    if (error)
        std::rethrow_exception(error);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 4) {
        std::fputs("redlock_cycles CONCURRENCY CYCLES URL...\n", stderr);
        return 64;
    }
    redlock::config settings{.nodes = {argv + 3, argv + argc}};
    settings.admission.assume_fresh = true;
    asio::io_context context{1};
    load shared{.locks{context.get_executor(), settings}, .left = std::strtol(argv[2], nullptr, 10)};
    auto const concurrency = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
    for (unsigned slot = 0; slot != concurrency; ++slot)
        asio::co_spawn(context, cycles(shared, slot), rethrow);
    context.run();
}
