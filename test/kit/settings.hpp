// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/config.hpp>
#include <redlock/lock_options.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// Longer than any test waits: keys that are gone have been released, and did not expire.
inline constexpr lock_options long_lived{.ttl = std::chrono::minutes{10}};

/// Its holder sends nothing by itself, also after an invalidation.
inline constexpr lock_options unrenewed{.ttl = std::chrono::minutes{10}, .renew = false};

/// An operation with these has no position in the queue, of which scripted nodes know nothing.
constexpr lock_options without_queue(lock_options options)
{
    options.fair = false;
    return options;
}
/// An operation with these has one.
constexpr lock_options with_queue(lock_options options)
{
    options.fair = true;
    return options;
}

/// A waiter with these has no position, and is woken by an invalidation, or not at all.
inline lock_options without_polling(lock_options options = long_lived)
{
    options.fair = false;
    options.retry.min_delay = options.retry.max_delay = std::chrono::hours{1};
    return options;
}

/// Limits that no machine reaches: what a test wants to see run out, it shortens itself.
inline config settings_for(std::vector<std::string> urls)
{
    constexpr std::chrono::seconds limit{20};
    config settings;
    settings.nodes = std::move(urls);
    settings.node_timeout = limit;
    settings.reconnect.connect_timeout = limit;
    settings.health.response_timeout = limit;
    settings.admission.assume_fresh = true;
    return settings;
}

} // namespace redlock::test
