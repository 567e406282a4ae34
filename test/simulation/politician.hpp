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

/// Campaigns in the schedule's one election, leads, and always wants to know who does.
struct schedule::politician {
    politician(schedule&, program&, std::string its_name, test::dice);

    void begin();
    /// Nothing new; what is under way still ends.
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
    std::string value{};        ///< of its last campaign
    std::uint64_t revision = 0; ///< that a majority has
    std::uint64_t said = 0;     ///< the last one that it began to proclaim
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
