// SPDX-License-Identifier: BSL-1.0
// Writes the library's lines to the program's own logger, and adds an observer of the program.
// Run: guide_logging. It starts three Redis servers of its own, and kills one.
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;

int warnings = 0;

void my_logger(redlock::log_level level, std::string_view line)
{
    std::cout << '[' << to_string(level) << "] " << line << '\n';
    warnings += level == redlock::log_level::warning ? 1 : 0;
}

struct lease_counter final : redlock::observer {
    int acquired = 0;
    void on_lease(redlock::lease_event const& e) noexcept override
    {
        acquired += e.what == redlock::lease_event::kind::acquired ? 1 : 0;
    }
};

asio::awaitable<void> show(redlock::client& locks)
{
    redlock::lease const held = co_await redlock::mutex(locks, "seat:42").acquire();
}

int main()
{
    example::nodes servers(3);
    example::promises promises;
    servers.own[2]->kill();
    asio::io_context context;
    auto counter = std::make_shared<lease_counter>();
    auto log = redlock::log_to([](redlock::log_level level, std::string_view line) {
        my_logger(level, line); // must not block: renewals run here
    });
    redlock::client locks{
        context,
        {.nodes = servers.urls,
         .admission = {.assume_fresh = true}, // the servers are new: nothing can have been lost by a restart
         .observer = redlock::observers({log, counter})}};
    auto done = asio::co_spawn(context, show(locks), asio::use_future);
    context.run();
    done.get();
    promises.keep(counter->acquired == 1, "an observer beside the log");
    promises.keep(warnings != 0, "a line for the server that is down");
    return promises.exit_code();
}
