// SPDX-License-Identifier: BSL-1.0
// rule S5
#pragma once

#include "core/fencing.hpp"
#include "kind/kind.hpp"
#include "redis/scripts.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

// Readers and writers of one lock (docs/protocol.md, "Readers and writers").
namespace redlock::kind {

/// The commands of a writer: those of an exclusive lock, and with `request::downgrade` a reader's extension.
[[nodiscard]] std::unique_ptr<commands const> make_writer_commands(std::string_view key_prefix,
                                                                   lifetimes const&);
[[nodiscard]] std::unique_ptr<commands const> make_fenced_writer_commands(std::string_view key_prefix,
                                                                          lifetimes const&);

/// A writer is an exclusive owner that can become a reader.
constexpr lock_kind with_readers(lock_kind exclusive, lock_kind const& its_reader,
                                 decltype(lock_kind::make_commands) make_commands)
{
    exclusive.as_reader = &its_reader;
    exclusive.scripts[static_cast<std::size_t>(request::downgrade)] = &redis::scripts::renew;
    if (exclusive.counts()) {
        exclusive.scripts[static_cast<std::size_t>(request::extend)] = &redis::scripts::renew;
        exclusive.most_handoffs =
            core::readers_hand_off - 1; // a reader's token is above the writer's (rule S16)
    }
    exclusive.make_commands = make_commands;
    return exclusive;
}

} // namespace redlock::kind
