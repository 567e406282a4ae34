// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/patience.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace redlock::test {

namespace running {

template <class T>
struct outcome {
    std::optional<T> value{};
};

template <>
struct outcome<void> {};

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

/// Without the type of what it runs: co_spawn is what takes a compiler longest.
void drive(boost::asio::io_context&, boost::asio::awaitable<void>, std::chrono::milliseconds limit,
           std::source_location const&);

} // namespace running

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
    auto const state = std::make_shared<running::outcome<result>>();
    running::drive(context, running::keep<F, result>(std::move(coroutine), state), limit, where);
    if constexpr (!std::is_void_v<result>)
        return std::move(*state->value);
}

/// Runs the context until the condition holds, also while it has no work.
template <class Condition>
void run_until(boost::asio::io_context& context, Condition holds,
               std::source_location where = std::source_location::current())
{
    context.restart();
    auto const run_a_little = [&] {
        if (context.stopped())
            context.restart();
        context.run_one_for(std::chrono::milliseconds{2});
    };
    repeat_until(holds, run_a_little, where);
}

/// The same for a coroutine.
template <class Condition>
boost::asio::awaitable<void> until(Condition holds,
                                   std::source_location where = std::source_location::current())
{
    boost::asio::steady_timer pause(co_await boost::asio::this_coro::executor);
    auto const end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error("waited in vain at " + position(where));
        pause.expires_after(std::chrono::milliseconds{2});
        co_await pause.async_wait(boost::asio::use_awaitable);
    }
}

/// Runs until nothing is left to do; endless work is an error.
inline void run_dry(boost::asio::io_context& context,
                    std::source_location where = std::source_location::current())
{
    context.restart();
    context.run_for(patience);
    if (!context.stopped())
        throw std::runtime_error("something keeps the context busy at " + position(where));
}

} // namespace redlock::test
