#pragma once

#include <redlock/error.hpp>
#include <redlock/fenced_mutex.hpp>
#include <redlock/lease.hpp>
#include <redlock/mutex.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <string>

namespace redlock::testing {

/// A lease for functions that take one, in a world of its own, where no time passes: it stays valid until the test
/// says otherwise.
///
/// Thread safety: none; one thread runs the context and has the lease. The constructor and all members but `get()`
/// run the context, and throw std::logic_error in its handlers and coroutines. The members throw std::logic_error
/// where the lease was released, or moved away, by the code under test.
///
/// Lifetime: made after the context, and destroyed before it.
class made_up_lease {
public:
    /// Held, for ten seconds more.
    /// \param token its `fencing_token()`; zero: of a lock without tokens
    /// \throws lock_error `errc::misconfigured`: no token of a fenced lock is below 1024, nor from 2^53 on
    explicit made_up_lease(boost::asio::io_context&, std::uint64_t token = 0, std::string name = "made up");

    [[nodiscard]] redlock::lease& get() noexcept { return lease_; }

    /// Its validity is over, and an extension could still prove that it was nobody else's: `lease_state::suspect`.
    /// Without effect the second time.
    /// \throws std::logic_error it is lost
    void suspect();
    /// It is extended: held again, after `suspect()`.
    /// \throws std::logic_error it is lost
    void confirm();
    /// It is lost, and `lost()` says so. Without effect if it is already.
    /// \param why `loss_cause::expired` or `refused`
    /// \throws std::invalid_argument another cause
    void lose(loss_cause why = loss_cause::expired);

private:
    [[nodiscard]] static mutex make_lock(client&, std::string name, bool fenced);
    void expect_no_end();
    void expect_hope();

    world world_;
    client client_;
    mutex lock_;
    redlock::lease lease_;
};

} // namespace redlock::testing
