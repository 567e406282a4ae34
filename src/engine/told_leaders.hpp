// SPDX-License-Identifier: BSL-1.0
// rule EL4
#pragma once

#include "core/leading.hpp"
#include "core/memory.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::detail {

/// The leaders that a client was told of, for elections without an object at the moment (docs/protocol.md, rule EL4).
class told_leaders {
public:
    using entries = std::list<std::pair<std::string, core::leader_version>>;

    static constexpr std::size_t most = 1024; ///< with more elections, the one that came first is forgotten

    told_leaders() = default;
    told_leaders(told_leaders const&) = delete;
    told_leaders& operator=(told_leaders const&) = delete;

    /// Without memory nothing is kept.
    void keep(std::string_view name, core::leader_version told) noexcept
    {
        if (told == core::leader_version())
            return;
        core::if_memory_allows([&] {
            core::leader_version const latest = std::max(told, take(name));
            if (order_.size() == most)
                forget(order_.begin());
            order_.emplace_back(std::string(name), latest);
            by_name_.emplace(order_.back().first, std::prev(order_.end()));
        });
        if (order_.size() > by_name_.size())
            order_.pop_back();
    }
    /// Returns what was kept, and forgets it.
    [[nodiscard]] core::leader_version take(std::string_view name) noexcept
    {
        auto const found = by_name_.find(name);
        if (found == by_name_.end())
            return {};
        core::leader_version const told = found->second->second;
        forget(found->second);
        return told;
    }

    [[nodiscard]] entries const& all() const { return order_; }

private:
    void forget(entries::iterator one) noexcept
    {
        by_name_.erase(std::string_view(one->first));
        order_.erase(one);
    }

    entries order_;
    boost::unordered_flat_map<std::string_view, entries::iterator> by_name_;
};

} // namespace redlock::detail
