#pragma once

#include "core/attempt.hpp"
#include "core/instant.hpp"
#include "core/timer_wheel.hpp"
#include "core/waiting.hpp"
#include "engine/lock_state.hpp"
#include "engine/node_report.hpp"
#include "engine/nonce_source.hpp"
#include "net/loop.hpp"
#include "net/node.hpp"
#include <redlock/error.hpp>

#include <boost/intrusive/list_hook.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::detail {

class acquire_op;
class undo;
class engine;
class held_lease;
class key_queue;

/// Asks the nodes for a lock on behalf of one acquisition, and of the next one when that leaves: attempts, with pauses
/// between them that end when the lock may be free, until one wins or nobody wants it any more.
///
/// One attempt is the five steps of the Redlock page: note the time, ask the nodes, count, compare with the validity, and
/// take everything back if it came to nothing.
class attempt_loop final : private net::reply_sink, private core::timer, private net::task {
public:
    boost::intrusive::list_member_hook<> place; ///< among those whose attempts have to wait

    explicit attempt_loop(engine& owner);
    ~attempt_loop();

    /// in_turn: this client has had the lock for long; others get their chance first.
    /// after_rivals: it has just had the lock, nobody else of it waits, and others are known to.
    enum class start_mode : std::uint8_t { at_once, in_turn, after_rivals };
    void start(key_queue&, acquire_op& whom, start_mode);
    /// The one it asked for has left.
    void serve(acquire_op& next);
    [[nodiscard]] acquire_op* whom() const { return whom_; }
    [[nodiscard]] bool offered_turn() const { return offered_turn_; }
    /// Nobody wants the lock any more: what was voted is taken back.
    void stop();
    /// Time is up: who has not answered now does not count.
    void hurry();
    /// Do too few nodes answer, as far as it can be told by now?
    [[nodiscard]] bool lacks_nodes() const;
    /// After an attempt that failed for want of them.
    [[nodiscard]] bool waits_for_nodes() const
    {
        return phase_ == phase::waiting && cause_ == errc::no_quorum;
    }

    /// There is room for its attempt.
    void go_on() { connect_or_vote(); }
    /// A node became usable, or certainly unusable.
    void nodes_changed();
    void key_changed(unsigned node);
    /// The same, but the change was sent by this client, behind what this contender has sent so far.
    void changed_here(core::node_set);
    /// Lets go of the lock.
    void forsake();

private:
    enum class phase : std::uint8_t { retired, connecting, held_up, voting, waiting, won, draining };
    enum class purpose : std::uint8_t { vote, write_back, time_left, owner };

    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned node, std::uint32_t tag, net::failure const&) override;
    void expire() override;
    void run() override;

    /// \name One attempt
    ///@{
    void connect_or_vote();
    void vote();
    [[nodiscard]] boost::system::error_code provide() noexcept;
    void starve(boost::system::error_code);
    void ask_in_turn(unsigned node);
    void ask_next_in_turn();
    void ask_all();
    [[nodiscard]] core::duration patience() const;
    [[nodiscard]] std::string draft_vote();
    [[nodiscard]] core::attempt::step ask(unsigned node, std::string const& draft);
    void send_vote(unsigned node, redis::script_form, std::string const& draft);
    void write_back();
    void send_write_back(unsigned node, redis::script_form);
    void append(std::string& out, kind::request, redis::script_form) const;
    void on_vote(unsigned node, std::uint32_t tag, redis::resp_node const&);
    void on_late_vote(unsigned node, std::uint32_t tag, redis::resp_node const&);
    [[nodiscard]] core::attempt::step count(unsigned node, std::uint32_t tag, redis::resp_node const&,
                                            node_report&);
    void note_refusal(unsigned node, node_report const&);
    void follow(core::attempt::step);
    void follow_in_turn(unsigned node, core::attempt::step);
    [[nodiscard]] core::attempt::step read(unsigned node, std::uint32_t tag, redis::resp_node const&,
                                           node_report&);
    [[nodiscard]] core::attempt::step read_vote(unsigned node, bool may_repeat, redis::resp_node const&,
                                                node_report&);
    [[nodiscard]] core::attempt::step read_write_back(unsigned node, bool may_repeat,
                                                      redis::resp_node const&);
    [[nodiscard]] bool stands_in_line() const;
    void attempt_timed_out();
    void won();
    void lose(errc cause);
    void take_back();
    void tell(errc result);
    void tell_vote(unsigned node, node_report const&);
    [[nodiscard]] core::attempt::step fail_vote(unsigned node, net::failure const& why);
    ///@}

    /// \name Between attempts
    ///@{
    void offer_turn(start_mode);
    void turn_taken();
    [[nodiscard]] bool anybody_left(errc cause);
    [[nodiscard]] errc after_attempt(errc cause) const;
    [[nodiscard]] bool waits_for_quarantine() const;
    [[nodiscard]] bool hopeless() const;
    void wait_for_nodes(errc cause);
    void wait_for_others();
    void learn();
    void note_failures();
    void plan();
    void peek(unsigned node, bool at_owner);
    void question(net::node&, kind::request, purpose);
    void believe(unsigned node, kind::sighting const&);
    void on_peek(unsigned node, purpose, redis::resp_node const&);
    [[nodiscard]] core::waiting::pace pace() const;
    [[nodiscard]] core::waiting::chances chances() const;
    [[nodiscard]] bool hears_too_few() const;
    [[nodiscard]] bool waits_for_others() const
    {
        return phase_ == phase::waiting && cause_ == errc::contended;
    }
    ///@}

    void enter(phase);
    void finish();
    void retire_if_drained();

    /// What was sent, and for which attempt.
    [[nodiscard]] std::uint32_t tag(purpose p, redis::script_form form) const
    {
        return number_ << 3U | static_cast<std::uint32_t>(p) << 1U | static_cast<std::uint32_t>(form);
    }
    [[nodiscard]] static purpose purpose_of(std::uint32_t t) { return static_cast<purpose>(t >> 1U & 3U); }
    [[nodiscard]] static redis::script_form form_of(std::uint32_t t)
    {
        return static_cast<redis::script_form>(t & 1U);
    }
    [[nodiscard]] bool current(std::uint32_t t) const { return (t ^ number_ << 3U) < 8; }

    // What every reply touches stands together: at depth, cold memory is what costs most.
    engine& engine_;
    unsigned outstanding_ = 0;
    std::uint32_t number_ = 0; ///< of the attempt; 29 bits of it go round with the commands
    phase phase_ = phase::retired;
    bool in_turn_ = false;
    bool offered_turn_ = false;
    bool hearing_ = false;
    bool outage_ = false;
    core::attempt attempt_{core::agreement::majority, 0, {}};
    std::shared_ptr<lock_state> lock_;
    std::vector<node_report> rows_;
    boost::intrusive_ptr<held_lease> lease_; ///< to tell it of late grants
    void* block_ = nullptr;                  ///< for the lease, should it be won
    undo* undo_ = nullptr;                   ///< for the votes, should it be lost
    core::node_set asked_;
    core::node_set refused_; ///< of them, those that certainly did not execute the vote
    key_queue* wanted_ = nullptr;
    acquire_op* whom_ = nullptr;
    nonce nonce_;
    core::fence proposal_ = 0;

    core::waiting waiting_;
    core::instant connecting_since_;
    core::instant outage_began_;
    unsigned refusals_ = 0; ///< in a row, for the back-off
    std::uint32_t asked_last_ = 0;
    errc cause_{}; ///< of the wait; contended: for the others
};

} // namespace redlock::detail
