#pragma once

#include <redlock/export.hpp>
#include <redlock/node_outcome.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

/// What a majority of the nodes says of a lock.
enum class lock_status : std::uint8_t {
    unknown, ///< too few nodes answered: those that did not could make it any of the others
    free,    ///< a majority has no key
    held,    ///< a majority has the key of one owner
    blocked, ///< neither, whatever the missing nodes would say: owners have split the nodes, or keys that are no locks
};

/// Its name.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lock_status) noexcept;

/// What `mutex::inspect()` found. It was so when the nodes answered, and may be different now: no promise of exclusion
/// follows from it. To act as the only one, acquire the lock.
struct inspection {
    lock_status status = lock_status::unknown; ///< the majority's answer
    unsigned votes = 0; ///< nodes that have the key of one owner: of the owner who has the most
    unsigned free = 0;  ///< nodes that have no key
    /// The first characters of the holder's nonce (`lease::nonce()` there); empty unless `held()`. The rest is secret:
    /// whoever knows the nonce can release the lock.
    std::string owner{};
    bool ours =
        false; ///< held by a lease of this client; says nothing about its validity, as `lease::valid()` does
    /// If nobody releases a key, no majority of nodes is free before. Zero: not known, or free.
    /// `milliseconds::max()`: never, because the keys have no expiry.
    std::chrono::milliseconds expires_after{};
    /// If nobody renews or sets a key, a majority of nodes is free by then. Empty: not known, or never.
    std::optional<std::chrono::milliseconds> expires_within{};
    /// `fenced_mutex`: the largest token that a node has counted up to, without local hand-offs (its lowest ten bits are
    /// zero). The holder's token is as large, unless a later attempt failed. Zero: none, or not known.
    std::uint64_t last_token = 0;
    /// What each node said, in the order of `config::nodes`: `free`; `granted` where the key is a lease's of this
    /// client; `held_by_other`, with `owner` and `remaining`; or why it did not answer. A quarantined node answers, too.
    std::vector<node_outcome> nodes{};

    /// Does a majority name one owner?
    [[nodiscard]] bool held() const noexcept { return status == lock_status::held; }
};

} // namespace redlock
