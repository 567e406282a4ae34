// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/contention.hpp"
#include "core/instant.hpp"
#include "core/tally.hpp"
#include "core/timer_wheel.hpp"
#include "engine/acquirer.hpp"
#include "engine/key_queue.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_config.hpp"
#include "engine/runtime.hpp"
#include "engine/waiter.hpp"
#include <redlock/error.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// An operation that wants several names: one waiter in the queue of each. It asks for all names at once when all of them are
/// the first (docs/protocol.md, rule M6). If that fails for a long time, it takes one name after the other, and then all
/// together (rule M8).
class multi_waiter final : public acquirer_owner, private core::timer {
public:
    using queue_list = std::vector<boost::intrusive_ptr<key_queue>>;

    /// \param names all of them, whose queues these are, in the order of the names
    /// \param whole the waiter for all names, which owns this
    multi_waiter(key_state& names, queue_list const&, waiter& whole);
    ~multi_waiter();

    [[nodiscard]] waiter& whole() const { return whole_; }
    [[nodiscard]] bool wants(queue_list const& names) const { return queues_ == names; }
    /// Last in all queues.
    void enter();
    void leave();
    /// The end: destroys this.
    void done();
    [[nodiscard]] bool is_first_everywhere() const;
    [[nodiscard]] std::size_t position() const;
    /// Has it come first in all queues?
    [[nodiscard]] bool asks_for_all() const { return first_ == parts_.size(); }
    /// Returns its acquirer, or that of a name for which it waits.
    [[nodiscard]] acquirer* acquirer_in_charge() const;

private:
    class part;

    [[nodiscard]] waiter* after(waiter const&) override { return nullptr; }
    waiter* drop(waiter&) override { return nullptr; }
    void won(acquirer&, held_lease&) override;
    void acquirer_ended() override;
    [[nodiscard]] bool on_attempt_lost(errc cause) override;
    [[nodiscard]] std::string_view given_up() const override { return given_up_; }
    void expire() override;

    void first_in_one_more(core::start_mode how);
    void ask();
    void set_acquirer(acquirer*);
    [[nodiscard]] bool is_tired() const;
    [[nodiscard]] core::duration patience() const;
    void take_names_singly();
    void take_next();
    void prepare();
    [[nodiscard]] bool has_taken() const;
    void give_up_for_all();
    void start_over();
    void delete_given_up(core::node_set where) noexcept;
    void fail(boost::system::error_code);
    [[nodiscard]] runtime& on() const { return whole_.lock()->config->on; }

    key_state& names_;
    queue_list const& queues_;
    waiter& whole_;
    std::vector<std::unique_ptr<part>> parts_;   ///< in the queues
    std::size_t first_ = 0;                      ///< in so many queues
    std::size_t taken_ = 0;                      ///< so many names, one after the other
    std::string given_up_{};                     ///< the nonces of the taken names
    std::shared_ptr<lock_config const> alone_{}; ///< plan of a lock of one name, for them
    acquirer* acquirer_ = nullptr;               ///< for all names
    core::instant asks_since_;
    core::start_mode how_ = core::start_mode::at_once; ///< the first attempt begins
    unsigned refusals_ = 0;
};

} // namespace redlock::detail
