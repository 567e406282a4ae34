// SPDX-License-Identifier: BSL-1.0
#include "cli/waiters.hpp"

#include "kind/kind.hpp"
#include "redis/command.hpp"

#include <algorithm>

namespace redlock::cli {

void ask_for_queue(questions& asked, std::string const& key)
{
    std::string const queue = redis::joined_name(key, kind::queue_suffix);
    asked.ask({"ZCARD", queue});
    asked.ask({"ZRANGE", queue, "0", "15"});
}

std::optional<queue_view> read_queue(std::string const& node, answer const& waiting, answer const& first)
{
    if (!waiting.is(answer::kind::number) || waiting.number == 0)
        return std::nullopt;
    queue_view seen{node, waiting.number};
    for (std::string const& position : first.list)
        seen.first.push_back(kind::read_position(position));
    return seen;
}

bool has_readers(queue_view const& queue)
{
    return std::ranges::any_of(queue.first, [](std::optional<kind::waiter> const& waiter) {
        return waiter && waiter->kind == kind::waiter_kind::shared;
    });
}

} // namespace redlock::cli
