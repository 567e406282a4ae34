// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/basic_shared_lock.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/fence_options.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <cstdint>
#include <string_view>

namespace redlock {

/// A `shared_mutex` whose leases carry fencing tokens, as those of a `fenced_mutex` do. A resource that remembers the
/// largest token it has seen and refuses smaller ones is safe from holders that come late:
/// - A writer's token is larger than the tokens of all leases that were granted before it, readers' and writers'.
/// - A reader's token is larger than the tokens of all writers that were granted before it.
/// - Readers between two writers have the same token unless the nodes' numbers differ: after a writer failed to get a
///   majority, or a node lost its data. Then the resource may refuse a reader whose lease is valid, because another
///   reader has a larger token. The refused reader acquires again.
///
/// Fence first, readers too: show the token to the resource before you read there.
///
/// `lease::downgrade` gives a writer the readers' token of its own number.
///
/// A reader does not count. It takes the largest number of its nodes, and raises nodes with a smaller one, which takes
/// one round trip more. The rest is as `shared_mutex` and `fenced_mutex` describe it, and each node keeps the keys of
/// both. The client's user needs the rights in docs/server-checklist.md, "Rights". Locks of other kinds with the same
/// name exclude readers and writers, and are excluded by both.
/// \par Source
/// docs/protocol.md, rule S16
class REDLOCK_EXPORT fenced_shared_mutex : public detail::basic_shared_lock {
public:
    /// \throws lock_error `errc::misconfigured`: as `mutex`, or a `fence_ttl` outside its limits
    /// \throws std::bad_alloc
    fenced_shared_mutex(client& owner, std::string_view name, lock_options options = {},
                        fence_options fence = {});

    /// Continues a writer's lease that another client detached or left behind, as `fenced_mutex::adopt` does. A
    /// reader's lease cannot be adopted (`shared_mutex::adopt`).
    /// \param nonce of the lease, from `lease::nonce()`
    /// \param fencing_token of the lease, from `lease::fencing_token()`
    /// \throws lock_error `errc::misconfigured`: not a nonce; a token below 1024 or not below 2^53; a reader's token
    [[nodiscard]] lease adopt(std::string_view nonce, std::uint64_t fencing_token) const;
};

} // namespace redlock
