// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/any_lock.hpp>
#include <redlock/client.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/fence_options.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace redlock {

/// A `multi_mutex` whose leases carry a fencing token: one for all names. It is larger than that of every earlier lease
/// of each of them, of a `fenced_mutex` or of another set. While servers keep their data, no pause, network or clock
/// changes that (docs/protocol.md, T2). The resource behind each name remembers the largest token it has seen, and
/// refuses smaller ones.
///
/// The nodes keep the keys of a `fenced_mutex` for each of its names, and one marker. The client's user needs the
/// rights of both kinds.
/// \par Source
/// docs/protocol.md, rules M1 to M9 and F1 to F6.
class REDLOCK_EXPORT fenced_multi_mutex : public any_lock {
public:
    /// The names come in any order. One that is given twice counts once.
    /// \throws lock_error `errc::misconfigured`: as `multi_mutex` and `fenced_mutex`
    /// \throws std::bad_alloc
    fenced_multi_mutex(client& owner, std::span<std::string const> names, lock_options options = {},
                       fence_options fence = {});
    /// The same of names that are listed in braces.
    fenced_multi_mutex(client& owner, std::initializer_list<std::string_view> names,
                       lock_options options = {}, fence_options fence = {});

    /// Sorted, each of them once.
    [[nodiscard]] std::span<std::string const> names() const noexcept;

    /// Continues a lease of these names that was left behind, as `fenced_mutex::adopt` does.
    /// \throws lock_error `errc::misconfigured`: not a nonce; a token below 1024 or not below 2^53
    [[nodiscard]] lease adopt(std::string_view nonce, std::uint64_t fencing_token) const;
};

} // namespace redlock
