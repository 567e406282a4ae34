// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace redlock::model {

/// The states still to be looked at, without their zero words: most of a state is zero.
template <class World>
class frontier {
public:
    static_assert(std::is_trivially_copyable_v<World> && sizeof(World) % 8 == 0);

    void push(World const& w)
    {
        std::uint64_t words[count];
        std::memcpy(words, &w, sizeof w);
        std::size_t const head = data_.size();
        data_.resize(head + masks);
        for (std::size_t i = 0; i != count; ++i)
            if (words[i] != 0) {
                data_[head + i / 64] |= std::uint64_t{1} << i % 64;
                data_.push_back(words[i]);
            }
        ++size_;
    }

    void pop(World& w)
    {
        std::uint64_t words[count] = {};
        std::size_t const head = at_;
        at_ += masks;
        for (std::size_t i = 0; i != count; ++i)
            if ((data_[head + i / 64] >> i % 64 & 1) != 0)
                words[i] = data_[at_++];
        std::memcpy(static_cast<void*>(&w), words, sizeof w);
        --size_;
    }

    [[nodiscard]] std::size_t size() const { return size_; }

private:
    static constexpr std::size_t count = sizeof(World) / 8;
    static constexpr std::size_t masks = (count + 63) / 64;
    std::vector<std::uint64_t> data_;
    std::size_t at_ = 0;
    std::size_t size_ = 0;
};

} // namespace redlock::model
