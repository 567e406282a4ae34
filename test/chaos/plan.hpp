// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/dice.hpp"
#include <redlock/config.hpp>
#include <redlock/lock_options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Everything that is drawn from a seed: the programs, and the faults with their victims and times.
namespace redlock::chaos {

using std::chrono::milliseconds;

enum class kinds : std::uint8_t {
    plain,
    fenced,
    mixed,
    shared,
    fenced_shared,
    sets,
    fenced_sets,
    permits,
    fenced_permits
};
enum class manner : std::uint8_t {
    plainly,
    fenced,
    reading,
    writing,
    fenced_reading,
    fenced_writing,
    together, ///< several names
    fenced_together,
    sharing_out, ///< some of a lock's permits
    fenced_sharing_out,
    leading ///< the election
};

[[nodiscard]] constexpr bool takes_turns(manner how)
{
    return how >= manner::reading && how <= manner::fenced_writing;
}
[[nodiscard]] constexpr bool takes_several(manner how)
{
    return how == manner::together || how == manner::fenced_together;
}
[[nodiscard]] constexpr bool takes_permits(manner how)
{
    return how == manner::sharing_out || how == manner::fenced_sharing_out;
}

/// A reader's lease and one of permits have no `adopt`.
[[nodiscard]] constexpr bool may_be_adopted(manner how)
{
    return how <= manner::fenced_together && how != manner::reading && how != manner::fenced_reading;
}
[[nodiscard]] constexpr bool has_token(manner how)
{
    return how == manner::fenced || how == manner::fenced_reading || how == manner::fenced_writing ||
           how == manner::fenced_together || how == manner::fenced_sharing_out || how == manner::leading;
}

struct cast {
    explicit cast(std::uint64_t its_seed);

    std::uint64_t seed;
    test::dice chance{seed};
    kinds locks_are;
    std::vector<bool> durable; ///< one for each server: it never forgets
    std::vector<milliseconds> clocks_ahead{};
    unsigned programs; ///< at the same time
    unsigned locks;
    unsigned permits{}; ///< in each lock that has permits
    milliseconds longest_ttl;
    int slack_divisor; ///< divides the longest ttl: a third of it by this is the smallest slack
    milliseconds pace; ///< the longest pause between two faults
    bool has_election = false;
    bool has_group = false;               ///< one node more: a group of servers that Sentinels watch
    bool leases_are_adopted = false;      ///< some leases are left behind, for others to adopt
    std::optional<unsigned> spare_node{}; ///< programs take it out of their lists and put it back

    [[nodiscard]] unsigned servers() const { return static_cast<unsigned>(durable.size()); }
    [[nodiscard]] unsigned nodes() const { return servers() + (has_group ? 1U : 0U); }
    [[nodiscard]] bool is_fenced_without_readers() const;
    [[nodiscard]] std::string describe() const;
    /// On its server's clock.
    [[nodiscard]] milliseconds longest_key() const { return longest_ttl + longest_ttl / 4; }
    [[nodiscard]] milliseconds smallest_slack() const { return longest_ttl / 3 / slack_divisor; }
    /// How far a server's clock may be from this machine's. T2 asks for half a quarantine.
    [[nodiscard]] milliseconds furthest_clock() const { return longest_ttl / 6; }

private:
    void draw_more();
};

/// One actor that wants a lock again and again.
struct part {
    unsigned lock = 0;
    std::vector<unsigned> others{}; ///< locks that it wants with this one
    unsigned count = 1;             ///< permits
    manner how = manner::plainly;
    lock_options options{};
    test::dice chance{0}; ///< for its decisions
};
[[nodiscard]] std::vector<part> draw_parts(cast const&, unsigned program);
[[nodiscard]] config draw_config(cast const&, unsigned program, std::vector<std::string> nodes);

struct fault {
    enum class victim : std::uint8_t { way, server, program, group };

    milliseconds at{};
    milliseconds length{};
    victim whose = victim::way;
    /// The number of a server or of a program; for a proxy, twice its server's number, and one more for the second.
    unsigned target = 0;
    std::string_view what{};
    std::uint64_t amount = 0; ///< a further choice

    friend bool operator==(fault const&, fault const&) = default;
};
/// In the order of their beginnings. A victim's fault has ended before its next one begins.
[[nodiscard]] std::vector<fault> draw_faults(cast const&, milliseconds length);

} // namespace redlock::chaos
