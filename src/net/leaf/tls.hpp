// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/leaf/socket_stream.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"
#include <redlock/config.hpp>

#include <memory>
#include <string>

namespace redlock::net {

/// \throws tls_error
[[nodiscard]] std::shared_ptr<tls_context> make_tls_context(tls_settings const&);

/// `server_name` is what the certificate must be for, and what is sent as SNI unless it is a numeric address.
[[nodiscard]] std::shared_ptr<stream> make_tls_stream(socket, std::shared_ptr<tls_context>,
                                                      std::string const& server_name, bool verify,
                                                      error_code&);

} // namespace redlock::net
