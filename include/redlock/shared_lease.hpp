// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/lease.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace redlock {

/// One lease with several owners: `lease::share()` makes it. Each copy gives access to the same lease, with its one
/// deadline and its one key on the nodes. The last copy that is destroyed or released releases it. Work under the lease
/// in different copies is not synchronised: the owners must order it themselves.
///
/// A function that needs the lock of its caller takes a `shared_lease const&`, or a copy if it outlives the call.
///
///     void update(redlock::shared_lease held) { if (held->valid()) ... }
///
/// Each copy may ask, extend and wait for the end, `held->ended()`. Operations that affect the other owners are not
/// available: `lease::detach` and `downgrade` need a lease with one owner.
///
/// Different copies may be used, copied and destroyed on different threads at the same time; one copy, on one thread. All
/// copies must be gone before the client's execution context is destroyed.
class shared_lease {
public:
    /// The client's executor.
    using executor_type = lease::executor_type;

    /// Empty.
    shared_lease() noexcept = default;
    /// \param held by nobody else; empty afterwards
    /// \throws std::bad_alloc and has done nothing
    explicit shared_lease(lease&& held) : all_(held.empty() ? nullptr : new holders)
    {
        if (all_)
            all_->held = std::move(held);
    }

    /// Is it of no lease? Says nothing about validity.
    [[nodiscard]] bool empty() const noexcept { return all_ == nullptr; }
    /// The lease, which lives as long as this copy; an empty one if this copy is empty.
    [[nodiscard]] lease const& operator*() const noexcept { return all_ ? all_->held : nobodys; }
    /// The same.
    [[nodiscard]] lease const* operator->() const noexcept { return &**this; }
    /// The executor of the lease.
    [[nodiscard]] executor_type get_executor() const noexcept { return (*this)->get_executor(); }

    /// Gives this copy back, which is empty afterwards. If it is the last one, the lease is released, as by
    /// `lease::release`. Otherwise the operation completes at once, and the lease goes on.
    ///
    /// If the operation of a lazy token is never started, the copy is destroyed with it.
    /// \par Completion signature
    /// `void(boost::system::error_code)`
    /// \par Errors
    /// Those of `lease::release`, of the last copy. `errc::empty_lease`: this copy is empty.
    /// \par Cancellation
    /// The same as for `lease::release`.
    template <boost::asio::completion_token_for<void(boost::system::error_code)> Token = default_token>
    [[nodiscard]] auto release(Token&& token = {});

private:
    struct holders {
        lease held{};
        std::atomic<std::uint32_t> copies{0};

        friend void intrusive_ptr_add_ref(holders* all) noexcept
        {
            all->copies.fetch_add(1, std::memory_order_relaxed);
        }
        friend void intrusive_ptr_release(holders* all) noexcept
        {
            if (all->copies.fetch_sub(1, std::memory_order_acq_rel) == 1)
                delete all;
        }
    };

    struct giving_back;

    static inline lease const nobodys{};

    boost::intrusive_ptr<holders> all_;
};

/// \cond
struct shared_lease::giving_back {
    using executor_type = lease::executor_type;

    executor_type get_executor() const noexcept { return copy.get_executor(); }

    template <class Handler>
    void operator()(Handler&& handler)
    {
        auto const executor = boost::asio::get_associated_executor(handler, get_executor());
        lease going;
        if (holders* const all = copy.all_.detach()) {
            if (all->copies.fetch_sub(1, std::memory_order_acq_rel) != 1)
                return boost::asio::post(executor, boost::asio::append(std::forward<Handler>(handler),
                                                                       boost::system::error_code{}));
            going = std::move(all->held);
            delete all;
        }
        going.release(std::forward<Handler>(handler));
    }

    shared_lease copy;
};
/// \endcond

template <boost::asio::completion_token_for<void(boost::system::error_code)> Token>
auto shared_lease::release(Token&& token)
{
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(giving_back{std::move(*this)},
                                                                               token);
}

inline shared_lease lease::share() &&
{
    return shared_lease(std::move(*this));
}

} // namespace redlock
