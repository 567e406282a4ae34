// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/all_options.hpp"
#include "kind/kind.hpp"
#include <redlock/client.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace redlock::detail {

struct lock_descriptor;

/// Makes what a lock of any kind refers to. A kind's public class is a constructor that calls it with its constant.
struct lock_access {
    /// The same lock, of its client's present nodes.
    /// \throws std::bad_alloc
    static std::shared_ptr<lock_descriptor> present(std::shared_ptr<lock_descriptor>);
    /// \throws lock_error `errc::misconfigured`
    static std::shared_ptr<lock_descriptor> make(client& owner, std::string_view name, all_options const&,
                                                 kind::lock_kind const&, kind::lock_terms = {});
    /// The same lock on other terms.
    static std::shared_ptr<lock_descriptor> with_terms(lock_descriptor const&, kind::lock_terms);
    /// The same of several names.
    static std::shared_ptr<lock_descriptor> make(client& owner, std::vector<std::string_view> names,
                                                 all_options const&, kind::lock_kind const&);
};

} // namespace redlock::detail
