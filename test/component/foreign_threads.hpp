// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/lone_client.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace redlock::test {

/// Boost.Test's checks are for one thread; other threads count faults here.
class faults {
public:
    void require(bool condition)
    {
        if (!condition)
            ++count_;
    }
    ~faults() { BOOST_TEST(count_ == 0); }

private:
    std::atomic<int> count_ = 0;
};

/// Threads that run a context until it is told to stop.
class runners {
public:
    explicit runners(asio::io_context& context, int threads = 1) : work_(context.get_executor())
    {
        for (int i = 0; i != threads; ++i)
            threads_.emplace_back([&context] { context.run(); });
    }
    ~runners() { join(); }

    void join()
    {
        work_.reset();
        for (auto& t : threads_)
            if (t.joinable())
                t.join();
    }
    [[nodiscard]] std::thread::id id() const { return threads_.front().get_id(); }

private:
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::vector<std::thread> threads_;
};

template <class T>
T get(std::future<T> future)
{
    if (future.wait_for(patience) != std::future_status::ready)
        throw std::runtime_error("an operation does not complete");
    return future.get();
}

inline lock_options impatient()
{
    lock_options options = long_lived;
    options.retry.max_delay = 10ms;
    return options;
}

} // namespace redlock::test
