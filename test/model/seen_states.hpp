// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace redlock::model {

struct fingerprint {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend bool operator==(fingerprint const&, fingerprint const&) = default;
};

/// 128 bits, so that two states are taken for one once in 10^24 searches of ten million states.
inline fingerprint fingerprint_of(std::byte const* bytes, std::size_t size)
{
    fingerprint f{0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU};
    for (std::size_t at = 0; at != size; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, 8);
        f.low = (f.low ^ word) * 0x9fb21c651e98df25U;
        f.low ^= f.low >> 29;
        f.high = (f.high + word) * 0xd6e8feb86659fd93U;
        f.high ^= f.high >> 32;
    }
    f.low ^= f.high << 1 | f.high >> 63;
    f.low = (f.low ^ f.low >> 32) * 0xd6e8feb86659fd93U;
    return f;
}

/// Every state met, as its fingerprint, with the state and the action that led to it first.
class seen_states {
public:
    static constexpr std::uint32_t root = 0xffffffff;
    struct step {
        std::uint32_t from;
        std::uint32_t action;
    };

    seen_states() : table_(std::size_t{1} << 16, root) {}

    /// True when the state is new.
    bool insert(fingerprint f, step s)
    {
        if ((prints_.size() + 1) * 2 > table_.size())
            grow();
        std::uint32_t& place = find(f);
        if (place != root)
            return false;
        place = static_cast<std::uint32_t>(prints_.size());
        prints_.push_back(f);
        steps_.push_back(s);
        return true;
    }

    [[nodiscard]] std::size_t size() const { return prints_.size(); }
    [[nodiscard]] step const& how(std::size_t state) const { return steps_[state]; }
    fingerprint print(std::size_t i) const { return prints_[i]; }

private:
    std::uint32_t& find(fingerprint f)
    {
        std::size_t at = f.low & (table_.size() - 1);
        while (table_[at] != root && prints_[table_[at]] != f)
            at = (at + 1) & (table_.size() - 1);
        return table_[at];
    }

    void grow()
    {
        table_.assign(table_.size() * 2, root);
        for (std::uint32_t i = 0; i != prints_.size(); ++i)
            find(prints_[i]) = i;
    }

    std::vector<std::uint32_t> table_;
    std::vector<fingerprint> prints_;
    std::vector<step> steps_;
};

} // namespace redlock::model
