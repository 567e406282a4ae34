// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/version.hpp>

#if BOOST_VERSION < 108400

namespace boost::asio {

template <typename Executor>
class basic_yield_context;

namespace detail {

template <typename Executor, typename Signature>
class spawn_handler;

} // namespace detail

} // namespace boost::asio

#endif

namespace redlock::detail {

/// Can that token, or handler, take an exception pointer? Before Boost 1.84 those of `asio::spawn` cannot: they rethrow
/// a null pointer, too, which ends the program, and with a result they do not compile (Asio 1.28, impl/spawn.hpp).
template <class>
inline constexpr bool takes_exceptions = true;

#if BOOST_VERSION < 108400
template <class Executor>
inline constexpr bool takes_exceptions<boost::asio::basic_yield_context<Executor>> = false;
template <class Executor, class Signature>
inline constexpr bool takes_exceptions<boost::asio::detail::spawn_handler<Executor, Signature>> = false;
#endif

} // namespace redlock::detail
