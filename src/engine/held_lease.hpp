// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/attempt.hpp"
#include "core/contention.hpp"
#include "core/instant.hpp"
#include "core/lease_machine.hpp"
#include "core/tally.hpp"
#include "engine/announcement.hpp"
#include "engine/lease_history.hpp"
#include "engine/lease_stages.hpp"
#include "engine/lease_status.hpp"
#include "engine/lifecycle.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/node_group.hpp"
#include "engine/node_report.hpp"
#include "engine/nonce_source.hpp"
#include "engine/release_record.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "engine/wait_op.hpp"
#include "kind/kind.hpp"
#include "kind/lease_arguments.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/observer.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace redlock::detail {

class waiter;

class held_lease;

/// Readers of one client that share one key on the nodes (docs/protocol.md, rule S18). The renewer renews the key, and the
/// followers rely on what the renewer has confirmed. The last member gives the key back. Each member counts as a reference.
struct reader_group final : boost::intrusive_ref_counter<reader_group, boost::thread_unsafe_counter> {
    /// \param since when the first of them won the key, on CLOCK_BOOTTIME
    reader_group(held_lease& first, core::duration since) : members{&first}, won(since) {}

    [[nodiscard]] held_lease& renewer() const { return *members.front(); }
    void put(std::size_t place, held_lease& member);
    void erase(held_lease& member);
    void make_renewer(held_lease& follower);
    /// Prefers a follower that may renew for the group. Without followers, returns the renewer.
    [[nodiscard]] held_lease& next_renewer() const;

    std::vector<held_lease*> members; ///< the renewer first
    core::duration const won;
};

/// A held lock: renews itself, reports its loss, is released. The user's handle and the replies on their way share it.
/// Everything but its status belongs to the client's executor.
///
/// It is one object from the grant to the last answer to its release: a server holds a hundred thousand of these, and each
/// further object would cost a sink, a timer or a pointer. First its keys are kept, and then released: one place
/// serves both.
class held_lease final : private round<held_lease>, public activity, public lease_status {
public:
    /// \param reached nodes to which its votes were sent, and which did not refuse them
    held_lease(lock_ptr, nonce const&, core::attempt const& won, core::node_set reached, unsigned attempts,
               core::duration waited, std::unique_ptr<kind::lease_arguments const>);
    /// The next in a row of holders who pass the lock on.
    held_lease(lock_ptr, held_lease const& before, unsigned attempts, core::duration waited);
    /// Granted to another client, and begun here by the first operation on it. Any thread.
    held_lease(lock_ptr, nonce const&, std::uint64_t fencing_token, core::instant now);

    /// Explains an error of an operation on the lease, with what each node last said if that is the cause. Any thread.
    [[nodiscard]] lock_error explain(boost::system::error_code, lock_stage = lock_stage::holding) const;

    /// Null: the lock is no semaphore. Any thread.
    [[nodiscard]] kind::permit_list const* permits() const
    {
        bool const has_some = lock().config->kind.has_permits && arguments_; // a leader's arguments change
        return has_some ? arguments_->as_permits() : nullptr;
    }

    void begin();
    void late_grant(unsigned node);

    /// This lease ends, the waiter's begins, and the nodes are not told. Null: the waiter may not have it, or there is no memory.
    [[nodiscard]] boost::intrusive_ptr<held_lease> pass_to(waiter const& to);
    /// A reader shares this lease's key (rule S18). Null: it may not, or there is no memory.
    [[nodiscard]] boost::intrusive_ptr<held_lease> join(waiter const& by);
    /// Does it have time left to renew the key, and get on (rule H8)?
    [[nodiscard]] bool may_renew_for_group() const { return kept().may_renew() && !hangs(); }
    std::uint32_t group_index = 0; ///< kept by its group

    /// A node reports that the key has changed.
    void invalidated(unsigned node);
    void on_usable(unsigned node) override;
    void send_postponed() override { release_the_rest(); }
    [[nodiscard]] lock_descriptor const* wanted_lock() const override { return &lock(); }

