// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/leaf/socket_stream.hpp"

#include <memory>
#include <string>

namespace redlock::net {

/// Writes these bytes on the plain socket, and closes the stream when the server has answered all that it was told and has
/// hung up, or after `longest_parting`. A server whose connection is closed before that reads no more once it has tried
/// to answer. The stream must have no listener any more. May throw std::bad_alloc.
void part(std::shared_ptr<socket_stream> last, std::string rest);

} // namespace redlock::net
