// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/export.hpp>
#include <redlock/detail/printed.hpp> // IWYU pragma: export

#include <cstdint>
#include <string_view>

namespace redlock {

/// The class of an error that a server answered instead of voting. None of these means "the lock is held by another": only
/// a nil reply does.
enum class server_error : std::uint8_t {
    none,        ///< the server reported no error
    noscript,    ///< the server's script cache was emptied; the library answers by sending the script itself
    readonly,    ///< the node is a replica and takes no votes
    masterdown,  ///< the node is a replica that lost its master
    loading,     ///< the node is reading its data set from disk
    busy,        ///< a long script blocks the node
    misconf,     ///< the node cannot persist and therefore refuses writes
    noreplicas,  ///< too few replicas are connected for the node's `min-replicas-to-write`
    oom,         ///< `maxmemory` is reached; releasing and extending still work
    clusterdown, ///< the node's cluster does not serve the key's slot
    tryagain,    ///< the key's slot is moving between cluster nodes
    moved,       ///< another cluster node owns the key; the library follows no redirections
    ask,         ///< another cluster node is taking over the key
    noauth,      ///< the server wants a password and none was given
    wrongpass,   ///< the user name or the password was refused
    noperm,      ///< the user lacks the right to a command, a key or a channel
    noproto,     ///< the server does not speak the wanted protocol version
    wrongtype,   ///< a key holds something else than a lock, a fence or a marker
    no_database, ///< the server has no database of that number, or no SELECT
    max_clients, ///< the server accepts no further connection
    denied,      ///< protected mode: the server accepts connections from its own machine only
    unknown_command, ///< the server lacks a command that locks need
    syntax,          ///< the server lacks an option of a command that locks need
    other            ///< an error without a class of its own; the server's text is reported with it
};

/// The server's name for the error (`NOAUTH`), or a short description if it has none.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(server_error error) noexcept;

} // namespace redlock
