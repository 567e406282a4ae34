// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/tally.hpp"
#include "engine/acquirer.hpp"
#include "engine/key_queue.hpp"
#include "engine/key_state.hpp"
#include "engine/multi_waiter.hpp"
#include "engine/waiter.hpp"
#include "redis/command.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::detail {

/// Several keys that one client locks at once. It has no queue but those of its keys.
class key_group final : public key_state {
public:
    /// \param names sorted, and each of them once
    key_group(key_queues&, std::vector<std::string> names);

    [[nodiscard]] redis::lock_key key() const override;
    void expect_keys(std::chrono::milliseconds ttl) override;
    [[nodiscard]] core::duration longest_key_life() const override;
    [[nodiscard]] std::uint64_t highest_number() const override;
    void note_number(std::uint64_t) override;

    [[nodiscard]] bool held_here() const override;
    [[nodiscard]] bool busy() const override;
    void enqueue(waiter&) override;
    void leave(waiter&) override;
    [[nodiscard]] std::size_t position(waiter const&) const override;
    [[nodiscard]] acquirer* acquirer_of(waiter const&) const override;
    /// With one name after the other, too.
    [[nodiscard]] bool is_asked_for(waiter const&) const override;

    void note_in_the_way(std::uint8_t which) override { in_the_way_ = which; }
    [[nodiscard]] std::uint8_t in_the_way() const override;
    [[nodiscard]] key_state& name_at(std::uint8_t which) override { return *queues_[which]; }

    void adopted(held_lease&) override;
    [[nodiscard]] bool hand_over(held_lease&) override;
    void downgraded(held_lease&) override {}
    void renewed_by(held_lease const&, held_lease&) override {}
    void lease_ended(held_lease const&) override;
    void changed_by_us(core::node_set) override;

private:
    [[nodiscard]] multi_waiter* next_in_all() const;

    std::vector<std::string> names_;
    multi_waiter::queue_list queues_; ///< as the names are ordered
    std::uint8_t in_the_way_ = 0;
};

} // namespace redlock::detail
