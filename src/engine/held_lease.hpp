#pragma once

#include "core/attempt.hpp"
#include "core/instant.hpp"
#include "core/lease_machine.hpp"
#include "core/timer_wheel.hpp"
#include "engine/claim.hpp"
#include "engine/lease_record.hpp"
#include "engine/lock_state.hpp"
#include "engine/nonce_source.hpp"
#include "engine/wait_op.hpp"
#include "net/node.hpp"
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/observer.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace redlock::detail {

class engine;

/// A held lock: renews itself, tells its loss, is released. Shared by the user's handle and by the replies still on
/// their way; everything but the observers belongs to the client's executor.
class held_lease final : private net::reply_sink, private core::timer {
public:
    boost::intrusive::list_member_hook<> link; ///< in the engine's list of live leases

    held_lease(std::shared_ptr<lock_state>, nonce const&, core::attempt const& won, unsigned attempts,
               core::duration waited);
    /// The next in a row of holders who pass the lock on.
    held_lease(std::shared_ptr<lock_state>, held_lease const& before, unsigned attempts,
               core::duration waited);
    /// Granted to another client, and begun here by the first operation on it. Any thread.
    held_lease(std::shared_ptr<lock_state>, nonce const&, std::uint64_t fencing_token);

    /// \name Observers, for any thread
    ///@{
    [[nodiscard]] core::duration remaining() const;
    /// So that the end of the handle means nothing any more.
    [[nodiscard]] bool released() const
    {
        return state_.load(std::memory_order_acquire) == lease_state::released;
    }
    [[nodiscard]] lease_state state() const;
    [[nodiscard]] loss_cause cause() const;
    [[nodiscard]] unsigned votes() const { return votes_.load(std::memory_order_relaxed); }
    [[nodiscard]] lock_state const& lock() const { return *lock_; }
    [[nodiscard]] nonce const& owner() const { return nonce_; }
    /// An error of an operation on it, with what each node last said where that is its cause.
    [[nodiscard]] lock_error explain(boost::system::error_code) const;
    [[nodiscard]] unsigned attempts() const { return attempts_; }
    [[nodiscard]] core::duration waited() const { return waited_; }
    [[nodiscard]] std::uint64_t fencing_token() const
    {
        return fence_ == 0 ? 0 : core::fencing_token(fence_, handovers_);
    }
    void progress();
    ///@}

    /// The engine, for any thread: it outlives the lease.
    [[nodiscard]] engine& client() const { return lock_->client(); }

    void begin();
    void late_grant(unsigned node);

    /// May the one who waits for that lock have this one (rule W4)?
    [[nodiscard]] bool may_pass_to(lock_state const& next) const;
    /// This lease ends, the next one begins, and the nodes are not told.
    [[nodiscard]] boost::intrusive_ptr<held_lease>
    pass_to(void* block, std::shared_ptr<lock_state> const& next, core::duration waited, unsigned attempts);
    /// A node says that the key is not what it was.
    void key_changed(unsigned node);
    /// It can be asked, on a connection that may be new.
    void node_ready(unsigned node);

    void extend(wait_op&);
    void await_end(wait_op&);
    void release(wait_op&);
    /// The handle is gone: as a release that nobody waits for.
    void abandon();
    /// Over for its holder, but its keys stay.
    void detach();
    held_lease* dropped_before = nullptr; ///< of those whose handles went when there was no memory to say so
    /// The client is being shut down: released, and its end told with that reason.
    void shut_down();
    /// Its context is being destroyed: it is lost, and nobody is told.
    void forsake();

    friend void intrusive_ptr_add_ref(held_lease*) noexcept;
    friend void intrusive_ptr_release(held_lease*) noexcept;

private:
    struct arrival;

    void take_up();
    [[nodiscard]] bool waits_for_nodes();
    enum class purpose : std::uint8_t { extension, adoption, release, watch };
    using event = lease_event::kind;

    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned node, std::uint32_t tag, net::failure const&) override;
    void expire() override;

    void on_release(unsigned node, std::uint32_t tag, redis::resp_node const&);
    void on_extension(unsigned node, std::uint32_t tag, redis::resp_node const&);

    void renew();
    void start_extension();
    [[nodiscard]] bool extension_awaited() const;
    void finish_extension(boost::system::error_code);
    void extend_on(unsigned node);
    void answer_extension(unsigned node, core::extension_answer);
    void time_out_extension();
    void settle(core::lease_machine::outcome);
    void give_up(errc reason, event = event::released);
    [[nodiscard]] errc why_over() const;
    void start_release();
    void fail_release(unsigned node);
    [[nodiscard]] bool draft_release(std::string& out) const noexcept;
    void vacate();
    void start_watching();
    void watch_on(unsigned node);
    void stop_watching();
    [[nodiscard]] bool wants_watch() const;
    void on_watch(redis::resp_node const&);
    void ask_whose();
    void answer_release(unsigned node, bool answered, bool ours);
    void finish_release();
    void take_back();
    core::lease_machine::duty look_at_clock(core::instant now);
    [[nodiscard]] bool lost_by_now();
    void lose();
    [[nodiscard]] loss_cause find_cause() const;
    void end(errc reason);

    void ask(unsigned node, purpose, redis::script_form);
    void say_again(unsigned node, purpose);
    [[nodiscard]] kind::claim claim() const;
    void expect(net::node&, purpose, redis::script_form);
    void schedule();
    void publish(lease_state);
    void publish_votes();
    [[nodiscard]] static kind::request request_of(purpose);
    void tell(event, core::duration spare = {}, std::string_view detail = {});
    void tell_loss();
    void tell_answer(unsigned node, node_report const&, core::duration round_trip = {});
    void keep(unsigned node, node_report&&) noexcept;
    void keep_failure(unsigned node, net::failure const&) noexcept;
    void keep_silence(unsigned node) noexcept;
    void keep_confirmation() noexcept;
    [[nodiscard]] bool open_record() noexcept;
    void forget_record() noexcept;
    void close_record() noexcept;
    [[nodiscard]] core::duration late_by(core::instant now) const;
    [[nodiscard]] pending_release owed() const;
    /// The lowest bit of a tag; the rest is the round and the purpose.
    static constexpr std::uint32_t as_text = 1;
    [[nodiscard]] std::uint32_t tag(purpose p) const
    {
        return round_ << 3U | static_cast<std::uint32_t>(p) << 1U;
    }
    [[nodiscard]] static purpose purpose_of(std::uint32_t tag)
    {
        return static_cast<purpose>(tag >> 1U & 3U);
    }
    [[nodiscard]] static bool extends(purpose p) { return p == purpose::extension || p == purpose::adoption; }
    /// An extension, or an adoption, of the last round.
    [[nodiscard]] bool extends_now(std::uint32_t t) const
    {
        return extends(purpose_of(t)) && (t & ~as_text) == tag(purpose_of(t));
    }

    std::shared_ptr<lock_state> lock_;
    core::lease_machine machine_;
    std::atomic<core::duration::rep> deadline_boot_;
    std::atomic<core::duration::rep> deadline_raw_;
    std::atomic<core::duration::rep> progressed_; ///< on CLOCK_BOOTTIME
    core::duration const waited_;
    core::duration began_{};               ///< on CLOCK_BOOTTIME
    core::fence const fence_;              ///< zero: a plain lock
    std::unique_ptr<lease_record> record_; ///< null: all nodes confirm
    wait_list waiting_;                    ///< for the end, or for an extension, then for the release
    std::atomic<std::uint32_t> references_{0};
    std::uint32_t const attempts_;
    std::uint32_t round_ = 0;
    std::uint32_t outstanding_ = 0; ///< replies on their way to us
    std::uint8_t release_answers_ = 0;
    std::uint8_t release_refusals_ = 0;
    std::uint8_t release_missing_ = 0;
    std::uint8_t failed_ = 0;           ///< rounds in a row, as far as it can count
    std::uint16_t const handovers_ = 0; ///< before this one, since the lock was won
    bool releasing_ = false;
    bool stalled_ = false;
    bool taken_back_ = false;
    bool watching_ = false;
    bool changed_ = false; ///< a key, while an extension was under way
    bool adopted_ = false; ///< and not begun yet
    std::atomic<std::uint8_t> votes_;
    std::atomic<lease_state> state_{lease_state::held};
    std::atomic<loss_cause> cause_{loss_cause::none};
    nonce const nonce_;
};

[[nodiscard]] boost::intrusive_ptr<held_lease> adopt_lease(std::shared_ptr<lock_state> const&, nonce const&,
                                                           std::uint64_t fencing_token);
[[nodiscard]] boost::intrusive_ptr<held_lease> new_held_lease(void* block, std::shared_ptr<lock_state> const&,
                                                              nonce const&, core::attempt const& won,
                                                              unsigned attempts, core::duration waited);

} // namespace redlock::detail
