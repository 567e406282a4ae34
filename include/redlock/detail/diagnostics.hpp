// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/spawn_1_83.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace redlock::detail {

/// The state of a handler that takes an error code alone.
struct no_diagnostics {};

/// The exception pointer that receives a failure's diagnostics before the handler is called. `with_diagnostics` makes
/// such handlers. It is an associated characteristic, as the executor is, so that adapters pass it through.
template <class Handler, class Default = no_diagnostics>
struct associated_diagnostics {
    using type = Default;
    static type get(Handler const&, Default const& none = {}) noexcept { return none; }
};

template <class Handler, class Default>
    requires requires { typename boost::asio::associator<associated_diagnostics, Handler, Default>::type; }
struct associated_diagnostics<Handler, Default>
    : boost::asio::associator<associated_diagnostics, Handler, Default> {};

template <class Handler>
inline constexpr bool wants_diagnostics =
    !std::is_same_v<typename associated_diagnostics<Handler>::type, no_diagnostics>;

template <class Handler>
concept wraps_handler = requires(Handler const& handler) {
    {
        handler.inner()
    } -> std::same_as<typename Handler::inner_type const&>;
};

/// Completes a handler for `void(std::exception_ptr, Results...)` from `void(error_code, Results...)`.
template <class Handler>
class diagnostics_handler {
public:
    using inner_type = Handler;

    explicit diagnostics_handler(Handler handler) : handler_(std::move(handler)) {}

    template <class... Results>
    void operator()(boost::system::error_code ec, Results... results)
    {
        std::exception_ptr diagnostics = std::exchange(diagnostics_, nullptr);
        if (!ec)
            diagnostics = nullptr;
        else if (!diagnostics)
            diagnostics = without_details(ec);
        std::move(handler_)(std::move(diagnostics), std::move(results)...);
    }

    [[nodiscard]] Handler const& inner() const noexcept { return handler_; }
    [[nodiscard]] std::exception_ptr* diagnostics() const noexcept { return &diagnostics_; }

private:
    static std::exception_ptr without_details(boost::system::error_code ec) noexcept
    {
        try {
            throw boost::system::system_error(ec);
        } catch (...) { // also of std::bad_alloc
            return std::current_exception();
        }
    }

    Handler handler_;
    std::exception_ptr mutable diagnostics_; // associated characteristics are asked of a constant handler
};

template <class Handler, class Default>
struct associated_diagnostics<diagnostics_handler<Handler>, Default> {
    using type = std::exception_ptr*;
    static type get(diagnostics_handler<Handler> const& handler, Default const& = {}) noexcept
    {
        return handler.diagnostics();
    }
};

/// Asks `Teller` for the diagnostics when an operation ends that only knows an error code: `explained(Teller const&,
/// error_code)` gives it, and throws nothing.
template <class Handler, class Teller>
class explained_handler {
public:
    using inner_type = Handler;

    explained_handler(Handler handler, Teller teller)
        : handler_(std::move(handler)), teller_(std::move(teller))
    {}

    template <class... Results>
    void operator()(boost::system::error_code ec, Results... results)
    {
        if (std::exception_ptr& diagnostics = *associated_diagnostics<Handler>::get(handler_);
            ec && !diagnostics)
            diagnostics = explained(teller_, ec);
        std::move(handler_)(ec, std::move(results)...);
    }

    [[nodiscard]] Handler const& inner() const noexcept { return handler_; }

private:
    Handler handler_;
    Teller teller_;
};

/// The handler, which asks the teller if it wants diagnostics.
template <class Handler, class Teller>
auto explaining(Handler&& handler, Teller const& teller)
{
    using handler_type = std::decay_t<Handler>;
    if constexpr (wants_diagnostics<handler_type>)
        return explained_handler<handler_type, Teller>(std::forward<Handler>(handler), teller);
    else
        return handler_type(std::forward<Handler>(handler));
}

/// Gives the operation a handler that takes its error code, for one that takes an exception pointer.
template <class Initiation>
class diagnostics_initiation {
public:
    using executor_type = boost::asio::associated_executor_t<Initiation>;

