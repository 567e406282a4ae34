// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/basic_semaphore.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/fence_options.hpp>
#include <redlock/lock_options.hpp>

#include <string_view>
#include <utility>

namespace redlock {

/// A `semaphore` whose leases carry a fencing token, larger than that of every earlier lease of each of its permits.
/// The resource behind each permit (one of k connections, of k licences, of k partitions) remembers the largest token
/// that it has seen, and refuses smaller ones. Tokens of different permits cannot be compared: they cannot guard a
/// resource that all holders share.
///
/// The nodes keep the key `<name>:redlock-fences`, and the marker of `fenced_mutex`. The client's user needs the rights
/// for both.
/// \par Source
/// docs/protocol.md, rules P1 to P10 and F1 to F6.
class REDLOCK_EXPORT fenced_semaphore : public detail::basic_semaphore {
public:
    /// A semaphore with `permits` permits, 1 to 1024. Making it sends nothing.
    /// \throws lock_error `errc::misconfigured`: as `semaphore`, or a `fence_ttl` outside its limits
    /// \throws std::bad_alloc
    fenced_semaphore(client& owner, std::string_view name, unsigned permits, lock_options options = {},
                     fence_options fence = {});

    /// The same semaphore, for leases that come with `count` permits.
    /// \throws lock_error `errc::misconfigured`: `count` is zero, or above `permits()`
    /// \throws std::bad_alloc
    [[nodiscard]] fenced_semaphore taking(unsigned count) const;

private:
    explicit fenced_semaphore(detail::lock_ptr state) noexcept : basic_semaphore(std::move(state)) {}
};

} // namespace redlock
