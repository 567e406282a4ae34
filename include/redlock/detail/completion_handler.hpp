// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/built_with.hpp>
#include <redlock/detail/diagnostics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/recycling_allocator.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <new> // IWYU pragma: keep
#include <type_traits>
#include <utility>

namespace redlock::detail {

/// Asio's contexts and strands know which thread runs them, and an erased executor may be one of them. Other executors,
/// such as a future's, run anything anywhere. A post to them would start the threads of the system context.
template <class Executor>
concept has_threads = requires(Executor const& e) { e.running_in_this_thread(); } ||
                      requires(Executor const& e) { e.target_type(); };

/// A handler of another executor than the client's. It is posted, so that it does not delay the client. Until then its
/// context does not run out of work.
template <class Handler>
class posted_handler {
public:
    using executor_type = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;
    using cancellation_slot_type = boost::asio::associated_cancellation_slot_t<Handler>;
    using allocator_type =
        boost::asio::associated_allocator_t<Handler, boost::asio::recycling_allocator<void>>;

    posted_handler(Handler handler, executor_type const& executor)
        : handler_(std::move(handler)), work_(executor)
    {}

    [[nodiscard]] executor_type get_executor() const noexcept { return work_.get_executor(); }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept
    {
        return boost::asio::get_associated_cancellation_slot(handler_);
    }
    [[nodiscard]] allocator_type get_allocator() const noexcept
    {
        return boost::asio::get_associated_allocator(handler_, boost::asio::recycling_allocator<void>());
    }

    [[nodiscard]] Handler const& inner() const noexcept { return handler_; }

    template <class... Results>
    void operator()(Results... results)
    {
        auto call = boost::asio::append(std::move(handler_), std::move(results)...);
        if constexpr (has_threads<executor_type>)
            boost::asio::post(work_.get_executor(), std::move(call));
        else
            boost::asio::dispatch(work_.get_executor(), std::move(call));
    }

private:
    Handler handler_;
    boost::asio::executor_work_guard<executor_type> work_;
};

/// A handler that is too large to be stored in place, in memory from its own allocator.
template <class Handler>
class boxed_handler {
public:
    using cancellation_slot_type = boost::asio::associated_cancellation_slot_t<Handler>;

    explicit boxed_handler(Handler handler)
    {
        auto memory = allocator_of(handler);
        handler_ = traits::allocate(memory, 1);
        ::new (static_cast<void*>(handler_)) Handler(std::move(handler));
    }
    boxed_handler(boxed_handler&& other) noexcept : handler_(std::exchange(other.handler_, nullptr)) {}
    boxed_handler& operator=(boxed_handler&&) = delete;
    ~boxed_handler()
    {
        if (handler_)
            (void)take();
    }

    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept
    {
        return boost::asio::get_associated_cancellation_slot(*handler_);
    }
    [[nodiscard]] Handler const& inner() const noexcept { return *handler_; }

    template <class... Results>
    void operator()(Results... results)
    {
        take()(std::move(results)...);
    }

private:
    using allocator = typename std::allocator_traits<boost::asio::associated_allocator_t<
        Handler, boost::asio::recycling_allocator<void>>>::template rebind_alloc<Handler>;
    using traits = std::allocator_traits<allocator>;

    static allocator allocator_of(Handler const& handler)
    {
        return allocator(
            boost::asio::get_associated_allocator(handler, boost::asio::recycling_allocator<void>()));
    }

    /// The memory is released before the handler runs, as Asio promises.
    Handler take()
    {
        Handler handler(std::move(*handler_));
        auto memory = allocator_of(handler);
        std::destroy_at(handler_);
        traits::deallocate(memory, std::exchange(handler_, nullptr), 1);
        return handler;
    }

    Handler* handler_;
};

/// Both pass on what is associated with their handler.
template <class Handler, class Default>
struct associated_diagnostics<posted_handler<Handler>, Default> {
    using type = typename associated_diagnostics<Handler, Default>::type;
    static type get(posted_handler<Handler> const& handler) noexcept
    {
        return associated_diagnostics<Handler, Default>::get(handler.inner());
    }
};
template <class Handler, class Default>
struct associated_diagnostics<boxed_handler<Handler>, Default> {
    using type = typename associated_diagnostics<Handler, Default>::type;
    static type get(boxed_handler<Handler> const& handler) noexcept
    {
        return associated_diagnostics<Handler, Default>::get(handler.inner());
    }
};

template <class Signature>
class REDLOCK_NAMED_BY_BUILD completion_handler;

/// A caller's handler of any type, called at most once, on the client's executor. Small handlers, such as those of
/// coroutines, are stored in place, without an allocation. `asio::any_completion_handler` allocates for each.
template <class... Results>
class completion_handler<void(Results...)> {
public:
    completion_handler() = default;