    explicit diagnostics_initiation(Initiation initiation) : initiation_(std::move(initiation)) {}

    [[nodiscard]] executor_type get_executor() const noexcept
    {
        return boost::asio::get_associated_executor(initiation_);
    }

    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments)
    {
        std::move(initiation_)(diagnostics_handler<std::decay_t<Handler>>(std::forward<Handler>(handler)),
                               std::forward<Arguments>(arguments)...);
    }

private:
    Initiation initiation_;
};

/// Does that token make values of errors: as `as_tuple` and `redirect_error` do, inside other adapters, too?
template <class>
inline constexpr bool keeps_errors = false;
template <template <class...> class Adapter, class Token, class... More>
inline constexpr bool keeps_errors<Adapter<Token, More...>> = keeps_errors<Token>;
template <class Token>
inline constexpr bool keeps_errors<boost::asio::as_tuple_t<Token>> = true;
template <class Token>
inline constexpr bool keeps_errors<boost::asio::redirect_error_t<Token>> = true;

/// Does `with_diagnostics` leave the error code to that token: to one that makes a value of it, and to a callback that
/// takes nothing else?
template <class Token, class... Results>
inline constexpr bool takes_code =
    keeps_errors<Token> || (std::is_invocable_v<Token&, boost::system::error_code, Results...> &&
                            !std::is_invocable_v<Token&, std::exception_ptr, Results...>);

/// `bind_cancellation_slot` and other adapters of Boost 1.81 require this type.
template <class AsyncResult>
struct return_type_of {};
template <class AsyncResult>
    requires requires { typename AsyncResult::return_type; }
struct return_type_of<AsyncResult> {
    using return_type = typename AsyncResult::return_type;
};

/// The `async_result` of an operation whose token is `with_diagnostics`.
/// \tparam Signature its token is completed with this
/// \tparam AsksForDiagnostics the operation has an error code, for which the signature has an exception pointer
template <class Token, class Signature, bool AsksForDiagnostics>
class diagnosed_result : public return_type_of<boost::asio::async_result<Token, Signature>> {
public:
    /// The initiation that starts the operation.
    template <class Initiation>
    using started = std::conditional_t<AsksForDiagnostics, diagnostics_initiation<std::decay_t<Initiation>>,
                                       Initiation&&>;

    /// The return type is spelled out: Asio asks for it with an initiation that cannot be started, and to deduce it the
    /// compiler would look into what starts the operation, which may need more of an initiation than that has.
    template <class Initiation, class Adapter, class... Arguments>
    static auto initiate(Initiation&& initiation, Adapter&& adapter, Arguments&&... arguments)
        -> decltype(boost::asio::async_initiate<Token, Signature>(std::declval<started<Initiation>>(),
                                                                  std::declval<Token&>(),
                                                                  std::declval<Arguments>()...))
    {
        static_assert(!AsksForDiagnostics || takes_exceptions<Token>,
                      "with_diagnostics: a yield_context of Asio can take an "
                      "exception from Boost 1.84 on; before, give "
                      "the yield_context itself, and call explain for the error");
        Token inner(std::forward<Adapter>(adapter).token); // Asio takes what it is given for its own
        return boost::asio::async_initiate<Token, Signature>(
            static_cast<started<Initiation>>(std::forward<Initiation>(initiation)), inner,
            std::forward<Arguments>(arguments)...);
    }
};

} // namespace redlock::detail

/// A wrapper of a handler has the handler's associated executor, allocator and cancellation slot.
template <template <class, class> class Associator, redlock::detail::wraps_handler Wrapper, class Default>
struct boost::asio::associator<Associator, Wrapper, Default>
    : Associator<typename Wrapper::inner_type, Default> {
    using inner = Associator<typename Wrapper::inner_type, Default>;

    static auto get(Wrapper const& handler) noexcept { return inner::get(handler.inner()); }
    static auto get(Wrapper const& handler, Default const& otherwise) noexcept
    {
        return inner::get(handler.inner(), otherwise);
    }
};
