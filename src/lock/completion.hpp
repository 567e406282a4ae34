#pragma once

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/execution/outstanding_work.hpp>

#include <utility>

namespace redlock::lock {

/// A caller's handler, and how to reach its executor. Called at most once, from a task: directly where the handler
/// belongs to the client's own executor, which is where tasks run; by way of its executor otherwise.
template <class Signature>
class completion {
public:
    using handler_type = boost::asio::any_completion_handler<Signature>;

    completion() = default;
    completion(completion&&) = default;
    // Boost 1.81's any_completion_handler wraps itself without end when it is move-assigned.
    completion& operator=(completion&& other) noexcept
    {
        handler_type(std::move(other.handler_)).swap(handler_);
        work_ = std::move(other.work_);
        direct_ = other.direct_;
        return *this;
    }

    completion(handler_type handler, boost::asio::any_completion_executor const& own) : handler_(std::move(handler))
    {
        boost::asio::any_completion_executor const theirs = boost::asio::get_associated_executor(handler_, own);
        direct_ = theirs == own;
        if (!direct_) // a foreign context must not run out of work while it waits for us
            work_ = boost::asio::prefer(theirs, boost::asio::execution::outstanding_work.tracked);
    }

    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(handler_); }
    [[nodiscard]] handler_type const& handler() const { return handler_; }

    template <class... Results>
    void operator()(boost::asio::any_io_executor const& own, Results... results)
    {
        handler_type handler = std::move(handler_);
        auto const work = std::exchange(work_, {});
        if (direct_)
            std::move(handler)(std::move(results)...);
        else
            boost::asio::post(own, boost::asio::append(std::move(handler), std::move(results)...));
    }

private:
    handler_type handler_;
    boost::asio::any_completion_executor work_;
    bool direct_ = true;
};

} // namespace redlock::lock