    /// Called before `downgrade`, on any thread: the lease is a reader's from now on. False: it was not a writer's.
    [[nodiscard]] bool call_shared() { return lock().config->kind.as_reader && !publish_shared(); }
    void withdraw_call() { withdraw_shared(); } ///< it cannot be told
    /// Tells the nodes.
    void downgrade();
    /// Each extension tells this from now on. The operation ends with the first round that has told it.
    void proclaim(std::unique_ptr<announcement>, wait_op&);
    /// As a release, which may be repeated while no majority has confirmed it.
    void resign(wait_op&);

    void extend(wait_op&);
    void await_end(wait_op&);
    /// Called when the operation has just come, or the clock has just been read.
    /// \param waits null: nobody does
    void release(wait_op* waits);
    void handle_gone();
    /// Over for its holder, but its keys stay.
    void detach();
    /// The client is shut down: the lease is released, and its end told with that reason. Or its context is being destroyed,
    /// or this process is a copy: it is lost, and nobody is told.
    void abort(boost::system::error_code why) override;

    friend void intrusive_ptr_add_ref(held_lease*) noexcept;
    friend void intrusive_ptr_release(held_lease*) noexcept;

private:
    friend class round<held_lease>;
    using meaning = kind::answer::meaning;
    using event = lease_event::kind;

    [[nodiscard]] node_group& nodes() const { return on().nodes; }
    [[nodiscard]] kind::lock_kind const& type() const
    {
        kind::lock_kind const& own = lock().config->kind;
        return downgraded_ ? *own.as_reader : own;
    }
    void append(std::string& out, kind::request what, redis::script_form form) const;
    // rule S12
    [[nodiscard]] kind::request renewal() const
    {
        bool const was_writer = downgraded_ && !lock().config->kind.shared;
        return was_writer ? kind::request::downgrade : kind::request::extend;
    }
    [[nodiscard]] bool repeats(unsigned node, kind::request, bool late) const;
    void on_repeated(unsigned node, kind::request);
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_busy() { intrusive_ptr_add_ref(this); }
    void on_drained() { intrusive_ptr_release(this); }

    [[nodiscard]] keeping& kept() { return *std::get_if<keeping>(&stage_); }
    [[nodiscard]] keeping const& kept() const { return *std::get_if<keeping>(&stage_); }
    /// Null: it has not been given up.
    [[nodiscard]] releasing* releasing_stage() { return std::get_if<releasing>(&stage_); }
    [[nodiscard]] releasing const* releasing_stage() const { return std::get_if<releasing>(&stage_); }
    [[nodiscard]] bool over() const { return releasing_stage() || kept().over(); }
    [[nodiscard]] bool is_lost() const
    {
        return !releasing_stage() && kept().phase() == core::lease_phase::lost;
    }
    [[nodiscard]] bool is_certain() const
    {
        return !releasing_stage() && kept().phase() == core::lease_phase::held;
    }
    [[nodiscard]] core::lease_facts facts() const
    {
        return releasing_stage() ? releasing_stage()->known : kept().facts();
    }

    [[nodiscard]] held_lease& renewer() { return group_ ? group_->renewer() : *this; }
    [[nodiscard]] bool follows() const { return group_ && &group_->renewer() != this; }
    void tell_followers(boost::system::error_code result);
    [[nodiscard]] bool leave_group();
    void become_renewer(held_lease& before);
    void pass_renewal();
    void follow();
    void follow_in_vain(boost::system::error_code);
    [[nodiscard]] boost::intrusive_ptr<reader_group> end_group();
    void lose_with(held_lease const& renewer);

    [[nodiscard]] bool may_be_joined(lock_descriptor const& by) const;
    [[nodiscard]] bool may_go_on_as(lock_descriptor const& next) const;

    void begin_if_adopted();
    [[nodiscard]] bool wait_for_nodes();
    void expire() override;

