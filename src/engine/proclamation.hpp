// SPDX-License-Identifier: BSL-1.0
// rule EL2
#pragma once

#include "kind/election.hpp"
#include "kind/kind.hpp"
#include "kind/lease_words.hpp"
#include "redis/writer.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::detail {

/// A leader's announcement, as the nodes have it (docs/protocol.md, rule EL2).
class proclamation final : public kind::lease_words {
public:
    /// \throws std::bad_alloc
    explicit proclamation(std::string_view value)
    {
        text_.reserve(value.size() + kind::longest_head);
        text_.append(value);
    }

    /// From now on it is what is said, in place of what was. Needs no memory.
    /// \param before null: nothing was
    void replace(std::uint64_t term, proclamation const* before)
    {
        revision_ = before ? before->revision_ + 1 : 1;
        for (std::uint64_t const part : {revision_, term}) {
            text_.insert(0, 1, ' ');
            text_.insert(0, std::string_view(redis::digits(part)));
        }
    }
    void add_to(kind::subject& said, bool) const override { said.proclaimed = text_; }
    [[nodiscard]] bool are_observed() const override { return true; }

private:
    std::string text_;
    std::uint64_t revision_ = 0;
};

} // namespace redlock::detail
