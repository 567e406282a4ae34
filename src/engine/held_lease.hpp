// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/attempt.hpp"
#include "core/instant.hpp"
#include "core/lease_machine.hpp"
#include "core/local_queue.hpp"
#include "core/release_tally.hpp"
#include "core/tally.hpp"
#include "engine/lease_history.hpp"
#include "engine/lease_status.hpp"
#include "engine/lifecycle.hpp"
#include "engine/lock_state.hpp"
#include "engine/node_group.hpp"
#include "engine/node_report.hpp"
#include "engine/nonce_source.hpp"
#include "engine/owned_key.hpp"
#include "engine/proclamation.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "engine/wait_op.hpp"
#include "kind/kind.hpp"
#include "kind/semaphore.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/observer.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A held lock: renews itself, tells its loss, is released. Shared by the user's handle and by the replies still on
/// their way; everything but its status belongs to the client's executor.
///
/// It is one object from the grant to the last answer to its release, and so has more functions and members than others:
/// a server holds a hundred thousand of these, and each part of its own would cost a sink, a timer or a pointer.
class held_lease final : private round<held_lease>, public activity, public lease_status {
public:
    /// \param reached nodes to which its votes were sent, and which did not refuse them
    held_lease(std::shared_ptr<lock_state>, nonce const&, core::attempt const& won, core::node_set reached,
               unsigned attempts, core::duration waited, std::unique_ptr<kind::permit_list const>);
    /// The next in a row of holders who pass the lock on.
    held_lease(std::shared_ptr<lock_state>, held_lease const& before, unsigned attempts,
               core::duration waited);
    /// Granted to another client, and begun here by the first operation on it. Any thread.
    held_lease(std::shared_ptr<lock_state>, nonce const&, std::uint64_t fencing_token, core::instant now);

    /// An error of an operation on it, with what each node last said if that is its cause. Any thread.
    [[nodiscard]] lock_error explain(boost::system::error_code, lock_stage = lock_stage::holding) const;

    /// A semaphore's; otherwise null. Any thread.
    [[nodiscard]] kind::permit_list const* permits() const { return permits_.get(); }

    void begin();
    void late_grant(unsigned node);

    /// May the one who waits for that lock have this one (rule W4)?
    [[nodiscard]] bool may_pass_to(lock_state const& next) const;
    /// This lease ends, the next one begins, and the nodes are not told.
    [[nodiscard]] boost::intrusive_ptr<held_lease>
    pass_to(void* block, std::shared_ptr<lock_state> const& next, core::duration waited, unsigned attempts);
    /// \name With others whose key is the same (rule S18)
    ///@{
    /// May the reader of that lock have this one's key, too?
    [[nodiscard]] bool may_be_joined(lock_state const& by) const;
    /// Null: there is no memory.
    [[nodiscard]] boost::intrusive_ptr<held_lease> join(void* block, std::shared_ptr<lock_state> const& by,
                                                        core::duration waited, unsigned attempts);
    ///@}
    /// A node says that the key is not what it was.
    void invalidated(unsigned node);
    void on_usable(unsigned node) override;
    void hurry() override { release_the_rest(); }
    [[nodiscard]] lock_state const* wanted_lock() const override { return &lock(); }

    /// \name A lock with readers and writers
    ///@{
    /// Called before `downgrade`, on any thread: the lease is a reader's from now on. False: it was none of a writer.
    [[nodiscard]] bool call_shared() { return lock().plan->kind.as_reader && !publish_shared(); }
    /// Tells the nodes.
    void downgrade();
    ///@}

    /// \name Of an election
    ///@{
    /// From now on this is told with each extension. The operation ends with the first round that has told it.
    void proclaim(std::unique_ptr<proclamation>, wait_op&);
    /// As a release, which may be repeated while no majority has confirmed it.
    void resign(wait_op&);
    ///@}

