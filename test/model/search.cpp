// SPDX-License-Identifier: BSL-1.0
#include "model/search.hpp"

#include "model/seen_states.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <type_traits>

namespace redlock::model {

namespace {

static_assert(std::is_trivially_copyable_v<small_world> && sizeof(small_world) % 8 == 0);

/// What lies between members must not tell equal states apart. Where a compiler cannot clear it, more states are
/// counted, and none is missed. Part by part: g++ 12 clears nothing in a whole world.
template <class Part>
void clear_padding([[maybe_unused]] Part& part)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&part);
#endif
#endif
}

void clear_padding(small_world& w)
{
    for (auto& n : w.nodes)
        clear_padding(n);
    for (auto& c : w.clients)
        clear_padding(c);
}

/// The states still to be looked at, without their zero words: most of a state is zero.
class frontier {
public:
    void push(small_world const& w)
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

    void pop(small_world& w)
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
    static constexpr std::size_t count = sizeof(small_world) / 8;
    static constexpr std::size_t masks = (count + 63) / 64;
    std::vector<std::uint64_t> data_;
    std::size_t at_ = 0;
    std::size_t size_ = 0;
};

class breadth_first {
public:
    explicit breadth_first(scope const& s) : scope_(s), steps_(s) {}

    search_result run()
    {
        auto const began = std::chrono::steady_clock::now();
        small_world first(scope_);
        for (action const a : scope_.situation)
            steps_.take(first, a);
        meet(first, seen_states::root, {});
        while (next_.size() != 0 && result_.flaw == small_world::flaw::none &&
               seen_.size() < scope_.most_states) {
            frontier now;
            std::swap(now, next_);
            ++result_.depth;
            expand(now);
        }
        result_.complete = next_.size() == 0;
        result_.states = seen_.size();
        result_.took =
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
        return result_;
    }

private:
    void expand(frontier& now)
    {
        small_world w(scope_);
        std::vector<action> actions;
        while (now.size() != 0 && result_.flaw == small_world::flaw::none) {
            now.pop(w);
            actions.clear();
            steps_.possible(w, actions);
            for (action const a : actions) {
                small_world after = w;
                steps_.take(after, a);
                ++result_.transitions;
                meet(after, looked_at_, a);
                if (result_.flaw != small_world::flaw::none)
                    return;
            }
            ++looked_at_;
        }
    }

    void meet(small_world w, std::uint32_t from, action a)
    {
        clear_padding(w);
        auto const print = fingerprint_of(reinterpret_cast<std::byte const*>(&w), sizeof w);
        if (!seen_.insert(print, {from, std::bit_cast<std::uint32_t>(a)}))
            return;
        next_.push(w);
        if (w.broken == small_world::flaw::none)
            return;
        result_.flaw = w.broken;
        result_.trace = trace(seen_.size() - 1);
    }

    [[nodiscard]] std::string trace(std::size_t last) const
    {
        std::vector<action> way;
        for (std::size_t at = last; seen_.how(at).from != seen_states::root; at = seen_.how(at).from)
            way.push_back(std::bit_cast<action>(seen_.how(at).action));
        way.insert(way.end(), scope_.situation.rbegin(), scope_.situation.rend());
        std::reverse(way.begin(), way.end());
        std::string text;
        small_world w(scope_);
        for (action const a : way) {
            small_world const before = w;
            steps_.take(w, a);
            text += steps_.tell(before, a, w) + '\n';
        }
        return text + "=> " + small_steps::name(w.broken) + '\n';
    }

    scope const& scope_;
    small_steps steps_;
    seen_states seen_;
    frontier next_;
    search_result result_;
    std::uint32_t looked_at_ = 0; ///< states are looked at in the order in which they were met
};

} // namespace

search_result search(scope const& s)
{
    return breadth_first(s).run();
}

} // namespace redlock::model
