// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "net/coroutine.hpp"
#include "net/executor.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"
#include "redis/handshake.hpp"
#include "redis/info.hpp"
#include "redis/resp_parser.hpp"
#include "redis/sentinel.hpp"
#include "redis/url.hpp"
#include <redlock/config.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::net {

/// The settings for a connection to one node.
struct peer {
    redis::endpoint where;
    std::string name; ///< URL without secrets
    redis::handshake_settings handshake;
    /// Called before each connection. Empty: the handshake has them.
    std::function<credentials(std::string_view node)> credentials_provider;
    std::shared_ptr<tls_context> tls; ///< null: plain
    std::string server_name;          ///< for SNI and verification; empty: the host that is connected to
    bool verify = true;
    bool keep_alive = true;
    std::chrono::milliseconds connect_timeout{1000};
};

/// The reason why a node cannot be asked.
struct failure {
    /// unreachable, timed_out or refused; quarantined: it is connected, but what this was meant for may not vote there
    node_result result = node_result::unreachable;
    server_error error = server_error::none;
    std::string detail{};
    bool unsent = false; ///< it has never left this process
};

/// A reading of a server's wall clock between two moments of our own.
struct clock_reading {
    core::duration theirs; ///< since 1970
    core::instant sent;
    core::instant received;

    [[nodiscard]] core::duration took() const { return core::elapsed(sent, received); }
};

/// The information about a server that a new connection gathers.
struct introduction {
    redis::server_facts facts;
    std::optional<clock_reading> clock{}; ///< empty if TIME is not permitted
};

class connect_listener {
public:
    virtual void on_connected(std::shared_ptr<stream>, introduction) = 0;
    virtual void on_connect_failed(failure) = 0;
    /// In a forked child the connection is the parent's, and nobody is called.
    [[nodiscard]] virtual bool forked() const noexcept { return false; }

protected:
    ~connect_listener() = default;
};

/// The suffix of a failure that looks like TLS on one side only.
inline constexpr std::string_view tls_port_question = " (is this a TLS port?)";
/// The suffix of a failure when a server hangs up without a byte after a greeting without TLS.
inline constexpr std::string_view hung_up_question =
    " (a TLS port, or a proxy that knows neither HELLO nor AUTH?)";
/// The prefix of a failure when the peer speaks another protocol.
inline constexpr std::string_view no_redis_server = "not a Redis server: ";

/// Makes one connection: resolve, connect to one address after the other, TLS, handshake; all within the connect
/// timeout. For a group it asks the Sentinels, one after the other, for the master. Calls its listener once, unless it
/// is cancelled before.
class connector final : public std::enable_shared_from_this<connector>, private alarm_listener {
public:
    /// \param limit for everything, if it is shorter than the connect timeout
    connector(any_io_executor const&, machine&, std::shared_ptr<peer const>, connect_listener&,
              core::duration limit = core::duration::max());

    void start();
    void cancel();

private:
    coroutine<void> run();
    coroutine<void> make();
    coroutine<bool> meet(redis::address const& server, std::size_t shares);
    coroutine<bool> meet_master();
    coroutine<bool> ask(redis::address const& sentinel, redis::group_view& told, std::size_t shares);
    coroutine<bool> reach(redis::address const& server, std::size_t shares);
    coroutine<std::vector<endpoint>> resolve(redis::address const& server, error_code&);
    coroutine<error_code> connect_any(std::vector<endpoint> const&, std::size_t shares);
    coroutine<error_code> connect_to(endpoint const&);
    coroutine<bool> secure(std::string const& host);
    template <class Talk>
    coroutine<bool> converse(Talk& talk);
    coroutine<bool> introduce();
    bool ask_for_credentials(redis::handshake_settings&);
    void begin_phase(std::size_t shares);
    void on_alarm(error_code, unsigned phase) override;
    [[nodiscard]] bool unreadable(error_code, redis::parse_status, std::string_view what,
                                  std::string_view input);
    [[nodiscard]] bool answers_too_much(std::string_view left);
    /// Is the connection wanted, and this process's?
    [[nodiscard]] bool goes_on() const { return listener_ && !listener_->forked(); }
    void fail(failure);
    bool blame(failure);
    bool blame(error_code, std::string const& doing);
    bool blame_security(error_code, std::string const& doing);
    void time_out();
    [[nodiscard]] core::duration time_left() const;

    std::shared_ptr<peer const> peer_;
    connect_listener* listener_;
    any_io_executor executor_;
    machine& machine_;
    std::unique_ptr<resolver> resolver_;
    std::unique_ptr<alarm> alarm_;
    core::instant deadline_;
    std::shared_ptr<stream> stream_;
    introduction told_;
    core::instant sent_;                         ///< when the last bytes were sent
    core::instant received_;                     ///< when the last bytes were received
    std::string wanted_;                         ///< name in the certificate
    std::string_view missing_ = "no connection"; ///< if time runs out now
    unsigned phase_ = 0;
    bool whole_ = false;   ///< with this phase the time for everything is over; otherwise only a share of it
    bool late_ = false;    ///< the phase's share is over
    bool hurried_ = false; ///< a lease leaves less time than the connect timeout (rule H10)
    bool heard_ = false;   ///< a byte from the server
    failure problem_;      ///< why the last attempt failed
    coroutine<void> work_; // last: its frames refer to the rest
};

} // namespace redlock::net
