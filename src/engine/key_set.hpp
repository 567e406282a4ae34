// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/local_queue.hpp"
#include "core/tally.hpp"
#include "core/timer_wheel.hpp"
#include "engine/acquirer.hpp"
#include "engine/candidate.hpp"
#include "engine/key_queue.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_plan.hpp"
#include "engine/lock_queue.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"
#include <redlock/error.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

class key_set;

/// One operation that wants several keys: it stands in the queue of each, and asks for all at once when it is the first in
/// all (docs/protocol.md, rule M6). If that is in vain for long it takes one after the other, and then all together (rule M8).
class set_turn final : private core::timer {
public:
    set_turn(key_set&, candidate& whom);
    ~set_turn();
    set_turn(set_turn const&) = delete;
    set_turn& operator=(set_turn const&) = delete;

    [[nodiscard]] key_set& set() const { return set_; }
    [[nodiscard]] candidate& whom() const { return whom_; }
    /// Last in all queues.
    void enter();
    /// Out of all of them.
    void leave();
    [[nodiscard]] bool is_first_everywhere() const;
    [[nodiscard]] std::size_t position() const;
    /// It is the first in all queues.
    void begin(core::instant now);
    /// Has it asked for all keys at once often enough, or for long enough?
    [[nodiscard]] bool is_tired(core::instant now) const;
    void refused() { ++refusals_; }
    [[nodiscard]] core::start_mode how() const { return how_; }
    /// Has it come first in all queues?
    [[nodiscard]] bool asks() const;
    /// One key after the other, and then all together. \throws std::bad_alloc
    void take_next();
    [[nodiscard]] std::string_view given_up() const { return given_up_; }
    /// Those nonces, from the nodes that may still have them.
    void give_back(core::node_set where) noexcept;

private:
    [[nodiscard]] core::duration patience() const;
    class place;

    void expire() override;
    void come_first(core::start_mode how);
    void prepare();
    [[nodiscard]] bool has_taken() const;
    void give_up_for_all();
    void start_over();
    [[nodiscard]] kind::lock_kind const& kind_of_one() const;

    key_set& set_;
    candidate& whom_;
    std::vector<std::unique_ptr<place>> places_; ///< as the keys are ordered
    std::size_t first_ = 0;                      ///< in so many queues
    std::size_t taken_ = 0;                      ///< so many keys, one after the other
    std::string given_up_{};                     ///< the nonces of what it had taken, one for each key
    std::shared_ptr<lock_plan const> alone_{};   ///< plan of a lock of one name, for them
    core::instant asks_since_;
    core::start_mode how_ = core::start_mode::at_once; ///< it begins then
    unsigned refusals_ = 0;
};

/// Several keys that one client locks at once. It has no queue but those of its keys.
class key_set final : public lock_queue {
public:
    /// \param names sorted, and each of them once
    key_set(key_queues&, std::vector<std::string> names);

    [[nodiscard]] redis::lock_key key() const override;
    void expect_keys(std::chrono::milliseconds ttl) override;
    [[nodiscard]] core::duration longest_key() const override;
    [[nodiscard]] std::uint64_t highest_number() const override;
    void note_number(std::uint64_t) override;

    [[nodiscard]] bool busy() const override;
    [[nodiscard]] bool held_here() const override;
    [[nodiscard]] std::size_t position(candidate const&) const override;
    void enqueue(candidate&) override;
    void leave(candidate&) override;
    [[nodiscard]] bool served(candidate const&) const override;

private:
    friend class set_turn;

    [[nodiscard]] acquirer* asking(candidate const&) const override;
    [[nodiscard]] candidate* after(candidate&) override { return nullptr; }
    void won(acquirer&, held_lease&) override;
    void loop_ended(acquirer const&) override;
    void taken_back(acquirer const&, core::node_set) override;
    void adopted(held_lease&) override;
    [[nodiscard]] bool hand_over(held_lease&) override;
    void downgraded(held_lease&) override {}
    void led_by(held_lease const&, held_lease&) override {}
    void lease_ended(held_lease const&) override;
    void changed_here(core::node_set) override;
    [[nodiscard]] bool reclaim(acquirer&, errc cause) override;
    [[nodiscard]] std::string_view given_up(acquirer const& by) const override
    {
        return loop_ == &by ? asked_for_->given_up() : std::string_view();
    }

    void note_in_the_way(std::uint8_t which) override { in_the_way_ = which; }
    [[nodiscard]] std::uint8_t in_the_way() const override;
    [[nodiscard]] key_state& one(std::uint8_t which) override { return *queues_[which]; }

    void stop_asking();
    void on_time(set_turn&);
    void go_on(set_turn&);
    void ask(set_turn&);
    void fail(set_turn&, boost::system::error_code);
    [[nodiscard]] set_turn* find(candidate const&) const;
    [[nodiscard]] set_turn* next_in_all() const;
    [[nodiscard]] std::unique_ptr<set_turn> take(candidate const&);
    [[nodiscard]] bool may_hand_over(held_lease const&, set_turn const& next) const;
    [[nodiscard]] runtime& on() const;

    std::vector<std::string> names_;
    std::vector<boost::intrusive_ptr<key_queue>> queues_; ///< as the names are ordered
    boost::unordered_flat_map<candidate const*, std::unique_ptr<set_turn>> turns_;
    acquirer* loop_ = nullptr; ///< for the one that is the first in all queues
    set_turn* asked_for_ = nullptr;
    std::uint8_t in_the_way_ = 0;
};

} // namespace redlock::detail
