// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/taken_permits.hpp"
#include <redlock/node_outcome.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The locks of several nodes, put together by their names. Pure.
namespace redlock::cli {

/// A lock's key on one node, and the keys beside it.
struct key_view {
    holder_kind who = holder_kind::unknown;
    std::string owner{};                             ///< the value of a string that expires
    std::optional<std::chrono::milliseconds> left{}; ///< empty: it has no expiry
    std::int64_t readers = 0;                        ///< entries of readers
    taken_permits permits{};
    bool fenced = false;                   ///< it has a fence
    bool announced = false;                ///< it has the announcement of a leader
    bool among_readers = false;            ///< readers wait in its queue
    std::optional<std::int64_t> waiting{}; ///< positions in its queue; empty: not known
};

/// The names of one node's keys, without the prefix of all keys.
using keys_of_node = std::map<std::string, key_view>;

/// A lock on all nodes.
struct listed_lock {
    std::string name{};
    holder_kind who = holder_kind::unknown;
    std::string_view kind{};                         ///< as far as the keys tell: "lock", "fenced", "writer"
    std::string holder{};                            ///< "2f0c77a1...", "3 readers"
    std::size_t shared_by = 0;                       ///< readers, or taken permits
    std::optional<std::chrono::milliseconds> left{}; ///< on a majority, or on the last node; empty: no expiry
    std::size_t nodes = 0;                           ///< nodes where this holder has the key
    std::optional<std::int64_t> waiting{};           ///< empty: not known
};

struct lock_list {
    std::vector<listed_lock> locks{}; ///< sorted by name
    bool is_cut = false;              ///< there are more than these
};

/// Is this the name of a key beside locks?
[[nodiscard]] bool is_helper(std::string_view name);

/// Returns the pattern of SCAN for the keys that begin so.
[[nodiscard]] std::string scan_pattern(std::string_view beginning);

/// Puts together the views of one name: the holder with the most nodes counts, and of several the first.
/// \param nodes the number of all nodes
[[nodiscard]] listed_lock merged(std::string_view name, std::vector<key_view const*> const& views,
                                 std::size_t nodes);

/// Returns the first names of all nodes. Each node must list its first `limit + 1` names at least.
[[nodiscard]] lock_list merge(std::vector<keys_of_node> const& nodes, std::size_t limit);

} // namespace redlock::cli
