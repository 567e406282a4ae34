// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/backoff.hpp"
#include "core/instant.hpp"
#include "net/coroutine.hpp"
#include "net/executor.hpp"
#include "net/process_page.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

// The resources that a client needs of its machine, and nothing else: time, chance and connections. The real machine is
// in src/net/leaf; a simulation makes another one.
namespace redlock {
struct tls_settings;
}

namespace redlock::net {

class stream;
struct peer;

using boost::system::error_code;
using endpoint = boost::asio::generic::stream_protocol::endpoint;

class alarm_listener {
public:
    /// \param ec none, or `boost::asio::error::operation_aborted`: the alarm was set anew, cancelled, or destroyed
    /// \param tag as given when it was set
    virtual void on_alarm(error_code ec, unsigned tag) = 0;

protected:
    ~alarm_listener() = default;
};

/// One timer. Its listener is told on the executor, once each time it is set.
class alarm {
public:
    alarm() = default;
    alarm(alarm const&) = delete;
    alarm& operator=(alarm const&) = delete;
    virtual ~alarm() = default;

    /// \param owner of the listener and of this alarm; held until the listener has been told
    /// \throws std::bad_alloc, and is not set
    virtual void set(core::duration delay, std::shared_ptr<void> owner, unsigned tag = 0) = 0;
    virtual void cancel() = 0;
};

/// Names to addresses.
class resolver {
public:
    resolver() = default;
    resolver(resolver const&) = delete;
    resolver& operator=(resolver const&) = delete;
    virtual ~resolver() = default;

    /// \param found outlives the operation
    virtual void resolve(std::string const& host, std::uint16_t port, std::vector<endpoint>& found,
                         resumption) = 0;
    /// \throws std::bad_alloc
    virtual void cancel() = 0;
};

/// The content of the files of a node's TLS settings. Shared by all connections to the node, so that a reconnection
/// verifies exactly as the first one did.
class tls_context {
public:
    tls_context() = default;
    tls_context(tls_context const&) = delete;
    tls_context& operator=(tls_context const&) = delete;
    virtual ~tls_context() = default;
};

/// A certificate or key that cannot be used; the message names it.
class tls_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class machine {
public:
    machine() = default;
    machine(machine const&) = delete;
    machine& operator=(machine const&) = delete;
    virtual ~machine() = default;

    /// \name Any thread
    ///@{
    /// The two clocks a lease is reckoned on.
    [[nodiscard]] virtual core::instant read_clocks() const noexcept = 0;
    /// The date, in milliseconds since 1970: only for fences, which may not trust it.
    [[nodiscard]] virtual std::chrono::milliseconds wall_clock() const noexcept = 0;
    /// For pauses only; values that may be guessed.
    [[nodiscard]] virtual core::random_fraction random_bits() noexcept = 0;
    /// Draws bytes that nobody can guess. False: there is no randomness now; a later call may succeed.
    [[nodiscard]] virtual bool draw(std::span<unsigned char> secret) noexcept = 0;
    ///@}

    /// \throws std::bad_alloc
    [[nodiscard]] virtual process_page make_page() = 0;
    [[nodiscard]] virtual std::unique_ptr<alarm> make_alarm(any_io_executor const&, alarm_listener&) = 0;
    [[nodiscard]] virtual std::unique_ptr<resolver> make_resolver(any_io_executor const&) = 0;
    /// Makes a stream that is not connected yet.
    [[nodiscard]] virtual std::shared_ptr<stream> make_stream(any_io_executor const&) = 0;
    /// \throws tls_error
    [[nodiscard]] virtual std::shared_ptr<tls_context> make_tls_context(tls_settings const&) = 0;
    /// Makes a TLS stream over a connected stream of this machine, and takes over that stream.
    /// \param server_name for SNI and verification
    [[nodiscard]] virtual std::shared_ptr<stream> secure(std::shared_ptr<stream> plain, peer const&,
                                                         std::string const& server_name, error_code&) = 0;
};

} // namespace redlock::net
