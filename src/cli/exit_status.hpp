// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/system/error_code.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The command line `redlock`: docs/cli.md says what it does.
namespace redlock::cli {

/// The tool's own exit statuses: those of sysexits.h if it has one for the case, and otherwise as timeout(1) and the
/// shell do.
namespace exit_status {
inline constexpr int success = 0;
inline constexpr int not_held =
    1; ///< status: nobody holds it; extend, release: it is not (any more) this token's
inline constexpr int usage = 64;
inline constexpr int no_quorum = 69;
inline constexpr int conflict = 75; ///< not acquired in time
inline constexpr int no_permission = 77;
inline constexpr int bad_configuration = 78;
inline constexpr int lost = 124; ///< the lock was lost, and the command was stopped
inline constexpr int internal = 125;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
inline constexpr int by_signal = 128; ///< plus the signal's number
} // namespace exit_status

/// Ends the tool with a message.
class failure : public std::runtime_error {
public:
    failure(int status, std::string const& message, std::vector<node_outcome> table = {})
        : std::runtime_error(message), status_(status), table_(std::move(table))
    {}
    [[nodiscard]] int status() const { return status_; }
    [[nodiscard]] std::vector<node_outcome> const& table() const { return table_; }

private:
    int status_;
    std::vector<node_outcome> table_;
};

/// Turns the library's complaint about a lock into one about the command line: name, times and token are its arguments.
/// \throws failure with `exit_status::usage` for `errc::misconfigured`
template <class Make>
auto as_usage(Make make)
{
    try {
        return make();
    } catch (lock_error const& e) {
        if (e.code() != errc::misconfigured)
            throw;
        throw failure(exit_status::usage, e.what());
    }
}

/// Tells why an acquisition failed: another client had the lock, or something kept the nodes from voting.
/// \param table of the last attempt
/// \param conflict the status if another client had it
[[nodiscard]] int status_of(lock_error const&, std::vector<node_outcome> const& table, int conflict);

} // namespace redlock::cli
