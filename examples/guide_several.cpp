// SPDX-License-Identifier: BSL-1.0
// Transfers between two accounts each: the guide's page on several locks at once.
// Run: guide_several                  with three Redis servers of its own
//      guide_several redis://a:6379…  with yours
#include "run.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <map>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Data that all processes reach. The sum must not change.
using accounts = std::map<std::string, int>;

asio::awaitable<void> think()
{
    asio::steady_timer work(co_await asio::this_coro::executor, 5ms);
    co_await work.async_wait(asio::use_awaitable);
}

asio::awaitable<void> transfer(redlock::client& locks, accounts& all, std::string from, std::string to)
{
    redlock::multi_mutex both{locks, {"account:" + from, "account:" + to}};
    redlock::lease lease = co_await both.acquire();
    int const left = all[from] - 1;
    int const more = all[to] + 1;
    co_await think();
    all[from] = left;
    all[to] = more;
    co_await lease.release();
}

asio::awaitable<void> transfer_back(redlock::client& locks, accounts& all, std::string from, std::string to)
{
    auto body = [&](redlock::lease&) -> asio::awaitable<void> {
        int const left = all[to] - 1;
        int const more = all[from] + 1;
        co_await think();
        all[to] = left;
        all[from] = more;
    };
    redlock::multi_mutex const all_of_it{locks, {"account:" + from, "account:" + to}};
    co_await redlock::with_lock(all_of_it, body);
}

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    using namespace asio::experimental::awaitable_operators;
    accounts all{{"ann", 100}, {"bob", 100}, {"cem", 100}};
    for (int i = 0; i != 10; ++i)
        co_await (transfer(locks, all, "ann", "bob") && transfer(locks, all, "bob", "cem") &&
                  transfer(locks, all, "cem", "ann") && transfer_back(locks, all, "ann", "cem"));
    int const sum = all["ann"] + all["bob"] + all["cem"];
    promises.keep(sum == 300, "no transfer was lost");
}

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}
