// SPDX-License-Identifier: BSL-1.0
// For users of a lock made with Spring Data's RedisTemplate and two scripts: a lock object that keeps key, owner,
// lock timeout, start and acquire time and the number of tries, or null.
//
//   there                                  here
//   ------------------------------------   ------------------------------------------------------------------
//   SET KEYS[1] ARGV[1] NX PX ARGV[2]      what every node is sent
//   UUID owner                             lease.nonce(), fresh for every try
//   lockTimeout                            .ttl; renewed until the release unless .renew = false
//   tryLockTimeout, 0 = for ever           acquire_for(time); acquire()
//   sleep(50) between tries                .retry = {.min_delay = 50ms, .max_delay = 50ms}: random, to 50 ms
//   tryCount                               acquire_for(tryCount * sleep)
//   null: did not get the lock             an empty lease and the reason: contended, timed_out, no_quorum …
//   getKey(), getStartTime(), …            lease.resource(), lease.waited(), lease.remaining()
//   compare, then DEL                      lease.release()
//   compare, then SET (compareAndSet)      lease.extend(): the same owner, the full time again
//
// Run: 05_from_spring_redis_template                  with three Redis servers of its own
//      05_from_spring_redis_template redis://a:6379…  with yours
#include "run.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <algorithm>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// The settings that such a class has.
struct lock_settings {
    std::chrono::milliseconds lock_timeout = 2s;
    std::chrono::milliseconds try_lock_timeout = 0ms; ///< 0: without limit
    unsigned try_count = 0;                           ///< 0: without limit
};

constexpr std::chrono::milliseconds between_tries = 50ms;

class redis_lock {
public:
    redis_lock(redlock::client& locks, std::string key, lock_settings settings)
        : longest_wait_(longest_wait(settings)),
          mutex_(locks, std::move(key),
                 {.ttl = settings.lock_timeout,
                  .retry = {.min_delay = between_tries, .max_delay = between_tries}})
    {}

    /// Empty instead of null; `reason` says why.
    asio::awaitable<redlock::lease> lock(error_code& reason)
    {
        auto token = asio::redirect_error(asio::use_awaitable, reason);
        if (longest_wait_ == 0ms)
            co_return co_await mutex_.acquire(token);
        co_return co_await mutex_.acquire_for(longest_wait_, token);
    }

private:
    /// Attempts follow wake-ups here: their number bounds no time. So a number of tries is the time that they took there.
    static std::chrono::milliseconds longest_wait(lock_settings const& settings)
    {
        auto const tries = settings.try_count * between_tries;
        bool const both = tries != 0ms && settings.try_lock_timeout != 0ms;
        return both ? std::min(tries, settings.try_lock_timeout) : std::max(tries, settings.try_lock_timeout);
    }

    std::chrono::milliseconds longest_wait_; ///< 0: without limit
    redlock::mutex mutex_;
};

void print(redlock::lease const& lock)
{
    auto const ms = [](auto time) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    };
    std::cout << "  key " << lock.resource() << ", owner " << lock.nonce() << "\n  tries " << lock.attempts()
              << ", waited " << ms(lock.waited()) << " ms, valid for " << ms(lock.remaining()) << " ms, on "
              << lock.votes() << " nodes\n";
}

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    error_code reason;
    redis_lock first(locks, "stock:1", {});
    std::cout << "A lock object:\n";
    redlock::lease lock = co_await first.lock(reason);
    promises.keep(!reason && lock.valid(), "the lock is held");
    print(lock);
    promises.keep(lock.resource() == "stock:1" && lock.attempts() == 1,
                  "it knows its key and its number of tries");

    std::cout << "Another one gives up after a time:\n";
    redis_lock patient(locks, "stock:1", {.try_lock_timeout = 200ms});
    redlock::lease none = co_await patient.lock(reason);
    promises.keep(none.empty() && reason == redlock::errc::timed_out, "null: " + reason.message());

    std::cout << "A third one after the time of three tries:\n";
    redis_lock brief(locks, "stock:1", {.try_count = 3});
    none = co_await brief.lock(reason);
    promises.keep(none.empty() && reason == redlock::errc::timed_out, "null: " + reason.message());

    std::cout << "The time is set anew, as with compareAndSet:\n";
    co_await lock.extend(asio::redirect_error(asio::use_awaitable, reason));
    promises.keep(!reason && lock.remaining() > 1s, "extended for its owner");

    co_await lock.release(asio::redirect_error(asio::use_awaitable, reason));
    promises.keep(!reason, "deleted after comparing the owner");
    co_await lock.release(asio::redirect_error(asio::use_awaitable, reason));
    promises.keep(reason == redlock::errc::released, "a second unlock is told apart: " + reason.message());
}

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}
