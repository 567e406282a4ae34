#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

namespace redlock::test {

inline constexpr std::chrono::milliseconds patience{60'000};

namespace coro {

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
    coro::drive(context, coro::keep<F, result>(std::move(coroutine), state), limit, where);
    if constexpr (!std::is_void_v<result>)
        return std::move(*state->value);
}

} // namespace redlock::test
