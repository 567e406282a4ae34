// SPDX-License-Identifier: BSL-1.0
// For users of the Ruby gem redis-objects.
//
//   there                                      here
//   ----------------------------------------   ------------------------------------------------------------
//   lock :payout, timeout: 5, expiration: 15   redlock::mutex{locks, "account:7:payout_lock", {.ttl = 15s}}
//   account.payout_lock.lock { pay }           co_await lock.acquire_for(5s), pay, co_await lease.release()
//   Redis::Lock::LockTimeout                   system_error whose code() == redlock::errc::timed_out
//   tries every 0.1 s                          random pauses, .retry.min_delay to .max_delay
//   the expiration is final                    .renew = false; the default renews until the release
//   no expiration: a dead holder blocks all    not possible: every key expires
//   who overran deletes what he finds          release() deletes only its own key and says lease_lost
//   one Redis                                  one URL, or three or five: a majority decides
//
// Run: 04_from_redis_objects                  with three Redis servers of its own
//      04_from_redis_objects redis://a:6379…  with yours
#include "run.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// A model object with a lock, as `lock :payout` declares it.
struct account {
    account(redlock::client& locks, int id, redlock::lock_options options)
        : payout_lock(locks, "account:" + std::to_string(id) + ":payout_lock", options)
    {}

    redlock::mutex payout_lock;
    static constexpr auto timeout = 300ms;
};

/// The block form. An exception in the block frees the lock, too: ~lease does it in the background.
template <class Block>
asio::awaitable<void> lock(account& owner, Block& block)
{
    redlock::lease lease = co_await owner.payout_lock.acquire_for(account::timeout);
    co_await block();
    co_await lease.release();
}

asio::awaitable<void> sleep(std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

template <class Block>
asio::awaitable<boost::system::error_code> error_of(account& owner, Block& block)
{
    try {
        co_await lock(owner, block);
    } catch (boost::system::system_error const& e) {
        std::cout << "  " << e.what() << '\n';
        co_return e.code();
    }
    co_return boost::system::error_code();
}

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    // expiration: 1, and it stays at that: no renewal.
    account first(locks, 7, {.ttl = 1s, .renew = false});
    account second(locks, 7, {.ttl = 1s, .renew = false});

    std::cout << "lock { } around a block:\n";
    bool paid = false;
    auto pay = [&]() -> asio::awaitable<void> {
        auto nothing = []() -> asio::awaitable<void> { co_return; };
        auto const refused = co_await error_of(second, nothing);
        promises.keep(refused == redlock::errc::timed_out,
                      "while one is in the block, another one's lock times out");
        paid = true;
    };
    auto ended = co_await error_of(first, pay);
    promises.keep(!ended && paid, "the block ran, and its lock was its own until the end");

    std::cout << "An exception leaves the block:\n";
    auto fail = []() -> asio::awaitable<void> {
        throw boost::system::system_error(make_error_code(boost::system::errc::io_error),
                                          "the bank is closed");
        co_return;
    };
    ended = co_await error_of(first, fail);
    promises.keep(ended == boost::system::errc::io_error, "the block's own exception arrives");
    auto nothing = []() -> asio::awaitable<void> { co_return; };
    ended = co_await error_of(second, nothing);
    promises.keep(!ended, "the lock is free again");

    std::cout << "A block that takes longer than the expiration:\n";
    auto overrun = [&]() -> asio::awaitable<void> {
        co_await sleep(1500ms);
        redlock::lease next = co_await second.payout_lock.acquire_for(account::timeout);
        promises.keep(next.valid(), "the expired lock is taken by the next one, who is in the block now");
        auto still = co_await error_of(second, nothing);
        promises.keep(still == redlock::errc::timed_out, "and excludes others");
        co_await next.release();
    };
    ended = co_await error_of(first, overrun);
    promises.keep(ended == redlock::errc::lease_lost,
                  "the one who overran is told, and deletes nobody's key");
}

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}
