#pragma once

#include "engine/acquire_op.hpp"
#include "engine/admissions.hpp"
#include "engine/attempt_limit.hpp"
#include "engine/attempt_loop.hpp"
#include "engine/block_cache.hpp"
#include "engine/configuration.hpp"
#include "engine/held_lease.hpp"
#include "engine/inspector.hpp"
#include "engine/key_queue.hpp"
#include "engine/lock_plan.hpp"
#include "engine/marker.hpp"
#include "engine/node_table.hpp"
#include "engine/nonce_source.hpp"
#include "engine/undo.hpp"
#include "engine/wait_op.hpp"
#include "engine/warnings.hpp"
#include "net/loop.hpp"
#include "net/node.hpp"
#include "net/process_page.hpp"
#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include <boost/asio/post.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/system/errc.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::detail {

/// One client's heart: its nodes, its loop, and all that is being acquired, held or cleaned up. Everything but what is
/// marked otherwise is called on the client's executor.
class engine final : public std::enable_shared_from_this<engine>,
                     private net::node_listener,
                     private net::task,
                     private net::fork_listener,
                     private core::timer {
public:
    /// \throws lock_error `errc::misconfigured`
    [[nodiscard]] static std::shared_ptr<engine> make(net::any_io_executor, config const&,
                                                      std::shared_ptr<net::machine>);
    engine(net::any_io_executor, client_settings, std::shared_ptr<net::machine>);
    ~engine();

    /// \name Any thread
    ///@{
    [[nodiscard]] net::any_io_executor const& executor() const { return loop_.executor(); }
    [[nodiscard]] client_settings const& settings() const { return settings_; }
    [[nodiscard]] core::instant read_clocks() const { return loop_.machine().read_clocks(); }
    [[nodiscard]] std::vector<node_status> nodes() const { return table_.rows(read_clocks()); }
    /// A lock was made whose keys live this long, of which so much is slack (docs/protocol.md, rules N4 and N7).
    void expect_keys(core::duration ttl, core::duration slack) { admissions_.expect_keys(ttl, slack); }
    [[nodiscard]] block_cache& lease_blocks() { return lease_blocks_; }
    [[nodiscard]] detail::key_index& key_index() { return keys_; }
    [[nodiscard]] lock_plans& plans() { return plans_; }

    /// Runs `work(engine&)` here if this is the executor, there otherwise. The work itself throws nothing.
    /// In a forked child it is left out.
    /// \throws std::bad_alloc and has done nothing
    template <class Work>
    void on_executor(Work work)
    {
        if (forked())
            return let_go();
        if (loop_.running_here()) {
            loop_.request_turn();
            return work(*this);
        }
        boost::asio::post(executor(), [self = shared_from_this(), work = std::move(work)]() mutable {
            self->forked() ? self->let_go() : work(*self);
        });
    }

    /// The same for what begins an operation: `start(engine&)` throws std::bad_alloc, too, before it has begun anything.
    /// Where that happens after the hop, `start.fail(error_code)` completes the operation, as in a forked child.
    template <class Start>
    void initiate(Start start)
    {
        if (forked())
            return refuse(std::move(start));
        if (loop_.running_here()) {
            loop_.request_turn();
            return start(*this);
        }
        boost::asio::post(executor(), [self = shared_from_this(), start = std::move(start)]() mutable {
            if (self->forked()) { // meanwhile
                self->let_go();
                return start.fail(errc::forked);
            }
            try {
                self->loop_.request_turn();
                start(*self);
            } catch (std::bad_alloc const&) {
                start.fail(make_error_code(boost::system::errc::not_enough_memory));
            }
        });
    }

    /// Is this process a copy of the one that made the client? No system call where pages are wiped on fork.
    [[nodiscard]] bool forked() const noexcept { return process_.forked(); }
    /// In a forked child: nothing is sent any more, descriptors are closed without a byte, leases are lost, and what waits
    /// ends with `errc::forked` (docs/protocol.md, rule A3). Once.
    void let_go() noexcept;

    /// Ends everything without waiting; hops unless nobody runs the executor any more. Without memory for the hop that
    /// is left to the next turn.
    void abandon() noexcept;
    /// The handle of a lease is gone; the same.
    void abandon(boost::intrusive_ptr<held_lease>) noexcept;
    /// The executor's context is being destroyed: lets go of every handler, and completes nothing.
    void forsake();
    ///@}

    void shut_down(wait_op&);
    [[nodiscard]] bool closing() const { return closing_; }

    [[nodiscard]] net::loop& loop() { return loop_; }
    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(nodes_.size()); }
    [[nodiscard]] core::node_set all_nodes() const { return core::node_set::first(size()); }
    [[nodiscard]] net::node& at(unsigned node) { return *nodes_[node]; }
    /// Begins to connect to the nodes that are not connected.
    void connect();
    [[nodiscard]] detail::marker& marker_of(unsigned node) { return *markers_[node]; }
    [[nodiscard]] unsigned ready() const { return ready_; }
    /// Nodes that are being connected, or asked for their marker.
    [[nodiscard]] unsigned unsettled() const { return connecting_ + marking_; }
    /// Is any node's first connection of all still being made, or was it not asked for its marker yet?
    [[nodiscard]] bool meets_somebody() const;

    /// \name Since when a node's memory is certain (docs/protocol.md, rules N4 to N7 and F6)
    ///@{
    [[nodiscard]] std::optional<core::instant> certain_since(unsigned node) const
    {
        return admissions_.certain_since(node);
    }
    [[nodiscard]] bool excuses_absence(unsigned node) const
    {
        return admissions_.excuses_absence(node, *nodes_[node]);
    }
    [[nodiscard]] bool trusts_promotion(unsigned node) const
    {
        return admissions_.trusts_promotion(node, *nodes_[node]);
    }
    /// Asks every node that is ready for its marker.
    void require_markers();
    void marker_asked() { ++marking_; }
    void marker_settled(unsigned node);
    void has_lost_data(unsigned node) { admissions_.has_lost_data(node, loop_.now()); }
    /// Do this connected node's votes and extensions not count for this lock yet (rule N4)?
    [[nodiscard]] bool is_quarantined(unsigned node, lock_state const&) const;
    /// Until when. Nothing: they count now.
    [[nodiscard]] std::optional<core::instant> quarantined_until(unsigned node, lock_state const&) const;
    /// May it be asked for this lock now? Connects where that is needed. Where not, the row says why.
    [[nodiscard]] bool admit(unsigned node, lock_state const&, node_report& row);
    /// Connected nodes that may vote for this lock now.
    [[nodiscard]] unsigned voters(lock_state const&) const;
    /// When the quarantines of connected nodes will have left a majority for this lock. Nothing: not by that alone.
    [[nodiscard]] std::optional<core::instant> majority_at(lock_state const&) const;
    ///@}
    [[nodiscard]] nonce fresh_nonce() { return nonces_.next(); }
    /// Room for a command that goes to several nodes, to be given back: its memory is kept.
    [[nodiscard]] std::string take_draft() { return std::exchange(draft_, {}); }
    /// So that it suffices for any command.
    void make_room_for_draft() { draft_.reserve(longest_draft); }
    void give_back(std::string draft)
    {
        draft_ = std::move(draft);
        draft_.clear();
    }
    /// What a node answered to a script instead of doing it, for `nodes()`: no other table has a place for it.
    void remark(unsigned node, std::string_view script, redis::resp_node const& reply);
    [[nodiscard]] attempt_limit& limit() { return limit_; }
    [[nodiscard]] detail::warnings& warnings() { return warnings_; }
    /// Nobody in a forked child: the observer is the parent's.
    [[nodiscard]] observer* watcher()
    {
        observer* const told = settings_.watcher.get();
        return told && !let_go_.load(std::memory_order_relaxed) ? told : nullptr;
    }

    /// Smoothed time from asking to being granted: the unit of back-off.
    [[nodiscard]] core::duration round_trip() const { return round_trip_; }
    void measured(core::duration sample);
    /// How long a lock is left alone so that others hear that it is free, and ask for it.
    [[nodiscard]] core::duration turn() const;

    /// Somebody waits to be told by the nodes that a key has changed.
    void hear();
    void stop_hearing();

    /// \name Operations come and go
    ///@{
    [[nodiscard]] acquire_op& new_acquire_op();
    void retire(acquire_op&);
    /// Null: there is no memory.
    [[nodiscard]] attempt_loop* new_attempt_loop() noexcept;
    void retire(attempt_loop&);
    [[nodiscard]] wait_op& new_wait_op();
    void retire(wait_op&);
    [[nodiscard]] undo& new_undo();
    [[nodiscard]] inspector& new_inspector();
    void retire(inspector&);
    void begin(acquire_op&);
    void end(acquire_op&);
    void begin(held_lease&);
    void begin(inspector& i) { inspecting_.push_back(i); }
    void end(held_lease&);
    void end(inspector& i) { inspecting_.erase(inspecting_.iterator_to(i)); }
    /// A release round began or ended; a shutdown waits for the last.
    void release_began() { ++releasing_; }
    void release_ended(bool confirmed);
    /// The same of votes that are taken back.
    void undone(bool confirmed);
    ///@}

    /// Compare-and-delete on these nodes, behind whatever was sent before; nobody waits for it.
    void compensate(undo&, pending_release, core::node_set);
    /// A release that a node never answered: said again when the node is back, as long as the key can live. Without memory
    /// it is forgotten, and the key expires by itself.
    void owe(unsigned node, pending_release);
    void retire(undo&);

