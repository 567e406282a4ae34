// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "net/loop.hpp"

#include <boost/intrusive/list.hpp>

#include <algorithm>

namespace redlock::detail {

/// An attempt that may have to wait.
class throttled {
public:
    using hook_type =
        boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    hook_type hook;

    /// The attempt may begin.
    virtual void on_admitted() = 0;

protected:
    ~throttled() = default;
};

/// Limits a client's concurrent attempts. A server executes commands one after another, and an attempt's time runs
/// while its votes wait there. Attempts above the limit wait here, in order, before their time begins.
///
/// The clock sets the limit. If votes wait for too long in the servers' queues, no attempt is won, and rollbacks make
/// the queues longer. So a timeout halves the limit, and each won attempt raises it. A node that answers nothing at all
/// does not count.
class attempt_limit final : private net::task {
public:
    static constexpr unsigned most = 16384;
    static constexpr unsigned least = 256; ///< takes no server long

    explicit attempt_limit(net::loop& l) : loop_(l) {}

    /// May an attempt begin? If not, `on_admitted` is called later.
    [[nodiscard]] bool enter(throttled&);
    /// An attempt was decided, or given up.
    void leave();
    /// An attempt was won: there may be room for more.
    void won() { allowed_ = std::min(allowed_ + 1, most); }
    /// A node answered other commands, but not in time an attempt that was sent then.
    void too_many(core::instant sent);
    /// Removes an attempt that waits here.
    void forget(throttled&);

private:
    void run() override;

    net::loop& loop_;
    boost::intrusive::list<throttled,
                           boost::intrusive::member_hook<throttled, throttled::hook_type, &throttled::hook>,
                           boost::intrusive::constant_time_size<false>>
        waiting_;
    unsigned under_way_ = 0;
    unsigned allowed_ = most;
    core::instant halved_; ///< attempts that were sent before this were in the longer queue
};

} // namespace redlock::detail
