#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/basic_lock.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_operations.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <boost/asio/async_result.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock {

/// A `shared_mutex` as its readers see it: a lock for `with_lock`, whose leases are shared. A copy of what it was made
/// from.
class REDLOCK_EXPORT shared_view : public detail::basic_lock {
private:
    friend class shared_mutex;
    explicit shared_view(std::shared_ptr<detail::lock_state> state) noexcept : basic_lock(std::move(state)) {}
};

/// A lock that many readers may hold at once, or one writer. `acquire` and its kin are a writer's and exclude
/// everybody; `acquire_shared` and its kin are a reader's and exclude writers alone. Apart from that a reader's lease
/// is as any other: it renews itself, and tells its loss.
///
/// Readers of one client that come within `handover.period` of a grant share one key on the nodes. A reader that comes
/// in that time joins the others without asking the nodes, if it and they renew, have the same `ttl`, `slack` and
/// `tolerate_suspect`, have `handover.min_validity` left, and no operation of this client waits. After that time the
/// nodes are asked again, since only they know of writers of other clients.
///
/// While you have a lease of a lock, do not wait for another lease of it: a reader that calls `acquire` waits for its
/// own lease, for ever.
///
/// Readers and writers take turns: a writer that waits keeps new readers out, and readers that were kept out are let in
/// before the next writer (docs/protocol.md, rules S14 and S15). Among the operations of one client the order is that
/// of their coming. They do not stand in line: `lock_options::line` means nothing here, and between clients the order
/// within a turn is not promised.
///
/// A plain or fenced lock of the same name, of any client or library, is excluded by readers and writers, and excludes
/// both. The operations, errors, cancellation and thread-safety are those of `mutex`.
///
/// Beside the lock's key each node keeps the key `<name>:redlock-gate` while somebody waits. The client's user needs
/// the rights that docs/howto/readers.md lists, for both keys.
/// \par Source
/// docs/protocol.md, rules S1 to S18
class REDLOCK_EXPORT shared_mutex : public detail::basic_lock {
public:
    /// \throws lock_error `errc::misconfigured`: as `mutex`
    /// \throws std::bad_alloc
    shared_mutex(client& owner, std::string name, lock_options options = {});

    /// Waits until no writer has the lock, and holds it as a reader.
    template <boost::asio::completion_token_for<detail::lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_shared(Token&& token = {})
    {
        return shared_.acquire(std::forward<Token>(token));
    }
    /// As a reader, makes one attempt, and does not wait: `try_acquire`. If another reader of this client has the lock
    /// and no writer of this client waits, it may join that one.
    template <boost::asio::completion_token_for<detail::lease_signature> Token = default_token>
    [[nodiscard]] auto try_acquire_shared(Token&& token = {})
    {
        return shared_.try_acquire(std::forward<Token>(token));
    }
    /// As a reader, waits for at most `limit`: `acquire_for`.
    template <class Rep, class Period,
              boost::asio::completion_token_for<detail::lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_shared_for(std::chrono::duration<Rep, Period> limit, Token&& token = {})
    {
        return shared_.acquire_for(limit, std::forward<Token>(token));
    }
    /// As a reader, waits until `deadline` at most: `acquire_until`.
    template <class Clock, class Duration,
              boost::asio::completion_token_for<detail::lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_shared_until(std::chrono::time_point<Clock, Duration> deadline,
                                            Token&& token = {})
    {
        return shared_.acquire_until(deadline, std::forward<Token>(token));
    }

    /// The readers' side of this lock, for `with_lock(lock.shared(), body)`. The reference lives as long as this
    /// object.
    [[nodiscard]] shared_view const& shared() const noexcept { return shared_; }

    /// Continues a writer's lease that was left behind, as `mutex::adopt` does. A reader's cannot be adopted: its key
    /// may be that of other readers, too, and they all have one `lease::nonce()`. Do not `detach()` a reader: nobody
    /// can continue it, and if it was the last one, writers wait until the key has expired.
    /// \param nonce of the lease, from `lease::nonce()`
    /// \throws lock_error `errc::misconfigured`: not a nonce
    [[nodiscard]] lease adopt(std::string_view nonce);

private:
    shared_view shared_;
};

} // namespace redlock
