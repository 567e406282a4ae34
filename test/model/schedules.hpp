// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "model/search.hpp"

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace redlock::model {

/// Random ways through the states of a scope, for scopes that cannot be searched completely.
template <class Steps>
class random_schedules {
public:
    using world = typename Steps::world;
    using action = typename Steps::action;

    random_schedules(typename Steps::scope const& s, std::uint64_t seed) : steps_(s), random_(seed) {}

    search_result run(std::uint64_t schedules)
    {
        auto const began = std::chrono::steady_clock::now();
        while (result_.schedules != schedules && !result_.flaw) {
            ++result_.schedules;
            follow_one();
        }
        result_.took =
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
        return result_;
    }

private:
    static constexpr unsigned longest = 90;

    void follow_one()
    {
        way_.clear();
        world w = steps_.first();
        while (!result_.flaw && way_.size() != longest) {
            possible_.clear();
            steps_.possible(w, possible_);
            if (possible_.empty())
                return;
            action const a = possible_[random_() % possible_.size()];
            way_.push_back(a);
            steps_.take(w, a);
            ++result_.transitions;
            result_.flaw = steps_.flaw(w);
        }
        if (result_.flaw)
            result_.trace = tell_way(steps_, way_);
    }

    Steps steps_;
    std::mt19937_64 random_;
    std::vector<action> way_;
    std::vector<action> possible_;
    search_result result_;
};

} // namespace redlock::model
