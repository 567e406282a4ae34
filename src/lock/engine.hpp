#pragma once

#include "lock/acquisition.hpp"
#include "lock/admissions.hpp"
#include "lock/attempt_limit.hpp"
#include "lock/block_cache.hpp"
#include "lock/compensation.hpp"
#include "lock/configuration.hpp"
#include "lock/contender.hpp"
#include "lock/held_lease.hpp"
#include "lock/lock_plan.hpp"
#include "lock/marker.hpp"
#include "lock/node_table.hpp"
#include "lock/nonce_source.hpp"
#include "lock/resource.hpp"
#include "lock/waiter.hpp"
#include "net/loop.hpp"
#include "net/node.hpp"
#include <redlock/config.hpp>

#include <boost/asio/post.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::lock {

/// One client's heart: its nodes, its loop, and all that is being acquired, held or cleaned up. Everything but what is
/// marked otherwise is called on the client's executor.
class engine final : public std::enable_shared_from_this<engine>,
                     private net::node_listener,
                     private net::task,
                     private core::timer {
public:
    /// \throws lock_error `errc::misconfigured`
    [[nodiscard]] static std::shared_ptr<engine> make(net::any_io_executor, config const&);
    engine(net::any_io_executor, client_settings);
    ~engine();

    /// \name Any thread
    ///@{
    [[nodiscard]] net::any_io_executor const& executor() const { return loop_.executor(); }
    [[nodiscard]] client_settings const& settings() const { return settings_; }
    [[nodiscard]] std::vector<node_status> nodes() const { return table_.rows(); }
    /// A lock was made whose keys live this long, of which so much is slack (docs/protocol.md, rules N4 and N7).
    void expect_keys(core::duration ttl, core::duration slack) { admissions_.expect_keys(ttl, slack); }
    [[nodiscard]] block_cache& lease_blocks() { return lease_blocks_; }
    [[nodiscard]] lock::resources& resources() { return resources_; }
    [[nodiscard]] lock_plans& plans() { return plans_; }

    /// Runs `work(engine&)` here if this is the executor, there otherwise. The work itself throws nothing.
    /// \throws std::bad_alloc and has done nothing
    template <class Work>
    void on_executor(Work work)
    {
        if (loop_.running_here()) {
            loop_.request_turn();
            return work(*this);
        }
        boost::asio::post(executor(),
                          [self = shared_from_this(), work = std::move(work)]() mutable { work(*self); });
    }

    /// The same for what begins an operation: `start(engine&)` throws std::bad_alloc, too, before it has begun anything.
    /// Where that happens after the hop, `start.fail()` completes the operation.
    template <class Start>
    void initiate(Start start)
    {
        if (loop_.running_here()) {
            loop_.request_turn();
            return start(*this);
        }
        boost::asio::post(executor(), [self = shared_from_this(), start = std::move(start)]() mutable {
            try {
                self->loop_.request_turn();
                start(*self);
            } catch (std::bad_alloc const&) {
                start.fail();
            }
        });
    }

    /// Ends everything without waiting; hops unless nobody runs the executor any more. Without memory for the hop that
    /// is left to the next turn.
    void abandon() noexcept;
    /// The handle of a lease is gone; the same.
    void abandon(boost::intrusive_ptr<held_lease>) noexcept;
    /// The executor's context is being destroyed: lets go of every handler, and completes nothing.
    void forsake();
    ///@}

    void shut_down(waiter&);
    [[nodiscard]] bool closing() const { return closing_; }

    [[nodiscard]] net::loop& loop() { return loop_; }
    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(nodes_.size()); }
    [[nodiscard]] core::node_set all_nodes() const { return core::node_set::first(size()); }
    [[nodiscard]] net::node& at(unsigned node) { return *nodes_[node]; }
    /// Begins to connect to the nodes that are not connected.
    void connect();
    [[nodiscard]] lock::marker& marker_of(unsigned node) { return *markers_[node]; }
    [[nodiscard]] core::marker_trust marker_trust(unsigned node) const
    {
        return admissions_.marker_trust(node, *nodes_[node]);
    }
    [[nodiscard]] core::duration quarantine_length() const { return admissions_.quarantine_length(); }
    [[nodiscard]] unsigned ready() const { return ready_; }
    [[nodiscard]] unsigned connecting() const { return connecting_; }
    /// Is any node's first connection of all still being made?
    [[nodiscard]] bool meets_somebody() const;
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
    /// Fenced locks may not rely on the node until then.
    void tell_fenced_refusal(unsigned node, core::instant until);
    [[nodiscard]] attempt_limit& limit() { return limit_; }
    [[nodiscard]] observer* watcher() { return settings_.watcher.get(); }

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
    [[nodiscard]] acquisition& new_acquisition();
    void retire(acquisition&);
    /// Null: there is no memory.
    [[nodiscard]] contender* new_contender() noexcept;
    void retire(contender&);
    [[nodiscard]] waiter& new_waiter();
    void retire(waiter&);
    [[nodiscard]] compensation& new_compensation();
    void begin(acquisition&);
    void end(acquisition&);
    void begin(held_lease&);
    void end(held_lease&);
    /// A release round began or ended; a shutdown waits for the last.
    void release_began() { ++releasing_; }
    void release_ended(bool confirmed);
    /// The same of votes that are taken back.
    void undone(bool confirmed);
    ///@}

    /// Compare-and-delete on these nodes, behind whatever was sent before; nobody waits for it.
    void compensate(compensation&, debt, core::node_set);
    /// A release that a node never answered: said again when the node is back, as long as the key can live. Without memory
    /// it is forgotten, and the key expires by itself.
    void owe(unsigned node, debt);
    void retire(compensation&);

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
    std::optional<net::failure> clock_objection(unsigned node) override;
    void tell_node(unsigned node, bool news) noexcept;
    void describe_node(unsigned node, bool news);
    void take_back_abandoned() noexcept;
    void tell_contenders();
    void pay_debts(unsigned node);
    void watch();
    void end_everything();
    void close_if_done();
    void run() override;
    void expire() override;
    void close();

    client_settings const settings_;
    net::loop loop_;
    nonce_source nonces_;
    std::string draft_;
    block_cache lease_blocks_;
    lock::resources resources_;
    lock_plans plans_;
    std::vector<std::unique_ptr<net::node>> nodes_;
    std::vector<std::unique_ptr<marker>> markers_;
    std::vector<std::deque<debt>> debts_;

    std::vector<std::unique_ptr<acquisition>> acquisitions_;
    std::vector<acquisition*> free_acquisitions_;
    std::vector<std::unique_ptr<contender>> contenders_;
    std::vector<contender*> free_contenders_;
    std::vector<std::unique_ptr<waiter>> waiters_;
    std::vector<waiter*> free_waiters_;
    std::vector<std::unique_ptr<compensation>> compensations_;
    std::vector<compensation*> free_compensations_;
    attempt_limit limit_{loop_};
    list_of<acquisition> acquiring_;
    list_of<held_lease> held_;

    waiter_list shutdown_waiters_;
    admissions admissions_;
    node_table table_;
    std::vector<node_state> states_; ///< as the counters below know them
    core::node_set met_;             ///< nodes that have been connected, or could not be
    core::duration round_trip_{};
    unsigned hearing_ = 0;
    unsigned outstanding_ = 0; ///< acquisitions and leases
    unsigned releasing_ = 0;
    unsigned undoing_ = 0; ///< compensations
    unsigned ready_ = 0;
    unsigned connecting_ = 0;
    std::atomic<held_lease*> dropped_{nullptr}; ///< their handles are gone
    std::atomic<bool> abandoned_{false};
    bool closing_ = false;
    bool closed_ = false;
    bool forsaken_ = false;
    bool undoing_too_long_ = false;
    bool all_released_ = true;
};

} // namespace redlock::lock
