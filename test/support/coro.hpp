#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace redlock::test {

inline constexpr std::chrono::milliseconds patience{60'000};

namespace coro {

template <class T>
struct outcome {
    std::optional<T> value{};
    std::exception_ptr failure{};
    bool done = false;
};

template <>
struct outcome<void> {
    std::exception_ptr failure{};
    bool done = false;
};

/// The coroutine function moves into this frame and so outlives its coroutine. Storing the value here spares
/// T a default constructor, which co_spawn's handler would ask for.
template <class F, class T>
boost::asio::awaitable<void> keep(F coroutine, std::shared_ptr<outcome<T>> into)
{
    if constexpr (std::is_void_v<T>) {
        co_await coroutine();
    } else {
        into->value.emplace(co_await coroutine());
    }
}

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

inline std::string position(std::source_location const& where)
{
    return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

} // namespace coro

/// Spawns `coroutine` (a function returning awaitable<T>), runs the context until it ends, and returns its
/// value or rethrows. Other work stays in the context, to go on in the next run. A coroutine that is still
/// suspended after `limit`, or whose context is stopped under it, is a std::runtime_error naming the caller's
/// line; it stays suspended in the context, so the context must be destroyed before what the coroutine refers
/// to. The calling thread must be the only one that runs the context.
template <class F>
auto run(boost::asio::io_context& context, F coroutine, std::chrono::milliseconds limit = patience,
         std::source_location where = std::source_location::current())
{
    using result = typename std::invoke_result_t<F&>::value_type;
    auto const state = std::make_shared<coro::outcome<result>>();
    boost::asio::co_spawn(context, coro::keep<F, result>(std::move(coroutine), state),
                          [state](std::exception_ptr failure) {
                              state->failure = std::move(failure);
                              state->done = true;
                          });

    auto const name = "run() at " + coro::position(where);
    coro::last_resort const guard(limit + std::chrono::seconds(5), name);
    auto const deadline = std::chrono::steady_clock::now() + limit;
    context.restart();
    while (!state->done) {
        if (context.run_one_until(deadline) != 0)
            continue;
        char const* const why = context.stopped() ? ": the context was stopped before the coroutine ended"
                                                  : ": the coroutine is still suspended at the time limit";
        throw std::runtime_error(name + why);
    }
    if (state->failure)
        std::rethrow_exception(state->failure);
    if constexpr (!std::is_void_v<result>)
        return std::move(*state->value);
}

} // namespace redlock::test
