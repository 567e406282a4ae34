// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/admission.hpp"
#include "core/instant.hpp"
#include "engine/all_options.hpp"
#include "kind/kind.hpp"
#include "net/connect.hpp"
#include "net/machine.hpp"
#include "net/node.hpp"
#include <redlock/config.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/observer.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A checked configuration, ready for use.
struct client_settings {
    std::vector<std::shared_ptr<net::peer const>> peers;
    std::vector<net::node_terms> terms;           ///< one for each peer: URLs may differ
    std::vector<std::string> names;               ///< the peers' URLs without secrets
    core::duration node_timeout;                  ///< zero: reckoned per lock
    core::duration connect_timeout;               ///< the longest of all nodes
    std::vector<core::admission_terms> admission; ///< one for each peer
    core::duration longest_ttl; ///< for any client's keys; zero: unknown, this client's own count
    std::string key_prefix;
    std::shared_ptr<observer> watcher;
};

/// \param on where it is going to be used: it reads the files that are named
/// \throws lock_error `errc::misconfigured`
[[nodiscard]] client_settings check(config const&, net::machine& on);

/// \throws lock_error `errc::misconfigured`
void check_name(std::string_view);
/// \throws lock_error `errc::misconfigured`
void check(std::string_view name, all_options const&, kind::lock_kind const&, client_settings const&);
/// The same of several names.
void check(std::vector<std::string_view> const& names, all_options const&, kind::lock_kind const&,
           client_settings const&);

/// Return the slack and the times that a lock really uses.
[[nodiscard]] std::chrono::milliseconds slack_of(lock_options const&);
[[nodiscard]] core::duration node_timeout_of(lock_options const&, client_settings const&);
[[nodiscard]] std::chrono::milliseconds fence_ttl_of(all_options const&);

/// So many at once of all that a semaphore has.
/// \throws lock_error `errc::misconfigured`
[[nodiscard]] kind::lock_terms checked_permits(std::string_view name, unsigned limit, unsigned count);

/// Something in the configuration is unusable; the message says what.
/// \param lock the name of the lock that cannot be made, or used so
/// \throws lock_error `errc::misconfigured`
[[noreturn]] void misconfigured(std::string message, std::string_view lock = {});

} // namespace redlock::detail
