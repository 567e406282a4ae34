// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "net/process_page.hpp"

#include <boost/asio/generic/stream_protocol.hpp>

// The differences between systems.
namespace redlock::net::platform {

using descriptor = boost::asio::generic::stream_protocol::socket::native_handle_type;

/// Reads a clock that counts while the machine sleeps, and one that time synchronisation does not slew. If a system has
/// neither, its steady clock replaces both.
[[nodiscard]] core::instant read_clocks() noexcept;

/// \throws std::bad_alloc
[[nodiscard]] process_page make_page();

/// Keeps the descriptor out of programs that this one starts.
void close_on_exec(descriptor) noexcept;
/// Is there something to read: bytes, or the end of the stream?
[[nodiscard]] bool readable(descriptor) noexcept;
/// Has the peer hung up, whatever is still to be read?
[[nodiscard]] bool hung_up(descriptor) noexcept;

} // namespace redlock::net::platform
