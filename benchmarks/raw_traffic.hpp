// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::bench {

struct awaited {
    std::uint32_t slot;
    std::uint32_t phase;
};

/// All nodes are sent the same bytes in the same order, so the bytes to send and the replies to expect are
/// kept once, and a node is two positions in them.
class traffic {
public:
    traffic() : awaited_(1U << 13) {}

    template <std::size_t Size>
    void append(std::array<char, Size> const& command, awaited reply, std::uint64_t answered_by_all)
    {
        if (end_ + Size > bytes_.size())
            bytes_.resize(2 * bytes_.size());
        std::memcpy(bytes_.data() + end_, command.data(), Size);
        end_ += Size;
        if (asked_ - answered_by_all == awaited_.size())
            grow();
        awaited_[asked_++ & (awaited_.size() - 1)] = reply;
    }

    [[nodiscard]] std::string_view unsent(std::size_t from) const
    {
        return {bytes_.data() + from, end_ - from};
    }
    [[nodiscard]] awaited expected(std::uint64_t index) const
    {
        return awaited_[index & (awaited_.size() - 1)];
    }
    [[nodiscard]] std::uint64_t asked() const { return asked_; }

    /// Forgets the first bytes, which all nodes have been sent, when that is cheap: true when it did.
    bool discard(std::size_t sent)
    {
        if (sent < end_ && sent < bytes_.size() / 2)
            return false;
        std::memmove(bytes_.data(), bytes_.data() + sent, end_ - sent);
        end_ -= sent;
        return true;
    }

private:
    void grow()
    {
        std::vector<awaited> larger(2 * awaited_.size());
        for (auto index = asked_ - awaited_.size(); index != asked_; ++index)
            larger[index & (larger.size() - 1)] = expected(index);
        awaited_ = std::move(larger);
    }

    std::vector<char> bytes_ = std::vector<char>(1U << 16);
    std::size_t end_ = 0;
    std::vector<awaited> awaited_;
    std::uint64_t asked_ = 0;
};

} // namespace redlock::bench
