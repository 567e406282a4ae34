#pragma once

#include <redlock/lease.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/version.hpp>

#if BOOST_ASIO_VERSION == 102600

#include <exception>
#include <utility>

/// Boost 1.81 alone cannot await `void(std::exception_ptr, T)` with `deferred`: its handler tests the result's struct
/// instead of the exception (Asio 1.26, impl/awaitable.hpp; mended in 1.28). This is that handler for leases, tested
/// right; nothing else of Asio is touched, and no other version.
namespace boost::asio::detail {

template <typename R, typename Executor>
class awaitable_async_op_handler<R(std::exception_ptr, redlock::lease), Executor>
    : public awaitable_thread<Executor> {
public:
    struct result_type {
        std::exception_ptr* failure;
        redlock::lease* granted;
    };

    awaitable_async_op_handler(awaitable_thread<Executor>* other, result_type& result)
        : awaitable_thread<Executor>(std::move(*other)), result_(result)
    {}

    void operator()(std::exception_ptr failure, redlock::lease granted)
    {
        result_ = {&failure, &granted};
        this->entry_point()->top_of_stack_->attach_thread(this);
        this->entry_point()->top_of_stack_->clear_cancellation_slot();
        this->pump();
    }

    static redlock::lease resume(result_type& result)
    {
        if (*result.failure)
            std::rethrow_exception(std::exchange(*result.failure, nullptr));
        return std::move(*result.granted);
    }

private:
    result_type& result_;
};

} // namespace boost::asio::detail

#endif
