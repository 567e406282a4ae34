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

/// The data needed to release a key that this client asked its nodes for, also when its lock is long gone.
struct release_record {
    boost::intrusive_ptr<key_state> key;
    kind::lock_kind const* type = nullptr;
    nonce owner;
    std::uint64_t number = 0;

    [[nodiscard]] kind::command_arguments as_args() const { return {key->key(), owner.text(), number}; }
};

/// A release that a node still has to get, because it may hold the key.
struct owed_release {
    release_record what;
    core::instant expires;       ///< the key cannot live longer
    std::string position_text{}; ///< the position that is given up with it; empty: none
    core::duration
        passed{}; ///< how long the lock had passed from owner to owner when it was handed to that position
};

} // namespace redlock::detail
