// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/all_options.hpp"
#include "kind/kind.hpp"
#include <redlock/client.hpp>
#include <redlock/detail/lock_ptr.hpp>

#include <string_view>
#include <vector>

namespace redlock::detail {

/// Makes what a lock of any kind refers to. A kind's public class is a constructor that calls it with its constant.
struct lock_access {
    /// The same lock, of its client's present nodes.
    /// \throws std::bad_alloc
    static lock_ptr present(lock_ptr);
    /// \throws lock_error `errc::misconfigured`
    static lock_ptr make(client& owner, std::string_view name, all_options const&, kind::lock_kind const&,
                         kind::lock_terms = {});
    /// The same lock on other terms.
    static lock_ptr with_terms(lock_descriptor const&, kind::lock_terms);
    /// The same of several names.
    static lock_ptr make(client& owner, std::vector<std::string_view> names, all_options const&,
                         kind::lock_kind const&);
};

} // namespace redlock::detail
