#pragma once

#include <redlock/export.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace redlock {

/// What a caller can act on. Causes per node are in the outcome table. Cancellation is not one of these: a
/// cancelled operation completes with `boost::asio::error::operation_aborted`.
enum class errc {
    contended = 1, ///< others hold the lock, or operations of this client hold it or wait for it
    timed_out,     ///< not acquired within the time the caller gave
    no_quorum,     ///< too few nodes could be asked or answered usefully
    too_slow,      ///< a majority granted, but the validity was over before it did
    lease_lost,    ///< the lease can no longer be trusted
    released,      ///< the lease was released (the normal end that `lease::lost()` reports)
    misconfigured, ///< a value in the configuration, the options or the name is unusable
    shut_down,     ///< the client was shut down or destroyed
    empty_lease,   ///< the operation was called on an empty lease
};

/// Why a lease was lost: what `errc::lease_lost` does not say.
enum class loss_cause : std::uint8_t {
    none, ///< it was not
    expired, ///< its validity ended before an extension reached a majority, or without one (`lock_options::renew`)
    refused,  ///< too many nodes said that the key is not ours: deleted, evicted or somebody else's
    stalled,  ///< not extended, because the holder did not get on (`lock_options::progress_within`)
    max_hold, ///< held for as long as `lock_options::max_hold` allows
};

/// Its name, as it is written here.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(loss_cause) noexcept;

/// The category of every `errc`.
[[nodiscard]] REDLOCK_EXPORT boost::system::error_category const& error_category() noexcept;

/// An `errc` turns into an error code by itself; so `ec == errc::contended` works, too.
[[nodiscard]] inline boost::system::error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), error_category()};
}

/// Thrown by `co_await lock.acquire()` and its siblings, with no token or `use_awaitable`, and by constructors: a
/// `system_error` whose `what()` tells what each node said, and which carries the table itself. Other tokens
/// (`asio::deferred` by name, `use_future`) have an error code in their signature and throw a plain `system_error`;
/// `mutex::last_attempt()` has the table for them.
class REDLOCK_EXPORT lock_error : public boost::system::system_error {
public:
    /// The library makes them.
    lock_error(boost::system::error_code code, std::string message, std::vector<node_outcome> table,
               boost::system::error_code last_failure = {});

    /// The error and what each node said, on one line.
    [[nodiscard]] char const* what() const noexcept override { return message_.c_str(); }
    /// What each node said to the last attempt, in the order of `config::nodes`; empty where none was made.
    [[nodiscard]] std::vector<node_outcome> const& outcomes() const noexcept { return outcomes_; }
    /// How the last attempt failed, as `acquire_event::last_failure` says: whether others had the lock until it
    /// `timed_out`, or too few nodes answered. Empty where it had no turn, or its only attempt was undecided.
    [[nodiscard]] boost::system::error_code last_failure() const noexcept { return last_failure_; }

private:
    std::string message_;
    std::vector<node_outcome> outcomes_;
    boost::system::error_code last_failure_;
};

/// Thrown by `with_lock` when the lease was lost while the body ran: a `system_error` with `errc::lease_lost` that knows
/// why.
class REDLOCK_EXPORT lease_lost_error : public boost::system::system_error {
public:
    /// The library makes them.
    explicit lease_lost_error(loss_cause);

    /// The error and its cause: "lease lost (expired)".
    [[nodiscard]] char const* what() const noexcept override { return message_.c_str(); }
    /// Why it was lost.
    [[nodiscard]] loss_cause cause() const noexcept { return cause_; }

private:
    std::string message_;
    loss_cause cause_;
};

} // namespace redlock

/// \cond
template <>
struct boost::system::is_error_code_enum<redlock::errc> : std::true_type {};
/// \endcond
