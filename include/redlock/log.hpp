// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/export.hpp>
#include <redlock/detail/printed.hpp> // IWYU pragma: export
#include <redlock/observer.hpp>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string_view>

namespace redlock {

/// How urgent a line of the log is, the most urgent first. A node that is still down, or a renewal that fails again, is
/// `debug`. Other repetitions keep their level.
enum class log_level : std::uint8_t {
    error, ///< a lease was lost
    warning, ///< a lease is in danger, a node does not vote or refuses, too few nodes answered, a key may stay behind;
             ///< every `warning_event`
    info, ///< a node may vote, a lock is held by others, a lease is confirmed again, a release was not confirmed. The
    ///< default: one line for each node if there is no trouble and no contention
    debug, ///< every event: votes, renewals, attempts
};

/// Its name, as it is written here.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(log_level) noexcept;

/// The settings of `log_to`.
struct log_options {
    log_level level = log_level::info; ///< events that are less urgent are not written
    /// Lines in a stream begin with the date and time in UTC (ISO 8601, milliseconds). A sink is given no time.
    bool timestamps = true;
};

/// An observer for `config::observer` that writes one line for each event that is urgent enough:
///
///     redlock::client locks{context, {.nodes = nodes, .observer = redlock::log_to(std::clog)}};
///
///     2026-01-31T12:00:00.000Z redlock warning: redis://b:6379 down: Connection refused
///
/// A line is ASCII and has at most 1024 bytes after its level. Other bytes in names and in the servers' texts are
/// written as `\xNN`, so that no server or name can forge a line. It never contains a password. For each kind of event
/// that may be frequent (waiting, refusals, failed operations, unconfirmed releases, keys left behind) at most one line
/// a second is written. The next line says how many were suppressed. `observers` adds an observer of your own.
///
/// Each line is one `write` and one `flush`, on the client's executor. If the stream blocks for longer than a lease is
/// valid, the lease is lost. For such streams use a sink with a queue. Exceptions and failures of the stream are ignored.
/// Without memory a line is left out.
///
/// Thread safety: several clients may share the observer, also on several threads. Two observers that share a stream are
/// not synchronised: give clients that write to one stream one observer.
/// Lifetime: the stream must live until the observer is destroyed. A client keeps its observer until it has been
/// destroyed and nothing of it is left on its execution context. `std::clog` and `std::cerr` live long enough.
/// \throws std::bad_alloc
[[nodiscard]] REDLOCK_EXPORT std::shared_ptr<observer> log_to(std::ostream&, log_options = {});

/// Takes a line without time, level and line end. The view lives as long as the call.
using log_sink = std::function<void(log_level, std::string_view line)>;

/// The same with a function instead of the stream. It is called for one line at a time. Its exceptions are ignored. It
/// must not call members of a client, its locks or leases.
/// \throws std::bad_alloc
[[nodiscard]] REDLOCK_EXPORT std::shared_ptr<observer> log_to(log_sink, log_options = {});

} // namespace redlock
