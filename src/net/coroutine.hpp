// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/system/error_code.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace redlock::net {

/// A coroutine for rare, sequential work on handlers of Asio. Asio's own coroutines do not serve: an operation that
/// cannot be started for lack of memory throws out of `run()` there, and the coroutine does not hear of it. Here the
/// exception is thrown where the operation is started.
///
/// The coroutine runs when it is awaited, or started, and ends with the object at the latest.
template <class T>
class coroutine;

namespace coroutines {

/// Returns control to the awaiting coroutine.
struct hand_back {
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    static std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept
    {
        std::coroutine_handle<> const next = done.promise().awaiting;
        return next ? next : std::noop_coroutine();
    }
    static void await_resume() noexcept {}
};

struct promise_base {
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static hand_back final_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept { thrown = std::current_exception(); }

    std::coroutine_handle<> awaiting;
    std::exception_ptr thrown;
};

template <class T>
struct promise : promise_base {
    coroutine<T> get_return_object();
    void return_value(T value) { result = std::move(value); }
    T take() { return std::move(*result); }

    std::optional<T> result;
};

template <>
struct promise<void> : promise_base {
    coroutine<void> get_return_object();
    static void return_void() noexcept {}
    static void take() noexcept {}
};

} // namespace coroutines

template <class T>
class [[nodiscard]] coroutine {
public:
    using promise_type = coroutines::promise<T>;

    coroutine() = default;
    explicit coroutine(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
    coroutine(coroutine&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    coroutine& operator=(coroutine&& other) noexcept
    {
        std::swap(frame_, other.frame_);
        return *this;
    }
    ~coroutine()
    {
        if (frame_)
            frame_.destroy();
    }

    void start() { frame_.resume(); }

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept
    {
        frame_.promise().awaiting = awaiting;
        return frame_;
    }
    T await_resume()
    {
        if (frame_.promise().thrown)
            std::rethrow_exception(frame_.promise().thrown);
        return frame_.promise().take();
    }

private:
    std::coroutine_handle<promise_type> frame_;
};

template <class T>
coroutine<T> coroutines::promise<T>::get_return_object()
{
    return coroutine<T>(std::coroutine_handle<promise>::from_promise(*this));
}

inline coroutine<void> coroutines::promise<void>::get_return_object()
{
    return coroutine<void>(std::coroutine_handle<promise>::from_promise(*this));
}

/// The result of an operation of Asio.
struct completion {
    boost::system::error_code ec;
    std::size_t bytes = 0;
    bool done = false;
    std::coroutine_handle<> awaiting;
};

/// The handler of an awaited operation. Keeps the owner of the coroutine alive.
class resumption {
public:
    resumption(completion& into, std::shared_ptr<void> owner) : into_(&into), owner_(std::move(owner)) {}

    void operator()(boost::system::error_code ec, std::size_t bytes = 0)
    {
        into_->ec = ec;
        into_->bytes = bytes;
        into_->done = true;
        if (into_->awaiting)
            into_->awaiting.resume();
    }

private:
    completion* into_;
    std::shared_ptr<void> owner_;
};

/// Start the operation with handler(), then await this object. The operation runs on the coroutine's own executor.
class operation : private completion {
public:
    operation() = default;
    operation(operation const&) = delete;
    operation& operator=(operation const&) = delete;

    /// \param owner owns the frame that this is in
    [[nodiscard]] resumption handler(std::shared_ptr<void> owner) { return {*this, std::move(owner)}; }

    [[nodiscard]] bool await_ready() const noexcept { return done; }
    void await_suspend(std::coroutine_handle<> here) noexcept { awaiting = here; }
    [[nodiscard]] boost::system::error_code await_resume() const noexcept { return ec; }

    [[nodiscard]] std::size_t transferred() const noexcept { return bytes; }
};

} // namespace redlock::net
