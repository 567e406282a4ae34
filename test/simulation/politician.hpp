// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "simulation/schedule.hpp"
#include <redlock/election.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/system/error_code.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace redlock::simulation {

/// Campaigns in the schedule's one election, leads, and always observes the leader.
struct schedule::politician {
    politician(schedule&, program&, std::string its_name, test::dice);

    void begin();
    /// Starts nothing new; pending operations still end.
    void stop();
    /// Its program forked, and this is the copy.
    void be_copied() { over = true; }
    /// In a copy of its program: uses what it has, which must end with `errc::forked`.
    void misuse();

    schedule& all;
    program& home;
    std::string name;
    test::dice dice;
    std::optional<election> seat;
    leadership held{};
    std::string value{};        ///< the value of its last campaign
    std::uint64_t revision = 0; ///< that a majority has
    std::uint64_t said = 0;     ///< the last one whose announcement began
    duration proclaimed{};      ///< when that was known
    leader_info seen{};
    bool served = false; ///< since it was last asked
    bool over = false;

private:
    void campaign();
    void elected(leadership);
    void lead();
    void proclaim();
    void resign();
    void observe();
    void ask();
    void answered(std::uint64_t term, std::uint64_t revision, leader_info const&);
    void later(duration pause, std::function<void()> what);
    /// Does nobody care how it ended?
    [[nodiscard]] bool is_idle(boost::system::error_code);

    boost::asio::cancellation_signal cancelled_{};
    unsigned campaigns_ = 0;
};

} // namespace redlock::simulation
