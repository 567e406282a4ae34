// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <ostream>

/// For the test framework's reports.
namespace redlock {

inline std::ostream& operator<<(std::ostream& out, errc e)
{
    return out << make_error_code(e).message();
}

inline std::ostream& operator<<(std::ostream& out, node_result r)
{
    return out << to_string(r);
}

inline std::ostream& operator<<(std::ostream& out, server_error e)
{
    return out << to_string(e);
}

inline std::ostream& operator<<(std::ostream& out, lease_state s)
{
    return out << to_string(s);
}

} // namespace redlock
