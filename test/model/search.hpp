// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "model/frontier.hpp"
#include "model/seen_states.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace redlock::model {

/// The result of a search through the states of a scope.
struct search_result {
    std::uint64_t states = 0;
    std::uint64_t transitions = 0;
    std::uint64_t schedules = 0; ///< if the search is at random
    unsigned depth = 0;
    bool complete = false;
    char const* flaw = nullptr;
    std::string trace; ///< the way to the flaw
    std::chrono::milliseconds took{};
};

/// Describes the actions, and the state after them.
template <class Steps>
std::string tell_way(Steps const& steps, std::vector<typename Steps::action> const& way)
{
    std::string text;
    auto w = steps.first();
    for (auto const a : way) {
        auto const before = w;
        steps.take(w, a);
        text += steps.tell(before, a, w) + '\n';
    }
    return text + "=> " + steps.flaw(w) + '\n';
}

/// Breadth first, so that the first flaw found is one of the shortest. `Steps` says which action is possible in a
/// state, and returns the next state.
template <class Steps>
class breadth_first {
public:
    using world = typename Steps::world;
    using action = typename Steps::action;

    explicit breadth_first(typename Steps::scope const& s) : steps_(s), most_states_(s.most_states) {}

    search_result run()
    {
        auto const began = std::chrono::steady_clock::now();
        world start = steps_.first();
        for (action const a : steps_.situation())
            steps_.take(start, a);
        meet(start, seen_states::root, {});
        while (next_.size() != 0 && !result_.flaw && seen_.size() < most_states_) {
            frontier<world> now;
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
    void expand(frontier<world>& now)
    {
        world w = steps_.first();
        std::vector<action> actions;
        while (now.size() != 0 && !result_.flaw && seen_.size() < most_states_) {
            now.pop(w);
            actions.clear();
            steps_.possible(w, actions);
            for (action const a : actions) {
                world after = w;
                steps_.take(after, a);
                ++result_.transitions;
                meet(after, looked_at_, a);
                if (result_.flaw)
                    return;
            }
            ++looked_at_;
        }
    }

    void meet(world w, std::uint32_t from, action a)
    {
        Steps::clear_padding(w);
        auto const print = fingerprint_of(reinterpret_cast<std::byte const*>(&w), sizeof w);
        if (!seen_.insert(print, {from, std::bit_cast<std::uint32_t>(a)}))
            return;
        next_.push(w);
        result_.flaw = steps_.flaw(w);
        if (result_.flaw)
            result_.trace = tell_way(steps_, way_to(seen_.size() - 1));
    }

    [[nodiscard]] std::vector<action> way_to(std::size_t last) const
    {
        std::vector<action> way;
        for (std::size_t at = last; seen_.how(at).from != seen_states::root; at = seen_.how(at).from)
            way.push_back(std::bit_cast<action>(seen_.how(at).action));
        auto const before = steps_.situation();
        way.insert(way.end(), before.rbegin(), before.rend());
        std::reverse(way.begin(), way.end());
        return way;
    }

    Steps steps_;
    std::uint64_t most_states_;
    seen_states seen_;
    frontier<world> next_;
    search_result result_;
    std::uint32_t looked_at_ = 0; ///< states are looked at in the order in which they were met
};

} // namespace redlock::model