private:
    template <class T>
    using list_of = boost::intrusive::list<
        T, boost::intrusive::member_hook<T, boost::intrusive::list_member_hook<>, &T::link>,
        boost::intrusive::constant_time_size<false>>;

    static constexpr std::size_t longest_draft = std::size_t{4} * 1024;

    void on_node_changed(unsigned node) override;
    void on_key_changed(unsigned node, std::optional<std::string_view> key) override;
    void on_tracking_refused(unsigned node, redis::resp_node const& why) override;
    std::optional<net::failure> objection(unsigned node) override;
    bool is_certain(unsigned node) override;
    bool was_set_forward(unsigned node) override;
    [[nodiscard]] core::duration quarantine_for(lock_state const&) const;
    [[nodiscard]] quarantine quarantine_of(unsigned node, lock_state const&, core::instant until) const;
    void tell_quarantine(unsigned node, lock_state const&, core::instant until) noexcept;
    [[nodiscard]] bool tell_longest_quarantine(unsigned node);
    void end_quarantine(unsigned node);
    [[nodiscard]] bool knows_marker(unsigned node, node_report&);
    [[nodiscard]] bool has_waited(unsigned node, lock_state const&, node_report&);
    void on_fork() noexcept override { let_go(); }
    template <class Start>
    void refuse(Start start)
    {
        let_go();
        boost::asio::post(executor(), [self = shared_from_this(), start = std::move(start)]() mutable {
            start.fail(errc::forked);
        });
    }
    void tell_node(unsigned node, bool news) noexcept;
    void describe_node(unsigned node, bool news);
    void take_back_abandoned() noexcept;
    void tell_attempt_loops();
    void retry_releases(unsigned node);
    void watch();
    void end_everything();
    void close_if_done();
    void run() override;
    void expire() override;
    void close();

    client_settings const settings_;
    net::process_page process_;
    net::loop loop_;
    nonce_source nonces_{loop_.machine(), process_};
    std::string draft_;
    block_cache lease_blocks_;
    detail::key_index keys_;
    lock_plans plans_;
    std::vector<std::unique_ptr<net::node>> nodes_;
    std::vector<std::unique_ptr<marker>> markers_;
    std::vector<std::deque<pending_release>> pending_releases_;

    std::vector<std::unique_ptr<acquire_op>> acquire_ops_;
    std::vector<acquire_op*> free_acquire_ops_;
    std::vector<std::unique_ptr<attempt_loop>> attempt_loops_;
    std::vector<attempt_loop*> free_attempt_loops_;
    std::vector<std::unique_ptr<wait_op>> wait_ops_;
    std::vector<wait_op*> free_wait_ops_;
    std::vector<std::unique_ptr<undo>> undos_;
    std::vector<undo*> free_undos_;
    std::vector<std::unique_ptr<inspector>> inspectors_;
    std::vector<inspector*> free_inspectors_;
    attempt_limit limit_{loop_};
    list_of<acquire_op> acquiring_;
    list_of<held_lease> held_;
    list_of<inspector> inspecting_;

    wait_list shutdown_waiters_;
    admissions admissions_;
    node_table table_;
    std::vector<std::optional<core::instant>>
        quarantines_; ///< ends that were told, of nodes that are connected
    detail::warnings warnings_{settings_};
    std::vector<node_state> states_; ///< as the counters below know them
    core::node_set met_;             ///< nodes that have been connected, or could not be
    core::duration round_trip_{};
    unsigned hearing_ = 0;
    unsigned outstanding_ = 0; ///< acquisitions and leases
    unsigned releasing_ = 0;
    unsigned undoing_ = 0; ///< compensations
    unsigned ready_ = 0;
    unsigned connecting_ = 0;
    unsigned marking_ = 0;                      ///< markers that were asked for
    std::atomic<held_lease*> dropped_{nullptr}; ///< their handles are gone
    std::atomic<bool> abandoned_{false};
    std::atomic<bool> let_go_{false};
    std::shared_ptr<engine> half_done_; ///< itself, where nothing of it may be touched any more
    bool closing_ = false;
    bool closed_ = false;
    bool forsaken_ = false;
    bool undoing_too_long_ = false;
    bool all_released_ = true;
};

} // namespace redlock::detail
