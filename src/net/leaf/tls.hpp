#pragma once

#include "net/leaf/socket_stream.hpp"
#include <redlock/config.hpp>

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <stdexcept>

namespace redlock::net {

/// A certificate or key that cannot be used; the message names it.
class tls_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Shared by all connections to a node, so that a reconnection verifies exactly what the first one did.
/// \throws tls_error
[[nodiscard]] std::shared_ptr<boost::asio::ssl::context> make_tls_context(tls_settings const&);

/// `server_name` is what the certificate must be for, and what is sent as SNI unless it is a numeric address.
[[nodiscard]] std::shared_ptr<stream> make_tls_stream(socket, std::shared_ptr<boost::asio::ssl::context>,
                                                      std::string const& server_name, bool verify,
                                                      error_code&);

} // namespace redlock::net
