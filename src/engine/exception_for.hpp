// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>

#include <exception>
#include <new>

namespace redlock::detail {

/// The exception for a failed operation: `explain()`, or std::bad_alloc if the operation or the text lacks memory.
template <class Explain>
[[nodiscard]] std::exception_ptr exception_for(boost::system::error_code ec, Explain const& explain) noexcept
{
    try {
        if (ec == boost::system::errc::not_enough_memory)
            throw std::bad_alloc();
        throw explain();
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace redlock::detail
