// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "net/loop.hpp"

#include <boost/intrusive/list.hpp>

#include <algorithm>

namespace redlock::detail {

/// An attempt that may have to wait.
class limited {
public:
    using hook =
        boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    hook place;

    /// There is room for it.
    virtual void go_on() = 0;

protected:
    ~limited() = default;
};

/// How many attempts of a client are under way at once. Servers work off what they are sent one after another, and an
/// attempt's time runs while its votes stand there in line. Those that are too many stand in line here, in the order of
/// their coming, before their time begins.
///
/// How many are too many, the clock tells: of attempts that all stand in line for too long none is ever won, and what
/// takes their votes back makes the line longer. So they become half as many, and more again as attempts are won. Who
/// is silent is away, and no reason.
class attempt_limit final : private net::task {
public:
    static constexpr unsigned most = 16384;
    static constexpr unsigned least = 256; ///< takes no server long

    explicit attempt_limit(net::loop& l) : loop_(l) {}

    /// May an attempt begin? If not, it is told to go on later.
    [[nodiscard]] bool enter(limited&);
    /// It was decided, or given up.
    void leave();
    /// An attempt was won: there may be room for more.
    void won() { allowed_ = std::min(allowed_ + 1, most); }
    /// One that was sent then was not answered in time by who has answered others.
    void too_many(core::instant sent);
    /// It does not wait here any more.
    void forget(limited&);

private:
    void run() override;

    net::loop& loop_;
    boost::intrusive::list<limited, boost::intrusive::member_hook<limited, limited::hook, &limited::place>,
                           boost::intrusive::constant_time_size<false>>
        waiting_;
    unsigned under_way_ = 0;
    unsigned allowed_ = most;
    core::instant halved_; ///< attempts that were sent before this were in the longer queue
};

} // namespace redlock::detail
