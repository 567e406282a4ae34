// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/acquiring.hpp"
#include "core/contention.hpp"
#include "core/instant.hpp"
#include "core/tally.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/waiter.hpp"
#include "kind/kind.hpp"

#include <cstdint>

namespace redlock::detail {

class acquirer_owner;

/// A lock that an acquirer asks for, and the waiter for which it does.
struct acquisition {
    acquirer_owner* owner = nullptr;
    key_state* key = nullptr;
    waiter* current_waiter = nullptr;
    std::uint8_t awaited = 0; ///< among several names, the one that is in the way
    bool nobody_came = false; ///< other clients could have had the lock since, and did not take it
    unsigned refusals = 0;    ///< in a row

    [[nodiscard]] lock_descriptor const& lock() const { return *current_waiter->lock(); }
    /// Returns the name that is waited for.
    [[nodiscard]] key_state& awaited_key() const { return key->name_at(awaited); }
    /// Another client has taken or released the lock.
    void met_others()
    {
        nobody_came = false;
        awaited_key().contention.met_others();
    }
    /// A node told of the awaited name's key.
    void saw(unsigned node, unsigned nodes, kind::key_observation seen)
    {
        if (seen.left) // another client has it
            met_others();
        seen.which = awaited;
        key->note_holder(node, nodes, seen);
    }
};

/// Why an acquirer does not vote now.
struct pause_reason {
    enum class cause : std::uint8_t {
        rivals,       ///< this client knows of others that want the lock
        others_first, ///< this client has had the lock
        refused,      ///< others have the lock
    };
    cause why;
    core::instant not_before{}; ///< the lock is left to others until then
    bool unqueued = false;      ///< the waiter takes no position
    bool in_front = false;      ///< the waiter has lost a claim, and enters the queue in front
};

using core::pause_step;

/// Hears of a pause. Called while replies are worked off: no user code may run from here.
class pause_listener {
public:
    virtual void on_step(pause_step) = 0;
    /// All that the pause sent is answered.
    virtual void on_drained() = 0;

protected:
    ~pause_listener() = default;
};

/// A way to wait between two votes, until the lock may be free.
class pause {
public:
    /// Begins to wait. Returns false if this way is not open.
    [[nodiscard]] virtual bool begin(pause_reason const&) = 0;
    /// Goes on for another waiter, which the acquisition has next. Returns false if that one cannot wait in this place.
    [[nodiscard]] virtual bool serve(waiter& next) = 0;
    virtual void end() = 0;
    /// `due()` has come.
    virtual void on_time() = 0;
    /// A node says that the key has changed.
    virtual void on_key_changed(unsigned node) = 0;
    /// This client itself has changed the key on these nodes, behind what the pause has sent so far. Servers do not tell of that.
    virtual void on_changed_by_us(core::node_set where) = 0;
    /// A node became usable, or certainly unusable.
    virtual void on_nodes_changed() = 0;
    [[nodiscard]] virtual core::instant due() const = 0;
    /// Is all that was sent answered?
    [[nodiscard]] virtual bool drained() const = 0;

protected:
    ~pause() = default;
};

} // namespace redlock::detail
