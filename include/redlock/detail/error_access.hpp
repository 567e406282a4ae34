// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/system/error_code.hpp>

#include <string>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Makes the errors that only the library makes.
struct error_access {
    [[nodiscard]] static lock_error make(boost::system::error_code code, std::string message,
                                         std::vector<node_outcome> table = {},
                                         boost::system::error_code last_failure = {},
                                         std::string resource = {}, loss_cause cause = loss_cause::none,
                                         lock_stage stage = lock_stage::acquiring)
    {
        return {code, std::move(message), std::move(table), last_failure, std::move(resource), cause, stage};
    }
    [[nodiscard]] static lease_lost_error lost(lock_error told) { return lease_lost_error(std::move(told)); }
};

} // namespace redlock::detail