    [[nodiscard]] bool hangs() const
    {
        return on().loop().now().boot - progressed() > lock().config->terms.progress_within;
    }
    void renew();
    void start_extension();
    [[nodiscard]] bool extension_awaited() const;
    void finish_extension(boost::system::error_code);
    void extend_on(unsigned node);
    void on_extension(node_answer const&);
    void on_extension_silence(unsigned node, bool late, net::failure const&);
    void answer_extension(unsigned node, core::extension_answer, node_report&&,
                          core::duration round_trip = {});
    void time_out_extension();
    void settle(core::lease_machine::outcome);
    void extended();
    void extension_failed(boost::system::error_code);

    void give_up(errc reason, event = event::released);
    [[nodiscard]] errc why_over() const;
    void release_keys(errc why, wait_op* = nullptr);
    void start_release(bool queues);
    /// Returns the local queue that knows of other clients that want the lock. Among several names, the one that was in the
    /// way last counts.
    [[nodiscard]] core::contention& contention() const { return lock().key->awaited().contention; }
    [[nodiscard]] kind::queue_arguments release_arguments() const;
    [[nodiscard]] bool release_in_queue(releasing&);
    void release_on(core::node_set, kind::request);
    void release_the_rest();
    void release_late(core::node_set, kind::request);
    void on_given_back(node_answer const&);
    void on_release(node_answer const&);
    [[nodiscard]] bool releases_lock_alone(node_answer const&);
    void keep_answer(node_answer const&);
    void on_release_silence(unsigned node, net::failure const&);
    void fail_release(unsigned node, net::failure const&);
    void settle_release();
    void finish_release();
    /// Follows everything that this lease had to say on its connections: the next one's vote comes in the same write.
    void tell_key_of_end() { lock().key->lease_ended(*this); }
    void delete_keys();
    [[nodiscard]] owed_release owed() const
    {
        return {{lock().key, &type(), owner(), number()}, on().loop().now() + lock().config->key_ttl};
    }

    void start_watching();
    void watch_on(unsigned node);
    void stop_watching();
    [[nodiscard]] bool wants_watch() const;
    void on_watch(node_answer const&);
    void check_ownership();

    core::lease_machine::duty apply_clock(core::instant now);
    [[nodiscard]] bool end_if_expired();
    void lose();
    [[nodiscard]] loss_cause find_cause() const;
    void end(errc reason);
    void schedule();

    void show(lease_state s) { publish(s, kept()); }
    void show_votes() { publish_votes(kept()); }
    void tell(event what, core::duration spare = {}, std::string_view detail = {});
    void tell_loss();
    void tell_answer(unsigned node, node_report const&, core::duration round_trip = {});
    void keep(unsigned node, node_report&&) noexcept;
    void keep_silence(core::node_set) noexcept;

    // Small members stand first, in the padding of the status.
    /// No deletion is owed: the keys are being deleted, stay on purpose, or belong to another lease.
    bool deletion_settled_ : 1 = false;
    bool begun_ : 1 = false;
    bool shut_down_ : 1 = false;      ///< ended by its client's end
    bool extension_owed_ : 1 = false; ///< a round has to begin, also if no operation waits for it
    bool downgraded_ : 1 = false;
    std::atomic<std::uint32_t> references_{0};
    std::variant<keeping, releasing> stage_;
    core::node_set reached_; ///< nodes to which a vote or an extension with its nonce was sent
    core::duration began_{}; ///< on CLOCK_BOOTTIME
    lease_history history_;
    wait_list waiting_;                        ///< for the end, or for an extension, then for the release
    boost::intrusive_ptr<reader_group> group_; ///< null: it shares its key with no other lease
    std::unique_ptr<kind::lease_arguments const> arguments_; ///< null: its commands need none
};

extern template class round<held_lease>; // instantiated beside the handlers of its answers

[[nodiscard]] boost::intrusive_ptr<held_lease> adopt_lease(lock_ptr const&, nonce const&,
                                                           std::uint64_t fencing_token);

} // namespace redlock::detail
