// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/pool.hpp"
#include "net/loop.hpp"
#include <redlock/detail/completion_handler.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/system/error_code.hpp>

#include <cstdint>

namespace redlock::detail {

/// An operation that completes with an error code alone: it waits for something that goes on without it, so
/// cancelling it only stops the waiting.
class wait_op final : private net::task {
public:
    using link_type =
        boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    link_type link; ///< among the operations that wait for the same object

    using signature = void(boost::system::error_code);
    using handler_type = completion_handler<signature>;

    wait_op(net::loop& loop, pool<wait_op>& home) : loop_(loop), home_(home) {}

    void start(handler_type&&) noexcept;
    /// The operation waits for the lease's end, not for the answer to its last question.
    void wait_for_the_end() { for_the_end_ = true; }
    [[nodiscard]] bool waits_for_the_end() const { return for_the_end_; }
    /// The operation does not wait for the answer to a question from before it.
    void wait_for_another_round() { skips_round_ = true; }
    [[nodiscard]] bool skips_round() const { return skips_round_; }
    void round_ended() { skips_round_ = false; }
    void finish(boost::system::error_code);
    /// It was taken from its pool, and is not started.
    void recycle() { home_.recycle(*this); }
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    void cancel(std::uint32_t generation);
    /// Lets go of the handler without calling it.
    void discard();

private:
    void run() override;

    net::loop& loop_;
    pool<wait_op>& home_;
    handler_type handler_;
    boost::system::error_code result_;
    std::uint32_t generation_ = 0;
    bool finished_ = false;
    bool for_the_end_ = false;
    bool skips_round_ = false;
};

using wait_list =
    boost::intrusive::list<wait_op,
                           boost::intrusive::member_hook<wait_op, wait_op::link_type, &wait_op::link>,
                           boost::intrusive::constant_time_size<false>>;

/// Completes all these operations with the same result.
void finish_all(wait_list&, boost::system::error_code);

} // namespace redlock::detail
