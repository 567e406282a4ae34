// SPDX-License-Identifier: BSL-1.0
#include "cli/taken_permits.hpp"

#include "core/tally.hpp"
#include "kind/fenced.hpp"
#include "kind/semaphore.hpp"
#include "redis/command.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace redlock::cli {

void ask_for_permits(questions& asked, std::string const& key)
{
    std::vector<std::string> numbers;
    for (unsigned i = 0; i != kind::most_permits; ++i)
        numbers.push_back(std::to_string(i));
    std::string const fences = redis::joined_name(key, kind::permit_fences_suffix);
    for (std::string const& each : {key, fences}) {
        std::vector<std::string_view> question{"HMGET", each};
        question.insert(question.end(), numbers.begin(), numbers.end());
        asked.ask(question);
    }
}

void count_permits(taken_permits& taken, answer const& owners, answer const& fences,
                   std::chrono::milliseconds now)
{
    for (unsigned number = 0; number != owners.list.size(); ++number) {
        std::string_view const owner = owners.list[number];
        std::int64_t ends = 0;
        if (owner.size() <= redis::nonce_length ||
            !redis::read_number(owner.substr(redis::nonce_length), ends) || ends <= now.count())
            continue;
        permit_votes& its = taken[{number, std::string(owner.substr(0, redis::nonce_length))}];
        ++its.nodes;
        core::fence fence = 0;
        if (number < fences.list.size() && redis::read_number(fences.list[number], fence) &&
            fence < kind::fence_end)
            its.fence = std::max(its.fence, fence);
    }
}

std::size_t certain(taken_permits const& taken, std::size_t nodes)
{
    auto const majority = core::majority(static_cast<unsigned>(nodes));
    return static_cast<std::size_t>(
        std::ranges::count_if(taken, [&](auto const& each) { return each.second.nodes >= majority; }));
}

} // namespace redlock::cli
