// SPDX-License-Identifier: BSL-1.0
// A price list that many requests read and a job replaces now and then: the guide's page on readers and writers.
// Run: guide_readers                  with three Redis servers of its own
//      guide_readers redis://a:6379…  with yours
#include "fenced_register.hpp"
#include "run.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <optional>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Data that all processes reach; no reader may see half of a change.
struct price_list {
    int version = 0;
    int checksum = 0;
};

asio::awaitable<bool> read(redlock::shared_mutex lock, price_list const& prices)
{
    redlock::lease lease = co_await lock.acquire_shared(); // other readers may read at the same time
    bool const whole = prices.version == prices.checksum;
    co_await lease.release();
    co_return whole;
}

asio::awaitable<void> replace(redlock::shared_mutex lock, price_list& prices)
{
    auto body = [&prices](redlock::lease&) -> asio::awaitable<void> { // alone
        ++prices.version;
        asio::steady_timer work(co_await asio::this_coro::executor, 20ms);
        co_await work.async_wait(asio::use_awaitable);
        ++prices.checksum;
    };
    co_await redlock::with_lock(lock, body);
}

asio::awaitable<bool> read_for_long(redlock::shared_mutex lock, price_list const& prices)
{
    auto body = [&prices](redlock::lease&) -> asio::awaitable<bool> {
        int const before = prices.version;
        asio::steady_timer work(co_await asio::this_coro::executor, 50ms);
        co_await work.async_wait(asio::use_awaitable);
        co_return prices.version == before;
    };
    co_return co_await redlock::with_lock(lock.shared(), body); // cancelled when the lease is lost
}

/// Reads what it has written itself.
asio::awaitable<bool> replace_and_read(redlock::shared_mutex lock, price_list& prices)
{
    redlock::lease lease = co_await lock.acquire();
    int const mine = prices.version = prices.checksum = prices.version + 1;
    lease.downgrade(); // readers come in, and no writer between
    bool const still_mine = prices.version == mine && lease.shared();
    co_await lease.release();
    co_return still_mine;
}

asio::awaitable<bool> nobody_changes_it(redlock::shared_mutex lock)
{
    auto const [ec, lease] = co_await lock.try_acquire_shared(asio::as_tuple(asio::use_awaitable));
    co_return lease.valid(); // contended: a writer has it, or waits for it
}

asio::awaitable<bool> read_with_token(redlock::fenced_shared_mutex lock, fenced_register<int>& price)
{
    redlock::lease lease = co_await lock.acquire_shared();
    std::optional<int> const seen = price.read(lease.fencing_token()); // empty if a later writer came first
    co_await lease.release();
    co_return seen == 7;
}

asio::awaitable<void> write_with_token(redlock::fenced_shared_mutex lock, fenced_register<int>& price)
{
    redlock::lease lease = co_await lock.acquire();
    (void)price.write(lease.fencing_token(), 7);
    co_await lease.release();
}

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    using namespace asio::experimental::awaitable_operators;
    redlock::shared_mutex lock{locks, "prices"};
    price_list prices;
    promises.keep(co_await nobody_changes_it(lock), "a free lock can be had for reading");
    auto const [nobody_wrote, whole, also_whole] = co_await (
        read_for_long(lock, prices) && read(lock, prices) && (replace(lock, prices) && read(lock, prices)));
    promises.keep(nobody_wrote && whole, "nobody wrote while somebody read");
    promises.keep(also_whole, "who came behind the writer saw all of what it wrote");
    promises.keep(prices.version == 1, "the writer got its turn");
    promises.keep(co_await replace_and_read(lock, prices),
                  "nobody wrote between the writer and the reader that it became");
    redlock::fenced_shared_mutex fenced{locks, "price"};
    fenced_register<int> price;
    co_await write_with_token(fenced, price);
    bool const saw_it = co_await read_with_token(fenced, price);
    promises.keep(saw_it, "a reader's token is above that of the writer before it");
}

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}
