// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/inspection.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/leadership.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/version.hpp>

#if BOOST_ASIO_VERSION == 102600

#include <concepts>
#include <exception>
#include <utility>

/// Only Boost 1.81 cannot await `void(std::exception_ptr, T)` with `deferred`: its handler tests the result's struct
/// instead of the exception (Asio 1.26, impl/awaitable.hpp; fixed in 1.28). This is that handler, corrected, for what the
/// library's operations give. No other part of Asio is changed, and no other version.
namespace boost::asio::detail {

template <typename R, typename T, typename Executor>
    requires std::same_as<T, redlock::lease> || std::same_as<T, redlock::inspection> ||
             std::same_as<T, redlock::lease_end> || std::same_as<T, redlock::leadership> ||
             std::same_as<T, redlock::leader_info>
class awaitable_async_op_handler<R(std::exception_ptr, T), Executor> : public awaitable_thread<Executor> {
public:
    struct result_type {
        std::exception_ptr* failure;
        T* value;
    };

    awaitable_async_op_handler(awaitable_thread<Executor>* other, result_type& result)
        : awaitable_thread<Executor>(std::move(*other)), result_(result)
    {}

    void operator()(std::exception_ptr failure, T value)
    {
        result_ = {&failure, &value};
        this->entry_point()->top_of_stack_->attach_thread(this);
        this->entry_point()->top_of_stack_->clear_cancellation_slot();
        this->pump();
    }

    static T resume(result_type& result)
    {
        if (*result.failure)
            std::rethrow_exception(std::exchange(*result.failure, nullptr));
        return std::move(*result.value);
    }

private:
    result_type& result_;
};

} // namespace boost::asio::detail

#endif
