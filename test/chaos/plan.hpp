#pragma once

#include "model/dice.hpp"
#include <redlock/config.hpp>
#include <redlock/lock_options.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// All that is drawn from a seed: who takes part, and what befalls whom, and when.
namespace redlock::chaos {

using std::chrono::milliseconds;

enum class kinds : std::uint8_t { plain, fenced, mixed };

/// What each process of a run draws for itself from its seed.
struct cast {
    explicit cast(std::uint64_t its_seed);

    std::uint64_t seed;
    kinds locks_are;
    std::vector<bool> durable; ///< one for each server: it never forgets
    std::vector<milliseconds> clocks_ahead;
    unsigned programs; ///< at once
    unsigned locks;
    milliseconds longest_ttl;
    int slack_divisor; ///< of a ttl, for the smallest slack
    milliseconds pace; ///< the longest pause between two faults

    [[nodiscard]] unsigned servers() const { return static_cast<unsigned>(durable.size()); }
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] std::string name_of_lock(unsigned lock) const { return "lock-" + std::to_string(lock + 1); }
    /// A key lives no longer on a server's clock.
    [[nodiscard]] milliseconds longest_key() const { return longest_ttl + longest_ttl / 4; }
    [[nodiscard]] milliseconds smallest_slack() const { return longest_ttl / 3 / slack_divisor; }
    /// The furthest that a server's clock is from this machine's. T2 asks for half a quarantine.
    [[nodiscard]] milliseconds furthest_clock() const { return longest_ttl / 6; }
    /// Servers are new, and it is there before anything happens to them.
    [[nodiscard]] bool may_assume_fresh(unsigned client) const
    {
        return client < programs && client % 3 == 0;
    }
};

/// One who wants a lock, again and again.
struct part {
    unsigned lock = 0;
    bool fenced = false;
    lock_options options{};
    std::uint64_t seed = 0; ///< of what it does
};
[[nodiscard]] std::vector<part> draw_parts(cast const&, unsigned client);
[[nodiscard]] config draw_config(cast const&, unsigned client, std::vector<std::string> const& nodes);

enum class misfortune : std::uint8_t {
    // of one of the two ways to a server
    delay,
    hold,
    lose,
    cut,
    dribble,
    reset,
    refuse,
    black_hole,
    // of a server
    stop_server,
    kill_server,
    empty_server,
    follow,
    read_only,
    back_up,
    set_clock,
    flush,
    forget_scripts,
    disconnect,
    pause,
    out_of_memory,
    forbid,
    // of a program
    stop_program,
    kill_program,
    newcomer,
};
inline constexpr std::size_t misfortunes = 24;
[[nodiscard]] std::string_view to_string(misfortune);

struct fault {
    milliseconds at{};
    milliseconds length{};
    misfortune what = misfortune::delay;
    unsigned target =
        0; ///< a server; a program's place; a way: twice the server's number, and one more for the second
    std::uint64_t amount = 0; ///< what else is to be chosen

    friend bool operator==(fault const&, fault const&) = default;
};

/// In the order of their beginnings. Of what befalls one target, nothing begins before the last has ended.
[[nodiscard]] std::vector<fault> draw_faults(cast const&, milliseconds length);

} // namespace redlock::chaos
