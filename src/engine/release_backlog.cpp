// SPDX-License-Identifier: BSL-1.0
#include "engine/release_backlog.hpp"

#include "core/memory.hpp"

#include <utility>

namespace redlock::detail {

// rule A6
void release_backlog::add(unsigned node, owed_release one, core::instant now) noexcept
{
    auto& all = of_[node];
    while (!all.empty() && (all.size() >= most || core::reached(all.front().expires, now)))
        all.pop_front();
    core::if_memory_allows([&] { all.push_back(std::move(one)); });
}

owed_release release_backlog::take(unsigned node)
{
    owed_release first = std::move(of_[node].front());
    of_[node].pop_front();
    return first;
}

void release_backlog::fetch_nodes()
{
    for (unsigned i = 0; i != nodes_.size(); ++i)
        if (!of_[i].empty())
            nodes_.at(i).try_once();
}

} // namespace redlock::detail
