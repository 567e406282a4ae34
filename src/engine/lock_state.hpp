// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/key_state.hpp"
#include "engine/lock_plan.hpp"
#include "redis/command.hpp"
#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <memory>
#include <string>
#include <vector>

namespace redlock::detail {

/// The common state of all copies of a mutex, its acquisitions and its leases. Constant.
struct lock_state {
    lock_state(std::shared_ptr<lock_plan const>, boost::intrusive_ptr<key_state>);

    std::shared_ptr<lock_plan const> const plan;
    boost::intrusive_ptr<key_state> const wanted; ///< shared with the other locks of the same key
    std::shared_ptr<lock_state> heir{};           ///< the same lock, of the next nodes; guarded by the engine

    [[nodiscard]] engine& client() const { return *plan->client; }
    [[nodiscard]] std::string const& name() const;
    [[nodiscard]] redis::lock_key key() const;
    [[nodiscard]] std::vector<node_outcome> last_attempt() const;
    [[nodiscard]] lock_error explain(boost::system::error_code, lock_stage = lock_stage::acquiring) const;
};

/// Do the keys that one of them sets live as long as those of the other?
[[nodiscard]] bool same_times(lock_state const&, lock_state const&);
/// And carry the same?
[[nodiscard]] bool same_terms(lock_state const&, lock_state const&);

} // namespace redlock::detail
