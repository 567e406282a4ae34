// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace redlock::detail {

/// Names the mistake in the arguments, in a sentence instead of a page. It takes values, because compilers explain a
/// concept that is not satisfied at length, and types, so that each of them gets its own message.
template <class Lock, class Body, bool IsLock, bool TakesLease, bool IsBody, bool HasLimit>
constexpr void explain_misuse()
{
    constexpr bool is_coroutine = !TakesLease || IsBody;
    static_assert(IsLock, "with_lock: the first argument is a lock, such as a redlock::mutex");
    static_assert(TakesLease,
                  "with_lock: the second argument is called with a redlock::lease&: a coroutine that "
                  "takes it by reference, and not the awaitable that it returns");
    static_assert(is_coroutine, "with_lock: what is called with a redlock::lease& returns a "
                                "boost::asio::awaitable<T>, as a coroutine does");
    static_assert(HasLimit, "with_lock_for: the first argument has no acquire_for(time, use_awaitable) that "
                            "returns a boost::asio::awaitable<redlock::lease>");
}

} // namespace redlock::detail
