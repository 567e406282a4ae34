#pragma once

#include "core/instant.hpp"
#include "core/timer_wheel.hpp"
#include "net/loop.hpp"
#include <redlock/completion_handler.hpp>
#include <redlock/error.hpp>
#include <redlock/mutex.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace redlock::detail {

class attempt_loop;
class engine;
class held_lease;
struct lock_state;

/// Where a finished acquisition goes: with an error code, or with an exception that tells the whole story.
using lease_completion =
    std::variant<completion_handler<lease_signature>, completion_handler<throwing_lease_signature>>;

/// One call of `acquire` or `try_acquire`. It stands in its resource's queue until it gets the lock, from a contender or
/// from the one who had it before, or until it gives up.
class acquire_op final : private core::timer, private net::task {
public:
    using hook = boost::intrusive::list_member_hook<>;
    hook link;                ///< in the engine's list of live operations
    hook place;               ///< in the resource's queue
    std::uint32_t ticket = 0; ///< the resource's

    explicit acquire_op(engine& owner);

    void start(std::shared_ptr<lock_state>, wait_limit, lease_completion);
    void cancel(std::uint32_t generation);
    /// Ends it with this error.
    void abort(boost::system::error_code);
    /// Lets go of the handler, without calling it, and of the lock.
    void forsake();
    [[nodiscard]] std::uint32_t generation() const { return generation_; }

    [[nodiscard]] std::shared_ptr<lock_state> const& lock() const { return lock_; }
    [[nodiscard]] unsigned attempts() const { return attempts_; }
    [[nodiscard]] core::duration waited(core::instant now) const { return core::elapsed(started_, now); }
    [[nodiscard]] core::instant started() const { return started_; }
    [[nodiscard]] bool limited() const { return limited_; }
    /// Does it fail when it is refused?
    [[nodiscard]] bool asks_once() const { return once_ || (limited_ && limit_ == core::duration::zero()); }
    [[nodiscard]] bool out_of_time(core::instant now) const;

    /// \name What its contender tells
    ///@{
    void attempt_began() { ++attempts_; }
    void attempt_failed(errc cause)
    {
        last_cause_ = cause;
        has_table_ = true;
    }
    /// May it ask again after an attempt that ended so? If not, with which error does it end?
    [[nodiscard]] errc after_attempt(errc cause, core::instant now) const;
    /// It has the lock. Runs user code.
    void deliver(boost::intrusive_ptr<held_lease>);
    /// No longer in the queue, and without the lock.
    void fail(boost::system::error_code);
    /// The same, because there is no memory for what it needs.
    void starve();
    ///@}

    /// It has the lock from the one before it: told in a task.
    void receive(boost::intrusive_ptr<held_lease>);
    /// It waits behind so many others.
    void tell_waiting(std::size_t position);
    void tell_end() const;

private:
    enum class phase : std::uint8_t { idle, waiting, received, failed };

    void expire() override;
    void run() override;
    void begin();
    void withdraw();
    void note_outage();
    void wait();
    void count_vain_attempt();
    void complete(boost::intrusive_ptr<held_lease>, std::exception_ptr);
    [[nodiscard]] boost::system::error_code last_failure() const noexcept;
    [[nodiscard]] std::exception_ptr failure() const noexcept;
    [[nodiscard]] std::string story(std::vector<node_outcome> const&) const;

    engine& engine_;
    std::shared_ptr<lock_state> lock_;
    lease_completion handler_;
    boost::intrusive_ptr<held_lease> lease_; ///< received, and not delivered yet
    attempt_loop* own_ = nullptr;            ///< of one that does not wait in the queue
    core::instant started_;
    core::duration limit_{};
    boost::system::error_code result_;
    errc last_cause_{};
    bool has_table_ = false; ///< of an attempt that was decided for it, or for those before it
    unsigned attempts_ = 0;
    std::uint32_t before_ = 0; ///< in the queue when it gave up
    std::uint32_t generation_ = 0;
    phase phase_ = phase::idle;
    bool limited_ = false;
    bool once_ = false;
    bool held_here_ = false; ///< when it gave up
};

} // namespace redlock::detail
