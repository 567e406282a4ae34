// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

// Every call at the end is wrong, and CTest looks for what the compiler is to say of it, in this order and no more.
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(redlock::lease&)
{
    co_return;
}

/// Waits for as long as it takes.
struct patient {
    redlock::mutex& lock;

    auto get_executor() const { return lock.get_executor(); }
    auto acquire(asio::use_awaitable_t<> token) { return lock.acquire(token); }
};

} // namespace

asio::awaitable<void> misuse(redlock::mutex lock, redlock::fenced_mutex fenced, redlock::lease& held);
asio::awaitable<void> misuse(redlock::mutex lock, redlock::fenced_mutex fenced, redlock::lease& held)
{
    boost::system::error_code ec;
    auto const kept = std::make_shared<int>();
    auto by_value = [kept](redlock::lease&) -> asio::awaitable<void> { co_return; };
    // Nothing wrong with these.
    co_await redlock::with_lock(lock, by_value, asio::as_tuple(asio::use_awaitable));
    co_await redlock::with_lock(lock, std::ref(by_value));
    co_await redlock::with_lock(lock, [&](redlock::lease&) -> asio::awaitable<void> { return work(held); });
    redlock::with_lock(
        lock, [kept](redlock::lease&) -> asio::awaitable<void> { co_return; }, asio::detached);
    redlock::with_lock(lock, std::move(by_value), asio::use_future).get();

    co_await redlock::with_lock_for(lock, 1s, work, asio::as_tuple(asio::use_awaitable));
    co_await redlock::with_lock(fenced, work, redlock::with_diagnostics(asio::use_awaitable));
    patient const waits{lock};
    co_await redlock::with_lock(waits, work);

    co_await redlock::with_lock(lock, work, asio::redirect_error(asio::use_awaitable, ec)); // no error code
    // g++ before 13 destroys it twice.
    co_await redlock::with_lock(lock, [kept](redlock::lease&) -> asio::awaitable<void> { co_return; });

    co_await redlock::with_lock(&lock, work);                             // no lock
    co_await redlock::with_lock(lock, [](int) { return 1; });             // called with something else
    co_await redlock::with_lock(lock, work(held));                        // called already
    co_await redlock::with_lock(lock, [](redlock::lease&) { return 1; }); // no coroutine
    co_await redlock::with_lock_for(lock, 1s, [](int) {});                // called with something else
    co_await redlock::with_lock_for(waits, 1s, work);                     // not timed
}
