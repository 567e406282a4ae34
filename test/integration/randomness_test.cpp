// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <openssl/rand.h>

using namespace redlock;
using namespace redlock::test;

// The one way to replace the generator that is the same in OpenSSL 1.1 and 3.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

/// OpenSSL has no random numbers as long as this lives.
class no_randomness_here {
public:
    no_randomness_here() { RAND_set_rand_method(&failing()); }
    no_randomness_here(no_randomness_here const&) = delete;
    no_randomness_here& operator=(no_randomness_here const&) = delete;
    ~no_randomness_here() { RAND_set_rand_method(before_); }

private:
    static RAND_METHOD& failing()
    {
        static RAND_METHOD method{
            nullptr, [](unsigned char*, int) { return 0; }, nullptr, nullptr, nullptr, [] { return 0; }};
        return method;
    }

    RAND_METHOD const* before_ = RAND_get_rand_method();
};

} // namespace

BOOST_AUTO_TEST_SUITE(randomness)

// rule A3
BOOST_AUTO_TEST_CASE(operations_without_randomness_fail_and_work_again_with_it)
{
    cluster nodes(3);
    std::vector<error_code> failed;
    {
        no_randomness_here const away;
        for (int i = 0; i != 3; ++i)
            nodes.lock().acquire([&](error_code ec, lease) { failed.push_back(ec); });
        nodes.lock().try_acquire([&](error_code ec, lease) { failed.push_back(ec); });
        nodes.run_until([&] { return failed.size() == 4; });
        BOOST_TEST(std::ranges::count(failed, error_code(errc::no_randomness)) == 3);
        BOOST_TEST(std::ranges::count(failed, error_code(errc::contended)) == 1); // the try behind the queue
        BOOST_TEST(nodes.no_keys());
    }
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await nodes.lock().acquire();
        BOOST_TEST(held.valid());
        co_await held.release();
    });
}

// rule A3
BOOST_AUTO_TEST_CASE(waiter_gets_lock_when_randomness_is_back)
{
    cluster nodes(1); // the next attempt comes after the first has been told
    std::vector<error_code> ended;
    nodes.run([&]() -> asio::awaitable<void> {
        auto away = std::make_optional<no_randomness_here>();
        for (int i = 0; i != 3; ++i)
            nodes.lock().acquire([&](error_code ec, lease) {
                ended.push_back(ec);
                away.reset(); // the first brings it back
            });
        co_await until([&] { return ended.size() == 3; });
    });
    BOOST_TEST(ended[0] == errc::no_randomness);
    BOOST_TEST(ended[1] == error_code());
    BOOST_TEST(ended[2] == error_code());
    nodes.run_until([&] { return nodes.no_keys(); });
}

/// The marker needs random bytes, too.
BOOST_AUTO_TEST_CASE(fenced_lock_without_randomness_fails_and_works_again)
{
    cluster nodes(1);
    nodes.run([&]() -> asio::awaitable<void> {
        fenced_mutex lock(*nodes.locks, "lock", long_lived);
        {
            no_randomness_here const away;
            BOOST_TEST(co_await error_of(lock.acquire()) == errc::no_randomness);
        }
        lease held = co_await lock.acquire();
        BOOST_TEST(held.fencing_token() != 0U);
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(exception_names_missing_randomness)
{
    cluster nodes(1);
    nodes.run([&]() -> asio::awaitable<void> {
        no_randomness_here const away;
        mutex lock = nodes.lock();
        try {
            co_await lock.acquire();
            BOOST_ERROR("acquired without randomness");
        } catch (lock_error const& e) {
            BOOST_TEST(e.code() == errc::no_randomness);
            BOOST_TEST(contains(e.what(), "random"));
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
