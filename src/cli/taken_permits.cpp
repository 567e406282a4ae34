// SPDX-License-Identifier: BSL-1.0
#include "cli/taken_permits.hpp"

#include "core/tally.hpp"
#include "kind/semaphore.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace redlock::cli {

void ask_for_permits(questions& asked, std::string const& key, std::chrono::milliseconds now)
{
    std::vector<std::string> numbers;
    for (unsigned i = 0; i != kind::most_slots; ++i)
        numbers.push_back(std::to_string(i));
    std::vector<std::string_view> owners{"HMGET", key};
    owners.insert(owners.end(), numbers.begin(), numbers.end());
    asked.ask(owners);
    std::string const most = std::to_string(kind::most_slots);
    std::string const ends = key + std::string(kind::slots_suffix);
    asked.ask({"ZRANGEBYSCORE", ends, std::to_string(now.count()), "+inf", "LIMIT", "0", most});
}

void count_permits(taken_permits& taken, std::span<answer const, 2> said)
{
    auto const& owners = said[0].list;
    auto const& not_ended = said[1].list;
    unsigned number = 0;
    for (std::string const& each : not_ended)
        if (redis::read_number(each, number) && number < owners.size() && !owners[number].empty())
            ++taken[{number, owners[number]}];
}

std::size_t certain(taken_permits const& taken, std::size_t nodes)
{
    auto const majority = core::majority(static_cast<unsigned>(nodes));
    return static_cast<std::size_t>(
        std::ranges::count_if(taken, [&](auto const& each) { return each.second >= majority; }));
}

} // namespace redlock::cli
