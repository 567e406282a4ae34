#pragma once

#include <redlock/export.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock {

/// A node's connection changed. The views live as long as the call.
struct node_event {
    std::string_view node; ///< URL without password
    node_state state;
    std::string_view detail;
};

/// An operation waits in its client's queue: others of this client hold the lock or were there before.
struct wait_event {
    std::string_view resource;
    std::size_t before; ///< operations that stand before it, at most
    bool held_here;     ///< by a lease of this client
};

/// An attempt was decided.
struct attempt_event {
    std::string_view resource;
    boost::system::error_code result; ///< success, `contended`, `no_quorum` or `too_slow`
    unsigned granted;
    unsigned nodes;
    unsigned attempt; ///< 1 for the first of this acquisition
    std::chrono::nanoseconds took;
};

/// Something happened to a lease.
struct lease_event {
    /// stalled: not renewed, because the holder does not get on (`lock_options::progress_within`)
    /// handed_over: it goes on as the lease of another operation of this client, which is then `acquired`
    enum class kind : std::uint8_t {
        acquired,
        renewed,
        renewal_failed,
        suspect,
        lost,
        released,
        stalled,
        handed_over
    };
    kind what;
    std::string_view resource;
    unsigned votes; ///< nodes known to hold our key
    unsigned nodes;
    std::chrono::nanoseconds remaining; ///< validity left
};

[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lease_event::kind) noexcept;

/// Told of what happens inside a client: derive, override what is of interest, put it into `config::observer`.
///
/// Called on the client's executor, in the middle of its work: be brief, do not throw, and call no member of the
/// client, its locks or leases. Text is formatted by whoever wants text; the types are the contract.
class REDLOCK_EXPORT observer {
public:
    observer() = default;
    observer(observer const&) = delete;
    observer& operator=(observer const&) = delete;
    virtual ~observer();

    virtual void on_node(node_event const&) noexcept {}
    virtual void on_wait(wait_event const&) noexcept {}
    virtual void on_attempt(attempt_event const&) noexcept {}
    virtual void on_lease(lease_event const&) noexcept {}
};

} // namespace redlock
