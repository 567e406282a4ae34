// SPDX-License-Identifier: BSL-1.0
// Testing code that takes locks against real servers that the test starts, with `assume_fresh`. A test needs three
// cases: success, a lock that another client holds, and servers that are gone.
// Run: guide_testing_servers
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// The function under test. It is given its client, and so knows nothing of servers.
asio::awaitable<std::string> book(redlock::client& locks, std::string seat)
{
    redlock::mutex lock{locks, "seat:" + seat};
    error_code ec;
    redlock::lease lease = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    if (ec == redlock::errc::contended)
        co_return "busy";
    co_return ec ? "unavailable" : "booked";
}

asio::awaitable<redlock::lease> take(redlock::mutex lock)
{
    co_return co_await lock.acquire();
}

/// One test's world: servers, a context, and a client that takes the servers for new.
struct fixture {
    example::nodes servers{3};
    asio::io_context context;
    redlock::client locks = another_process();

    redlock::client another_process()
    {
        return {context.get_executor(), {.nodes = servers.urls, .admission = {.assume_fresh = true}}};
    }

    template <class T>
    T run(asio::awaitable<T> work)
    {
        auto result = asio::co_spawn(context, std::move(work), asio::use_future);
        context.restart();
        while (result.wait_for(0s) != std::future_status::ready)
            context.run_one(); // not run(): a lease that is held keeps that going
        return result.get();
    }
};

void books_a_free_seat(example::promises& promises)
{
    fixture test;
    promises.keep(test.run(book(test.locks, "42")) == "booked", "a free seat is booked");
}

void is_busy_while_another_process_books(example::promises& promises)
{
    fixture test;
    redlock::client other = test.another_process();
    redlock::mutex lock{other, "seat:42"};
    redlock::lease held = test.run(take(lock));
    promises.keep(test.run(book(test.locks, "42")) == "busy", "a seat that another process books is busy");
}

void is_unavailable_without_a_majority(example::promises& promises)
{
    fixture test;
    test.servers.own[0]->kill();
    test.servers.own[1]->kill();
    promises.keep(test.run(book(test.locks, "42")) == "unavailable", "without a majority nobody books");
}

int main()
{
    example::promises promises;
    books_a_free_seat(promises);
    is_busy_while_another_process_books(promises);
    is_unavailable_without_a_majority(promises);
    return promises.exit_code();
}
