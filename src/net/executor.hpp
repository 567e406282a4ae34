// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/any_io_executor.hpp>

namespace redlock::net {

using boost::asio::any_io_executor;

/// Tells whether this executor runs its functions one after another, and then whether we are inside: empty when it
/// certainly does not.
using on_executor = bool (*)(any_io_executor const&);
[[nodiscard]] on_executor serialising(any_io_executor const&);

/// It is an `io_context`'s, and that is stopped: what is posted to it may never run.
[[nodiscard]] bool stopped(any_io_executor const&);

/// Two threads are in an executor that was taken for one that serialises. The data that they have touched cannot be
/// trusted any more: reports that, and ends the program.
[[noreturn]] void not_serialising() noexcept;

} // namespace redlock::net
