// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "simulation/schedule.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace redlock::simulation {

using boost::system::error_code;

constexpr duration for_ever = std::chrono::hours{24 * 365};

struct schedule::actor {
    actor(schedule&, program&, subject&, std::string its_name, manner, test::dice);

    void begin();
    /// Runs it on the program's own thread.
    void later(duration pause, std::function<void()> what);
    /// Starts nothing new; pending operations still end.
    void stop();

    /// A pending operation, which must end.
    struct operation {
        std::string what;
        duration until;       ///< at the latest
        duration after_pause; ///< or this time after its process resumed
    };
    unsigned started(std::string what, duration longest, duration after_pause);
    void ended(unsigned number, error_code);
    /// Its program forked, and this is the copy.
    void be_copied();
    /// In a copy of its program: uses what it has, which must end with `errc::forked`.
    void misuse();

    schedule& all;
    program& home;
    subject& about;
    std::vector<subject*> all_about; ///< the same, and those that it wants together with it
    test::dice dice;
    lock_options options;
    fence_options fence;
    manner how;
    std::optional<any_lock> lock;
    std::optional<inspectable_lock> asked{}; ///< the same, of one name
    std::string name;
    lease held{};
    std::map<unsigned, operation> under_way{};
    std::optional<std::uint64_t> ticket{}; ///< while it waits: its number among the waiters of its program
    unsigned overtaken = 0;                ///< meanwhile, by later waiters of its program
    duration came{};
    unsigned rivals = 0; ///< number of actors that had the lock or waited for it then
    std::optional<duration> invalid_since{};
    duration held_since{};
    bool served = false; ///< since it was last asked
    bool told = false;
    bool over = false;

private:
    /// Begins an operation whose end is only noted.
    auto noted(std::string what, duration longest)
    {
        auto const number = started(what, longest, longest);
        return [this, what = std::move(what), number](error_code ec, auto&&...) {
            ended(number, ec);
            all.note(name + "'s " + what + ": " + ec.message());
        };
    }
    [[nodiscard]] bool had_ended(unsigned number) const;
    [[nodiscard]] unsigned draw_count();
    void want_others_too();
    [[nodiscard]] std::vector<std::string> names() const;
    void acquire_and_leave(unsigned number);
    void acquired(unsigned number, error_code, lease);
    void hold();
    void use();
    void use(subject&);
    void extend();
    void downgrade();
    void let_go();
    void come_again(duration pause);
    void abandon();
    void bequeath();
    [[nodiscard]] bool may_adopt(subject::bequest const&) const;
    [[nodiscard]] lease adopted(subject::bequest const&) const;
    void adopt(subject::bequest const&);

    boost::asio::cancellation_signal cancelled_{};
    unsigned operations_ = 0;
    unsigned current_ = 0;     ///< that lease's end
    unsigned before_copy_ = 0; ///< the last one that had begun
    lease adopted_{};          ///< and not confirmed yet
};

} // namespace redlock::simulation
