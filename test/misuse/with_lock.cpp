#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>

// Every call here is wrong, and CTest looks for what the compiler is to say of it, in this order and no more.
namespace {

namespace asio = boost::asio;

asio::awaitable<void> work(redlock::lease&)
{
    co_return;
}

} // namespace

asio::awaitable<void> misuse(redlock::mutex lock, redlock::lease& held);
asio::awaitable<void> misuse(redlock::mutex lock, redlock::lease& held)
{
    co_await redlock::with_lock(&lock, work);                             // no lock
    co_await redlock::with_lock(lock, [](int) { return 1; });             // called with something else
    co_await redlock::with_lock(lock, work(held));                        // called already
    co_await redlock::with_lock(lock, [](redlock::lease&) { return 1; }); // no coroutine
}
