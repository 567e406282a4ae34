// SPDX-License-Identifier: BSL-1.0
#include "engine/words.hpp"

#include "redis/server_words.hpp"

#include <algorithm>

namespace redlock::detail {

std::string title(std::string_view name)
{
    return "lock \"" + redis::quote_name(name) + '"';
}

void shared_words::add(std::string_view name, std::string words)
{
    auto const same = std::ranges::find(groups_, words, &std::pair<std::string, std::string>::first);
    if (same == groups_.end())
        groups_.emplace_back(std::move(words), name);
    else
        same->second.append(", ").append(name);
}

std::string shared_words::text() const
{
    std::string all;
    for (auto const& [words, names] : groups_)
        all.append("; ").append(names).append(" ").append(words);
    return all;
}

} // namespace redlock::detail
