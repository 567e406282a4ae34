// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/key_state.hpp"
#include "engine/lock_config.hpp"
#include "redis/command.hpp"
#include <redlock/detail/lock_ptr.hpp> // IWYU pragma: export
#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::detail {

/// The common state of all copies of a mutex, its acquisitions and its leases. Constant.
struct lock_descriptor {
    lock_descriptor(std::shared_ptr<lock_config const>, boost::intrusive_ptr<key_state>);

    std::shared_ptr<lock_config const> const config;
    boost::intrusive_ptr<key_state> const key; ///< shared with the other locks of the same key
    lock_ptr successor;                        ///< the same lock, of the next nodes; guarded by the engine
    std::atomic<std::uint32_t> owners{0};

    [[nodiscard]] engine& client() const { return *config->client; }
    [[nodiscard]] std::string const& name() const { return key->name(); }
    [[nodiscard]] redis::lock_key redis_key() const { return key->key(); }
    [[nodiscard]] std::vector<node_outcome> last_attempt() const;
    [[nodiscard]] lock_error explain(boost::system::error_code, lock_stage = lock_stage::acquiring) const;
};

/// Do the keys that one of them sets live as long as those of the other?
[[nodiscard]] bool same_times(lock_descriptor const&, lock_descriptor const&);
/// Do they also have the same kind and terms?
[[nodiscard]] bool same_terms(lock_descriptor const&, lock_descriptor const&);

} // namespace redlock::detail