    template <class Handler>
    completion_handler(Handler&& handler, boost::asio::any_io_executor const& own)
    {
        using handler_type = std::decay_t<Handler>;
        auto const theirs = boost::asio::get_associated_executor(handler, own);
        if (same(theirs, own))
            keep(handler_type(std::forward<Handler>(handler)));
        else
            keep(posted_handler<handler_type>(std::forward<Handler>(handler), theirs));
    }

    completion_handler(completion_handler&& other) noexcept { take(other); }
    completion_handler& operator=(completion_handler&& other) noexcept
    {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~completion_handler() { reset(); }

    [[nodiscard]] boost::asio::cancellation_slot slot() { return kind_->slot(&storage_); }
    /// Returns where the details of a failure are stored before the call; null if the handler takes an error code
    /// alone.
    [[nodiscard]] std::exception_ptr* diagnostics()
    {
        return kind_->diagnostics ? kind_->diagnostics(&storage_) : nullptr;
    }

    void operator()(Results... results)
    {
        std::exchange(kind_, nullptr)->call(&storage_, std::move(results)...);
    }

private:
    struct kind {
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
        void (*call)(void*, Results&&...);
        boost::asio::cancellation_slot (*slot)(void*) noexcept;
        std::exception_ptr* (*diagnostics)(void*) noexcept; ///< null: of handlers that want none
    };

    template <class Handler>
    static constexpr auto diagnostics_of() -> std::exception_ptr* (*)(void*) noexcept
    {
        if constexpr (wants_diagnostics<Handler>)
            return [](void* at) noexcept -> std::exception_ptr* {
                return associated_diagnostics<Handler>::get(*static_cast<Handler*>(at));
            };
        else
            return nullptr;
    }

    template <class Handler>
    static constexpr kind kind_of{[](void* from, void* to) noexcept {
                                      ::new (to) Handler(std::move(*static_cast<Handler*>(from)));
                                      std::destroy_at(static_cast<Handler*>(from));
                                  },
                                  [](void* at) noexcept { std::destroy_at(static_cast<Handler*>(at)); },
                                  [](void* at, Results&&... results) {
                                      Handler handler(std::move(*static_cast<Handler*>(at)));
                                      std::destroy_at(static_cast<Handler*>(at));
                                      std::move(handler)(std::move(results)...);
                                  },
                                  [](void* at) noexcept -> boost::asio::cancellation_slot {
                                      return boost::asio::get_associated_cancellation_slot(
                                          *static_cast<Handler*>(at));
                                  },
                                  diagnostics_of<Handler>()};

    template <class Executor>
    static bool same(Executor const& theirs, boost::asio::any_io_executor const& own)
    {
        if constexpr (std::is_same_v<Executor, boost::asio::any_io_executor>)
            return theirs == own;
        else if constexpr (std::is_convertible_v<Executor, boost::asio::any_io_executor>)
            return boost::asio::any_io_executor(theirs) == own;
        else
            return false;
    }

    static constexpr std::size_t capacity = 7 * sizeof(void*);

    template <class Handler>
    void keep(Handler&& handler)
    {
        if constexpr (sizeof(Handler) <= capacity && alignof(Handler) <= alignof(std::max_align_t)) {
            ::new (static_cast<void*>(&storage_)) Handler(std::forward<Handler>(handler));
            kind_ = &kind_of<Handler>;
        } else {
            keep(boxed_handler<Handler>(std::forward<Handler>(handler)));
        }
    }

    void take(completion_handler& other) noexcept
    {
        kind_ = std::exchange(other.kind_, nullptr);
        if (kind_)
            kind_->move(&other.storage_, &storage_);
    }

    void reset() noexcept
    {
        if (kind_)
            std::exchange(kind_, nullptr)->destroy(&storage_);
    }

    kind const* kind_ = nullptr;
    alignas(std::max_align_t) std::byte storage_[capacity];
};

} // namespace redlock::detail
