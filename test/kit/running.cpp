// SPDX-License-Identifier: BSL-1.0
#include "kit/running.hpp"

#include <boost/asio/co_spawn.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace redlock::test::running {

namespace {

/// Ends the process when a handler blocks the context's only thread: no exception can reach it there.
class last_resort {
public:
    last_resort(std::chrono::milliseconds limit, std::string what)
        : thread_([this, limit, text = std::move(what)] {
              std::unique_lock lock(mutex_);
              if (over_.wait_for(lock, limit, [this] { return stopped_; }))
                  return;
              std::fprintf(stderr, "%s: a handler blocks the thread\n", text.c_str());
              std::abort();
          })
    {}

    ~last_resort()
    {
        {
            std::lock_guard const lock(mutex_);
            stopped_ = true;
        }
        over_.notify_one();
        thread_.join();
    }

    last_resort(last_resort const&) = delete;
    last_resort& operator=(last_resort const&) = delete;

private:
    std::mutex mutex_;
    std::condition_variable over_;
    bool stopped_ = false;
    std::thread thread_;
};

} // namespace

void drive(boost::asio::io_context& context, boost::asio::awaitable<void> work,
           std::chrono::milliseconds limit, std::source_location const& where)
{
    struct end {
        std::exception_ptr failure{};
        bool reached = false;
    };
    auto const ended = std::make_shared<end>();
    boost::asio::co_spawn(context, std::move(work), [ended](std::exception_ptr failure) {
        ended->failure = std::move(failure);
        ended->reached = true;
    });

    auto const name = "run() at " + position(where);
    last_resort const guard(limit + std::chrono::seconds(5), name);
    auto const deadline = std::chrono::steady_clock::now() + limit;
    context.restart();
    while (!ended->reached) {
        if (context.run_one_until(deadline) != 0)
            continue;
        char const* const why = context.stopped() ? ": the context was stopped before the coroutine ended"
                                                  : ": the coroutine is still suspended at the time limit";
        throw std::runtime_error(name + why);
    }
    if (ended->failure)
        std::rethrow_exception(ended->failure);
}

} // namespace redlock::test::running
