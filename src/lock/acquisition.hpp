#pragma once

#include "core/attempt.hpp"
#include "core/instant.hpp"
#include "core/timer_wheel.hpp"
#include "lock/lock_state.hpp"
#include "lock/nonce_source.hpp"
#include "net/loop.hpp"
#include "net/node.hpp"
#include <redlock/completion_handler.hpp>
#include <redlock/error.hpp>
#include <redlock/mutex.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace redlock::lock {

class engine;
class held_lease;

/// Where a finished acquisition goes: with an error code, or with an exception that tells the whole story.
using lease_completion =
    std::variant<completion_handler<lease_signature>, completion_handler<throwing_lease_signature>>;

/// One call of `acquire` or `try_acquire`: attempts, with pauses between them, until one wins or none may follow.
///
/// One attempt is the five steps of the Redlock page: note the time, ask all nodes at once, count, compare with the
/// validity, and take everything back if it came to nothing.
class acquisition final : private net::reply_sink, private core::timer, private net::task {
public:
    boost::intrusive::list_member_hook<> link; ///< in the engine's list of live operations

    explicit acquisition(engine& owner);

    void start(std::shared_ptr<lock_state>, wait_limit, lease_completion);
    /// A node became usable, or certainly unusable.
    void nodes_changed();
    /// Ends it with this error; votes are taken back.
    void abort(boost::system::error_code);
    void cancel(std::uint32_t generation);
    /// Lets go of the handler, without calling it, and of the lock.
    void forsake();
    [[nodiscard]] std::uint32_t generation() const { return generation_; }

private:
    enum class phase : std::uint8_t { idle, connecting, voting, pausing, won, failed };

    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned node, std::uint32_t tag, net::failure const&) override;
    void expire() override;
    void run() override;

    void connect_or_vote();
    void vote();
    [[nodiscard]] bool may_be_asked(unsigned node);
    void send_vote(unsigned node, redis::script_form);
    void raise();
    void send_raise(unsigned node, redis::script_form);
    void expect_within_node_timeout();
    [[nodiscard]] core::attempt::step read(unsigned node, std::uint32_t tag, redis::resp_node const&,
                                           node_report&);
    [[nodiscard]] core::attempt::step read_vote(unsigned node, bool may_repeat, redis::resp_node const&,
                                                node_report&);
    [[nodiscard]] core::attempt::step read_raise(unsigned node, bool may_repeat, redis::resp_node const&);
    void follow(core::attempt::step);
    void attempt_timed_out();
    void won();
    void lose(errc cause);
    void take_back();
    void pause(errc cause);
    void fail(boost::system::error_code);
    void tell(errc result);
    void deliver(std::exception_ptr failure);
    void deliver_failure();
    void retire_if_drained();

    /// What was sent, and for which attempt.
    enum class purpose : std::uint8_t { vote, raise };
    [[nodiscard]] std::uint32_t tag(purpose p, redis::script_form form) const
    {
        return number_ << 2U | static_cast<std::uint32_t>(p) << 1U | static_cast<std::uint32_t>(form);
    }
    [[nodiscard]] static purpose purpose_of(std::uint32_t t) { return static_cast<purpose>(t >> 1U & 1U); }
    [[nodiscard]] static redis::script_form form_of(std::uint32_t t)
    {
        return static_cast<redis::script_form>(t & 1U);
    }
    [[nodiscard]] bool current(std::uint32_t t) const { return (t ^ number_ << 2U) < 4; }
    [[nodiscard]] bool may_retry(errc cause) const;
    [[nodiscard]] bool hopeless() const;
    [[nodiscard]] bool waits_for_quarantine() const;
    [[nodiscard]] bool out_of_time(core::instant now) const;
    [[nodiscard]] core::instant within_limit(core::instant) const;
    [[nodiscard]] std::string story(std::vector<node_outcome> const&) const;

    engine& engine_;
    std::shared_ptr<lock_state> lock_;
    lease_completion handler_;
    boost::intrusive_ptr<held_lease> lease_; ///< to tell it of late grants
    std::vector<node_report> rows_;
    core::attempt attempt_{core::attempt::kind::plain, 0, {}};
    core::fence proposal_ = 0;
    nonce nonce_;
    core::instant started_;
    core::instant outage_began_;
    core::duration limit_{};
    boost::system::error_code result_;
    errc last_cause_{};
    unsigned outstanding_ = 0;
    unsigned refusals_ = 0;    ///< in a row, for the back-off
    std::uint32_t number_ = 0; ///< of the attempt; 30 bits of it go round with the commands
    std::uint32_t first_number_ = 0;
    std::uint32_t generation_ = 0;
    phase phase_ = phase::idle;
    bool limited_ = false;
    bool once_ = false;
    bool outage_ = false;
};

} // namespace redlock::lock
