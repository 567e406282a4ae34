// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/error.hpp>

#include <string_view>

namespace redlock::detail {

class acquirer;
class waiter;
class held_lease;

/// Knows the waiters for which an acquirer asks, in their order: the queue of one name, or an operation on several.
class acquirer_owner {
public:
    acquirer_owner() = default;
    acquirer_owner(acquirer_owner const&) = delete;
    acquirer_owner& operator=(acquirer_owner const&) = delete;
    virtual ~acquirer_owner() = default;

    /// Returns the next waiter that the same acquirer can serve. Null: there is none.
    [[nodiscard]] virtual waiter* after(waiter&) = 0;
    /// The waiter has left.
    virtual void drop(waiter&) = 0;
    /// The lock is won, for the first waiter or for an operation that did not wait.
    virtual void won(acquirer&, held_lease&) = 0;
    /// There is no waiter left to ask for.
    virtual void acquirer_ended(acquirer const&) = 0;
    /// The attempt has failed. Returns true if the waiter goes on without the acquirer (rule M8).
    [[nodiscard]] virtual bool reclaim(errc) { return false; }
    /// Returns nonces that were given up for the next attempt, one for each of several names, whose keys it may take.
    [[nodiscard]] virtual std::string_view given_up() const { return {}; }
};

} // namespace redlock::detail
