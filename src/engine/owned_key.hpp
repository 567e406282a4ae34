// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "engine/key_state.hpp"
#include "engine/nonce_source.hpp"
#include "kind/kind.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstdint>
#include <string>

namespace redlock::detail {

/// A key that this client asked its nodes for: enough to release it, however long after its lock is gone.
struct owned_key {
    boost::intrusive_ptr<key_state> key;
    kind::lock_kind const* type = nullptr;
    nonce owner;
    std::uint64_t number = 0;

    [[nodiscard]] kind::subject said() const { return {key->key(), owner.text(), number}; }
};

/// A key that a node may still hold.
struct pending_release {
    owned_key what;
    core::instant expires; ///< the key cannot live longer
    std::string place{};   ///< in line, that is given up with it; empty: none
    core::duration
        passed{}; ///< for so long the lock had passed along the line until it was handed to that place
};

} // namespace redlock::detail
