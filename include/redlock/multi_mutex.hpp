// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/any_lock.hpp>
#include <redlock/client.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace redlock {

/// Several names, locked together: all of them or none. Use it for work on several things that each have a lock: a
/// transfer between two accounts, all seats of a booking.
///
/// It has the operations, errors and cancellation of `mutex`, and one lease for all names: one nonce, one deadline, one end.
/// Acquiring it takes one round trip and one command a node, however many names there are. Each name excludes, and is
/// excluded by, plain locks of that name, of this library and of others. A majority of the nodes must grant all names. A
/// node that would grant some of them grants none.
///
/// Sets that overlap cannot deadlock each other: a waiting operation holds nothing, or it takes the names in the order
/// of their bytes. It does the latter after eight refusals, or if it is refused after a second or a tenth of `ttl`.
/// Within one client an operation waits in the queues of all its names from its start, and is served when it is the
/// first in all. So other operations on one of the names wait behind it, also while it waits for another name. Between
/// clients, an operation waits for the name that is taken, and then tries again.
///
/// If the holder of one of the names waits for a set with that name by another lock, it waits for itself, as with every
/// mutex. The holder of a name may wait for another one only in the order of their bytes.
///
/// `lease::resource()`, events and messages call it by all its names, in order: "a, b". After a failure
/// `node_outcome::resource` is the name that was in the way on a node, and after a loss the one that was lost there.
/// Ask each name's `mutex` who holds it. `waiting()` and `last_attempt()` are those of this object and
/// of its copies.
///
/// The client's user needs the rights of plain locks, and `+exists +mget +pttl +eval +evalsha`; if readers or permits
/// may hold one of the names, those of these kinds, too. Without the right to the keys `<name>:redlock-queue` a release
/// passes over the operations that wait there, and takes one round trip more.
/// \par Source
/// docs/protocol.md, rules M1 to M9.
class REDLOCK_EXPORT multi_mutex : public any_lock {
public:
    /// The names come in any order. One that is given twice counts once.
    /// \throws lock_error `errc::misconfigured`: no name, or more than 64; a name or an option that `mutex` does not take;
    ///         names that have more than 10 240 bytes together, each with `config::key_prefix`; with
    ///         `admission_settings::allow_cluster_node`, names without one common hash tag
    /// \throws std::bad_alloc
    multi_mutex(client& owner, std::span<std::string const> names, lock_options options = {});
    /// The same of names that are listed in braces. g++ 12 compiles no such list inside `co_await`: give the lock a
    /// variable.
    multi_mutex(client& owner, std::initializer_list<std::string_view> names, lock_options options = {});

    /// Sorted, each of them once.
    [[nodiscard]] std::span<std::string const> names() const noexcept;

    /// Continues a lease of these names that was left behind, as `mutex::adopt` does.
    /// \throws lock_error `errc::misconfigured`: not a nonce
    [[nodiscard]] lease adopt(std::string_view nonce) const;
};

} // namespace redlock
