// SPDX-License-Identifier: BSL-1.0
// A worker that is told to stop by SIGTERM: it ends its job, gives its locks back, and leaves no key behind.
// Run: guide_shutdown. It starts three Redis servers of its own, and sends the signal itself.
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

asio::awaitable<void> job(redlock::lease& held)
{
    asio::steady_timer work(co_await asio::this_coro::executor);
    while (held.valid()) {
        work.expires_after(10ms);
        co_await work.async_wait(asio::use_awaitable); // a cancellation ends the job here
    }
}

asio::awaitable<void> worker(redlock::client& locks)
{
    redlock::mutex report{locks, "report"};
    auto body = [](redlock::lease& held) { return job(held); };
    co_await redlock::with_lock(report, body);
}

/// First the work, then the client: a lease that ends with the client would end under the job's feet.
void stop_on_signals(asio::io_context& context, redlock::client& locks, bool& ended)
{
    auto stop = std::make_shared<asio::cancellation_signal>();
    auto signals = std::make_shared<asio::signal_set>(context, SIGTERM, SIGINT);
    signals->async_wait([stop](error_code ec, int) {
        if (!ec)
            stop->emit(asio::cancellation_type::terminal); // the job unwinds, then its lock is released
    });
    auto after = [&, stop, signals](std::exception_ptr) {
        ended = true;
        signals->cancel();
        locks.shutdown([](error_code ec) { // ends remaining leases and connections
            if (ec)
                std::cerr << "a key may be left behind for ttl + slack: " << ec.message() << '\n';
        });
    };
    asio::co_spawn(context, worker(locks), asio::bind_cancellation_slot(stop->slot(), after));
}

int main()
{
    example::nodes servers(3);
    example::promises promises;
    asio::io_context context;
    // The servers are new: nothing can have been lost by a restart.
    redlock::client locks{context.get_executor(),
                          {.nodes = servers.urls, .admission = {.assume_fresh = true}}};

    bool ended = false;
    stop_on_signals(context, locks, ended);
    asio::steady_timer some_time(context, 200ms);
    some_time.async_wait([](error_code) { std::raise(SIGTERM); });

    context.run(); // returns when the job has ended and the client is shut down
    promises.keep(ended, "the job ended, and so did run()");
    for (auto const& server : servers.own)
        promises.keep(server->ask("EXISTS report") == ":0", "no key is left on " + server->url());
    return promises.exit_code();
}
