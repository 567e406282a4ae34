// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <string_view>

namespace redlock::testing {

/// A lease for functions that take one, in a world of its own, where no time passes: it stays valid until the test
/// ends it.
///
/// Thread safety: none; one thread runs the context and uses the lease. The constructor and all members but `get()`
/// run the context, and throw std::logic_error if a handler or coroutine of it calls them. The members throw
/// std::logic_error if the code under test has released the lease, or moved it away.
///
/// Lifetime: made after the context, and destroyed before it.
class made_up_lease {
public:
    /// Makes a lease that is held, with ten seconds of validity.
    /// \param token its `fencing_token()`; zero: the lease of a lock without tokens
    /// \throws lock_error `errc::misconfigured`: a token below 1024 or not below 2^53
    explicit made_up_lease(boost::asio::io_context&, std::uint64_t token = 0,
                           std::string_view name = "made up");

    /// The lease, for the code under test.
    [[nodiscard]] redlock::lease& get() noexcept { return lease_; }

    /// Ends its validity, but an extension can still prove unbroken ownership: `lease_state::suspect`. No effect if it is
    /// suspect already.
    /// \throws std::logic_error it is lost
    void suspect();
    /// Extends it: it is held again, after `suspect()`.
    /// \throws std::logic_error it is lost
    void confirm();
    /// Loses it, and `ended()` completes. No effect if it is lost already.
    /// \param why `loss_cause::expired` or `refused`
    /// \throws std::invalid_argument another cause
    void lose(loss_cause why = loss_cause::expired);

private:
    [[nodiscard]] static redlock::lease make_lease(client&, std::string_view name, std::uint64_t token);
    void expect_no_end();
    void expect_hope();

    world world_;
    client client_;
    redlock::lease lease_;
};

} // namespace redlock::testing
