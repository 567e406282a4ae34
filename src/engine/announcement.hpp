// SPDX-License-Identifier: BSL-1.0
// rule EL2
#pragma once

#include "kind/election.hpp"
#include "kind/kind.hpp"
#include "kind/lease_arguments.hpp"
#include "redis/writer.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::detail {

/// A leader's announcement, as the nodes have it (docs/protocol.md, rule EL2).
class announcement final : public kind::lease_arguments {
public:
    /// \throws std::bad_alloc
    explicit announcement(std::string_view value)
    {
        text_.reserve(value.size() + kind::longest_head);
        text_.append(value);
    }

    /// Replaces the earlier announcement. Needs no memory.
    /// \param before null: there was no announcement
    void replace(std::uint64_t term, announcement const* before)
    {
        revision_ = before ? before->revision_ + 1 : 1;
        for (std::uint64_t const part : {revision_, term}) {
            text_.insert(0, 1, ' ');
            text_.insert(0, std::string_view(redis::digits(part)));
        }
    }
    void add_to(kind::command_arguments& args, bool) const override { args.announcement = text_; }
    [[nodiscard]] bool are_observed() const override { return true; }

private:
    std::string text_;
    std::uint64_t revision_ = 0;
};

} // namespace redlock::detail
