// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::world {

/// Members in the order of their scores; equal scores, in the order of their bytes.
class sorted_set {
public:
    struct member {
        double score = 0;
        std::string name{};
        auto operator<=>(member const&) const = default;
    };
    enum class outcome { added, moved, unchanged };
    struct bounds {
        double least;
        double most;
        bool above = false; ///< the least itself is excluded
        bool below = false; ///< the most itself is excluded
        [[nodiscard]] bool operator()(double score) const
        {
            return (above ? score > least : score >= least) && (below ? score < most : score <= most);
        }
    };

    [[nodiscard]] std::size_t size() const { return members_.size(); }

    /// From zero.
    [[nodiscard]] std::optional<std::size_t> rank(std::string_view name) const
    {
        auto const at = std::ranges::find(members_, name, &member::name);
        return at == members_.end() ? std::nullopt
                                    : std::optional(static_cast<std::size_t>(at - members_.begin()));
    }

    [[nodiscard]] std::optional<double> score(std::string_view name) const
    {
        auto const at = rank(name);
        return at ? std::optional(members_[*at].score) : std::nullopt;
    }
    /// Returns how many are within these bounds.
    [[nodiscard]] std::size_t count(bounds const& where) const
    {
        return static_cast<std::size_t>(std::ranges::count_if(members_, where, &member::score));
    }

    [[nodiscard]] std::vector<member> within(bounds const& where) const
    {
        std::vector<member> found;
        std::ranges::copy_if(members_, std::back_inserter(found), where, &member::score);
        return found;
    }

    outcome add(member one)
    {
        auto const before = rank(one.name);
        if (before && members_[*before].score == one.score)
            return outcome::unchanged;
        if (before)
            remove(one.name);
        members_.insert(std::ranges::upper_bound(members_, one), std::move(one));
        return before ? outcome::moved : outcome::added;
    }

    bool remove(std::string_view name)
    {
        return std::erase_if(members_, [name](member const& one) { return one.name == name; }) != 0;
    }

    /// Returns how many were removed.
    std::size_t remove(bounds const& where)
    {
        return std::erase_if(members_, [&](member const& one) { return where(one.score); });
    }

    /// Returns members from one rank to another, both included; negative ranks count from the end.
    [[nodiscard]] std::vector<member> range(std::ptrdiff_t first, std::ptrdiff_t last) const
    {
        auto const count = static_cast<std::ptrdiff_t>(members_.size());
        first = std::max<std::ptrdiff_t>(first < 0 ? first + count : first, 0);
        last = std::min(last < 0 ? last + count : last, count - 1);
        return first > last ? std::vector<member>()
                            : std::vector(members_.begin() + first, members_.begin() + last + 1);
    }

private:
    std::vector<member> members_;
};

} // namespace redlock::world
