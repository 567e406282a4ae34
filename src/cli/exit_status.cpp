// SPDX-License-Identifier: BSL-1.0
#include "cli/exit_status.hpp"

#include "core/tally.hpp"
#include <redlock/server_error.hpp>

#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace redlock::cli {

namespace {

bool lacks_rights(node_outcome const& row)
{
    return row.error == server_error::noauth || row.error == server_error::wrongpass ||
           row.error == server_error::noperm || row.error == server_error::denied;
}

/// Is the failure OpenSSL's verdict on a certificate, a key or a name? A connection that is cut during the handshake is
/// none, and may succeed the next time.
bool has_bad_certificate(node_outcome const& row)
{
    if (row.result != node_result::unreachable ||
        (!row.detail.starts_with("TLS: ") && !row.detail.starts_with("handshake: ")))
        return false;
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"certificate", "mismatch", "unknown ca", "CA ", "CRL", "key"},
        [&](std::string_view word) { return row.detail.find(word) != std::string::npos; });
}

} // namespace

int status_of(lock_error const& why, std::vector<node_outcome> const& table, int conflict)
{
    auto const ec = why.code();
    if (ec == errc::contended)
        return conflict;
    if (ec == errc::misconfigured)
        return exit_status::bad_configuration;
    if (ec != errc::no_quorum && ec != errc::timed_out && ec != errc::too_slow)
        return exit_status::internal;
    auto const prevents = [&](auto what) { // too few are left for a majority
        auto const number = static_cast<std::size_t>(std::ranges::count_if(table, what));
        return number != 0 && table.size() - number < core::majority(static_cast<unsigned>(table.size()));
    };
    if (prevents(lacks_rights))
        return exit_status::no_permission;
    if (prevents(has_bad_certificate))
        return exit_status::bad_configuration;
    // An attempt that is refused by its rendezvous node asks no other node: the other rows are pending, and prevent
    // nothing.
    bool const cannot_vote = prevents([](node_outcome const& row) {
        return row.result != node_result::granted && row.result != node_result::held_by_other &&
               row.result != node_result::pending;
    });
    bool const outage = ec != errc::timed_out || why.last_failure() == errc::no_quorum || cannot_vote;
    return outage ? exit_status::no_quorum : conflict;
}

} // namespace redlock::cli
