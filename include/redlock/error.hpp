// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/export.hpp>
#include <redlock/detail/printed.hpp> // IWYU pragma: export
#include <redlock/node_outcome.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace redlock {

namespace detail {
struct error_access;
} // namespace detail

/// Errors that a caller can act on. The table of outcomes has the causes for each node. Cancellation is not one of these:
/// a cancelled operation completes with `boost::asio::error::operation_aborted`.
///
/// Where the standard has a condition, a code compares equal to it: `timed_out` to `std::errc::timed_out`, a cancelled
/// operation's code to `std::errc::operation_canceled`, and that of exhausted memory to `std::errc::not_enough_memory`.
enum class errc {
    contended = 1, ///< other clients hold the lock, or operations of this client hold it or wait for it
    timed_out,     ///< not acquired within the time the caller gave
    no_quorum,     ///< too few nodes could be asked, or gave a usable answer
    too_slow,      ///< a majority granted, but only after the validity had expired
    lease_lost,    ///< the lease can no longer be trusted
    released,      ///< the lease was released before
    misconfigured, ///< a value in the configuration, the options or the name is unusable
    shut_down,     ///< the client was shut down or destroyed
    empty_lease,   ///< the operation was called on an empty lease
    no_randomness, ///< OpenSSL has no random numbers, which identify an attempt
    forked,        ///< this process is a forked copy of the one that made the client
    wrong_mode,    ///< `downgrade` of a lease that is no writer's
};

/// Its name, as it is written here: "contended". `error_category()` has a message for each.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(errc) noexcept;

/// Why a lease was lost: what `errc::lease_lost` does not say.
enum class loss_cause : std::uint8_t {
    none, ///< it was not lost
    expired, ///< its validity ended before an extension reached a majority, or without one (`lock_options::renew`)
    refused,  ///< too many nodes said that the key was deleted, was evicted, or belongs to another owner
    stalled,  ///< not extended, because the holder made no progress (`lock_options::progress_within`)
    max_hold, ///< held for as long as `lock_options::max_hold` allows
    forked,   ///< this process is a forked copy of the one that holds it
};

/// Its name, as it is written here: "expired".
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(loss_cause) noexcept;

/// The stage of an operation that failed (`lock_error::stage()`): whether the program had a lease.
enum class lock_stage : std::uint8_t {
    acquiring, ///< no lease: it was not acquired, or the operation needs none
    holding,   ///< a lease, which has ended or not, or has not done what was asked of it
};

/// Its name.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lock_stage) noexcept;

/// The category of every `errc`.
[[nodiscard]] REDLOCK_EXPORT boost::system::error_category const& error_category() noexcept;

/// Makes `ec == errc::contended` work: an `errc` converts to an error code.
[[nodiscard]] inline boost::system::error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), error_category()};
}

/// An error with its details: which lock, what each node answered, and why a lease was lost. A `system_error` whose
/// `what()` says all of that on one line.
///
/// Thrown by constructors, by `with_lock`, and by every operation with the default token, as in `co_await lock.acquire()`.
/// Other tokens complete with an error code, or throw a plain `system_error` with it. `with_diagnostics` makes them throw
/// a `lock_error`, too. `mutex::explain(ec)` and `lease::explain(ec)` make one from the code.
class REDLOCK_EXPORT lock_error : public boost::system::system_error {
public:
    /// The lock, the error and what each node answered, on one line: `lock "seat:42": contended: 0 of 3 granted; ...`.
    [[nodiscard]] char const* what() const noexcept override { return message_.c_str(); }
    /// The lock's name, without `config::key_prefix`. Empty if the error concerns no lock.
    [[nodiscard]] std::string const& resource() const noexcept { return resource_; }
    /// Returns each node's answer to the last attempt, or its last answer about the lease, in the order of
    /// `config::nodes`. Empty if no node was asked, or if memory was short.
    [[nodiscard]] std::vector<node_outcome> const& outcomes() const noexcept { return outcomes_; }
    /// Returns how the last attempt failed, as `acquire_event::last_failure` says: before `timed_out` either another
    /// client held the lock, or too few nodes answered. Empty if no attempt was completed, and the operation had no
    /// position in the queue.
    [[nodiscard]] boost::system::error_code last_failure() const noexcept { return last_failure_; }
    /// Why the lease was lost, if the code is `errc::lease_lost`.
    [[nodiscard]] loss_cause cause() const noexcept { return cause_; }
    /// Was a lease acquired? What failed in the stage `acquiring` may be repeated: nothing has been done under the lock.
    [[nodiscard]] lock_stage stage() const noexcept { return stage_; }

private:
    friend struct detail::error_access;
    lock_error(boost::system::error_code code, std::string message, std::vector<node_outcome> table,
               boost::system::error_code last_failure, std::string resource, loss_cause cause,
               lock_stage stage);

    std::string message_;
    std::string resource_;
    std::vector<node_outcome> outcomes_;
    boost::system::error_code last_failure_;
    loss_cause cause_;
    lock_stage stage_;
};

/// Thrown by `with_lock` when the lease ended before its body: the body's work may be half done, and another client may
/// have had the lock meanwhile. A `lock_error` in the stage `holding`. Its code is `errc::lease_lost`, or
/// `errc::shut_down` if the client was shut down, or `errc::forked` in a forked child. The text of a loss names the
/// lock, the cause, the last confirmation, and each node's last answer: `lock "seat:42" lost (expired): last confirmed
/// 9.9 s ago; redis://b:6379 unreachable (Connection refused) 0.2 s ago; ...`.
class REDLOCK_EXPORT lease_lost_error : public lock_error {
private:
    friend struct detail::error_access;
    explicit lease_lost_error(lock_error) noexcept;
};

} // namespace redlock

/// \cond
template <>
struct boost::system::is_error_code_enum<redlock::errc> : std::true_type {};
/// \endcond
