#include <redlock/redlock.hpp>

#include <boost/asio/use_future.hpp>

// The lock is released at once, and CTest looks for the compiler's warning. Of a lease that is awaited only Clang warns.
void misuse(redlock::mutex lock);
void misuse(redlock::mutex lock)
{
    lock.acquire(boost::asio::use_future).get();
}
