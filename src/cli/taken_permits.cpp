// SPDX-License-Identifier: BSL-1.0
#include "cli/taken_permits.hpp"

#include "core/tally.hpp"
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
    std::vector<std::string_view> owners{"HMGET", key};
    owners.insert(owners.end(), numbers.begin(), numbers.end());
    asked.ask(owners);
}

void count_permits(taken_permits& taken, answer const& said, std::chrono::milliseconds now)
{
    for (unsigned number = 0; number != said.list.size(); ++number) {
        std::string_view const owner = said.list[number];
        std::int64_t ends = 0;
        if (owner.size() > redis::nonce_length &&
            redis::read_number(owner.substr(redis::nonce_length), ends) && ends > now.count())
            ++taken[{number, std::string(owner.substr(0, redis::nonce_length))}];
    }
}

std::size_t certain(taken_permits const& taken, std::size_t nodes)
{
    auto const majority = core::majority(static_cast<unsigned>(nodes));
    return static_cast<std::size_t>(
        std::ranges::count_if(taken, [&](auto const& each) { return each.second >= majority; }));
}

} // namespace redlock::cli
