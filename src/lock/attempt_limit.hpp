#pragma once

#include "lock/contender.hpp"
#include "net/loop.hpp"

#include <boost/intrusive/list.hpp>

namespace redlock::lock {

/// How many attempts of a client are under way at once. Servers work off what they are sent one after another, and an
/// attempt's time runs while its votes stand there in line. Those that are too many stand in line here, in the order of
/// their coming, before their time begins.
class attempt_limit final : private net::task {
public:
    static constexpr unsigned most = 16384;

    explicit attempt_limit(net::loop& l) : loop_(l) {}

    /// May an attempt begin? If not, the contender is told to go on later.
    [[nodiscard]] bool enter(contender&);
    /// It was decided, or given up.
    void leave();
    /// The contender does not wait here any more.
    void forget(contender&);

private:
    void run() override;

    net::loop& loop_;
    boost::intrusive::list<
        contender,
        boost::intrusive::member_hook<contender, boost::intrusive::list_member_hook<>, &contender::place>,
        boost::intrusive::constant_time_size<false>>
        waiting_;
    unsigned under_way_ = 0;
};

} // namespace redlock::lock