    void extend(wait_op&);
    void await_end(wait_op&);
    void release(wait_op&);
    /// The handle is gone: as a release that nobody waits for.
    void handle_gone();
    /// Over for its holder, but its keys stay.
    void detach();
    /// The client is shut down: the lease is released, and its end reported with that reason. Or its context is being
    /// destroyed, or this process is a copy: the lease is lost without a report.
    void abort(boost::system::error_code why) override;

    friend void intrusive_ptr_add_ref(held_lease*) noexcept;
    friend void intrusive_ptr_release(held_lease*) noexcept;

private:
    friend class round<held_lease>;
    using event = lease_event::kind;
    static constexpr std::uint8_t no_line = 255;

    /// \name Its round
    ///@{
    [[nodiscard]] node_group& nodes() const { return on().nodes; }
    [[nodiscard]] kind::lock_kind const& type() const
    {
        kind::lock_kind const& own = lock().plan->kind;
        return downgraded_ ? *own.as_reader : own; // also for followers of a downgraded lease
    }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        kind::subject said{lock().key(), owner().text(), number()};
        if (what == kind::request::give_back)
            said.queue = release_words();
        if (proclaimed_)
            said.proclaimed = proclaimed_->text();
        if (permits_ && (what == renewal() || machine_.votes() == reached_.size()))
            said.numbers = permits_->text(); // otherwise a node may have given others, too (rule Q14)
        if (downgraded_ && what != renewal())
            type().append(out, what, said, form);
        else
            lock().plan->commands->append(out, what, said, form);
    }
    // rule S12
    [[nodiscard]] kind::request renewal() const
    {
        bool const was_writer = downgraded_ && !lock().plan->kind.shared;
        return was_writer ? kind::request::downgrade : kind::request::extend;
    }
    [[nodiscard]] bool repeats(unsigned node, kind::request, bool late) const;
    void on_repeated(unsigned node, kind::request);
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_busy() { intrusive_ptr_add_ref(this); }
    void on_drained() { intrusive_ptr_release(this); }
    ///@}

    [[nodiscard]] held_lease& leader() { return group_ ? *group_->leader : *this; }
    [[nodiscard]] bool follows() const { return group_ && group_->leader != this; }
    template <class Told>
    void tell_followers(Told const& told)
    {
        for (std::size_t i = group_ && !follows() ? group_->followers.size() : 0; i != 0; --i)
            told(*group_->followers[i - 1]); // the last takes the place of one that leaves
    }
    [[nodiscard]] bool leave_group();
    [[nodiscard]] bool leave_to_others(errc why);
    [[nodiscard]] bool may_lead() const;
    void take_lead(held_lease& before);
    void pass_lead();
    void follow();
    [[nodiscard]] std::vector<held_lease*> end_group();
    void lose_with(held_lease const& leader);
    void forget_group();

    [[nodiscard]] bool may_go_on_as(lock_state const& next) const;

    void take_up();
    [[nodiscard]] bool wait_for_nodes();
    void expire() override;

    void on_release(node_answer const&);
    void on_extension(node_answer const&);
    void on_extension_silence(unsigned node, bool late, net::failure const&);
    void on_release_silence(unsigned node, net::failure const&);

    [[nodiscard]] bool hangs() const;
    void renew();
    void start_extension();
    [[nodiscard]] bool extension_awaited() const;
    void finish_extension(boost::system::error_code);
    void schedule_next();
    void extend_on(unsigned node);
    void answer_extension(unsigned node, core::extension_answer);
    void time_out_extension();
    void settle(core::lease_machine::outcome);
    void give_up(errc reason, event = event::released);
    [[nodiscard]] errc why_over() const;
    void start_release();
    void offer_turn();
    [[nodiscard]] core::local_queue& of_name() const;
    [[nodiscard]] kind::queue_words release_words() const;
    [[nodiscard]] bool release_in_line();
    [[nodiscard]] core::node_set all_but(unsigned node) const;
    void release_on(core::node_set, kind::request = kind::request::release);
    void release_the_rest();
    void release_late(core::node_set, kind::request = kind::request::release);
    void on_given_back(node_answer const&);
    void fail_release(unsigned node);
    void leave_key();
    void start_watching();
    void watch_on(unsigned node);
    void stop_watching();
    [[nodiscard]] bool wants_watch() const;
    void on_watch(node_answer const&);
    void ask_whose();
    void settle_release(unsigned node);
    void finish_release();
    void take_back();
    core::lease_machine::duty look_at_clock(core::instant now);
    [[nodiscard]] bool lose_if_over();
    void lose();
    [[nodiscard]] loss_cause find_cause() const;
    void end(errc reason);

    void schedule();
    void show(lease_state s) { publish(s, machine_); }
    void show_votes() { publish_votes(machine_); }
    void tell(event what, core::duration spare = {}, std::string_view detail = {})
    {
        if (observer* const watcher = on().its.watcher())
            tell(*watcher, what, spare, detail);
    }
    void tell(observer&, event, core::duration spare, std::string_view detail);
    void tell_loss();
    void tell_answer(unsigned node, node_report const&, core::duration round_trip = {});
    void keep(unsigned node, node_report&&) noexcept;
    void keep_failure(unsigned node, net::failure const&) noexcept;
    void keep_silence(unsigned node) noexcept;
    [[nodiscard]] pending_release owed() const;

    // Small members come first, in the rest of the status.
    core::release_tally release_;
    std::uint8_t failed_ = 0;     ///< rounds in a row, as far as it can count
    std::uint8_t line_ = no_line; ///< the node that is told of the release before the others
    /// By whom the line has handed it to: nodes that say so have not lost it.
    bool may_be_claimed_ : 1 = false;
    bool leaves_free_ : 1 = false; ///< for those who do not stand in line
    bool releasing_ : 1 = false;
    bool stalled_ : 1 = false;
    bool taken_back_ : 1 = false;
    bool watching_ : 1 = false;
    bool changed_ : 1 = false; ///< a key, while an extension was under way
    bool adopted_ : 1 = false; ///< granted to another client
    bool begun_ : 1 = false;
    bool shut_down_ : 1 = false;  ///< ended by its client's end
    bool downgraded_ : 1 = false; ///< or it has the key of a lease that was
    std::atomic<std::uint32_t> references_{0};
    std::uint32_t among_ = 0; ///< the followers of its group
    core::lease_machine machine_;
    core::node_set reached_; ///< nodes to which a vote or an extension with its nonce was sent
    core::duration began_{}; ///< on CLOCK_BOOTTIME
    lease_history history_;
    wait_list waiting_; ///< for the end, or for an extension, then for the release
    /// Those with the same key: one of them renews it.
    struct group {
        void remove(held_lease& follower);
        [[nodiscard]] held_lease& next_leader() const;

        held_lease* leader;
        std::vector<held_lease*> followers;
        core::duration won; ///< by the first of them, on CLOCK_BOOTTIME
    };
    group* group_ = nullptr;                                 ///< null: it is alone
    std::unique_ptr<proclamation> proclaimed_;               ///< null: nobody is told who has it
    std::unique_ptr<kind::permit_list const> const permits_; ///< null: it is no semaphore's

public:
    held_lease* dropped_before = nullptr; ///< next lease that was dropped without memory to report it
};

extern template class round<held_lease>; // instantiated where its answers are handled

[[nodiscard]] boost::intrusive_ptr<held_lease> adopt_lease(std::shared_ptr<lock_state> const&, nonce const&,
                                                           std::uint64_t fencing_token);
[[nodiscard]] boost::intrusive_ptr<held_lease> new_held_lease(void* block, std::shared_ptr<lock_state> const&,
                                                              nonce const&, core::attempt const& won,
                                                              core::node_set reached, unsigned attempts,
                                                              core::duration waited,
                                                              std::unique_ptr<kind::permit_list const>);

} // namespace redlock::detail
