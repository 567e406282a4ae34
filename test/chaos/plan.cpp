#include "chaos/plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace redlock::chaos {

using model::dice;
using namespace std::chrono_literals;

namespace {

// Each draws from a number of its own, so that one more fault changes nobody else.
dice fault_dice(std::uint64_t seed, unsigned number)
{
    return dice(seed << 20U ^ number);
}

dice client_dice(std::uint64_t seed, unsigned client)
{
    return dice(seed << 20U ^ 0x80000U ^ client);
}

milliseconds ms(std::int64_t count)
{
    return milliseconds{count};
}

lock_options draw_options(cast const& all, dice& chance)
{
    lock_options drawn;
    drawn.ttl = chance.one_in(2) ? all.longest_ttl
                                 : ms(chance.between(all.longest_ttl.count() / 3, all.longest_ttl.count()));
    drawn.slack = drawn.ttl / chance.between(4, all.slack_divisor);
    drawn.renew = !chance.one_in(4);
    drawn.tolerate_suspect = chance.one_in(6);
    drawn.node_timeout = ms(chance.between(50, 250));
    if (chance.one_in(8))
        drawn.max_hold = ms(chance.between(all.longest_ttl.count(), 3 * all.longest_ttl.count()));
    return drawn;
}

/// What may befall a server without breaking a condition.
misfortune draw_servers_misfortune(cast const& all, unsigned server, dice& chance)
{
    using enum misfortune;
    static constexpr std::array harmless{stop_server, kill_server,   set_clock, forget_scripts, disconnect,
                                         pause,       out_of_memory, forbid,    back_up};
    static constexpr std::array forgetting{empty_server, follow, read_only, empty_server};
    if (all.durable[server] || !chance.one_in(3))
        return harmless.at(chance.below(harmless.size()));
    // Under a standing connection only fenced locks notice a loss (C3).
    if (all.locks_are == kinds::fenced && chance.one_in(3))
        return flush;
    return forgetting.at(chance.below(forgetting.size()));
}

fault draw_fault(cast const& all, dice& chance)
{
    using enum misfortune;
    fault drawn{.length = ms(chance.between(1, 3000))};
    switch (chance.below(3)) {
    case 0:
        drawn.target = static_cast<unsigned>(chance.below(all.programs));
        drawn.what = std::array{stop_program, stop_program, kill_program, newcomer}.at(chance.below(4));
        break;
    case 1:
        drawn.target = static_cast<unsigned>(chance.below(std::uint64_t{all.servers()} * 2));
        drawn.what = static_cast<misfortune>(chance.below(static_cast<std::uint64_t>(stop_server)));
        break;
    default:
        drawn.target = static_cast<unsigned>(chance.below(all.servers()));
        drawn.what = draw_servers_misfortune(all, drawn.target, chance);
    }
    drawn.amount = chance.next();
    return drawn;
}

/// Targets of different kinds have different numbers.
unsigned number_of_target(fault const& f)
{
    return f.target + 100 * ((f.what >= misfortune::stop_server ? 1U : 0U) +
                             (f.what >= misfortune::stop_program ? 1U : 0U));
}

} // namespace

cast::cast(std::uint64_t its_seed) : seed(its_seed)
{
    dice chance(seed);
    locks_are = static_cast<kinds>(chance.below(3));
    durable.resize(std::array{1U, 3U, 3U, 5U}.at(chance.below(4)));
    programs = static_cast<unsigned>(chance.between(3, 8));
    locks = static_cast<unsigned>(chance.between(1, 4));
    longest_ttl = ms(chance.between(1000, 4000));
    slack_divisor = static_cast<int>(chance.between(4, 10));
    pace = ms(chance.between(200, 2000));
    for (unsigned n = 0; n != servers(); ++n) {
        durable[n] = chance.one_in(4);
        clocks_ahead.push_back(ms(chance.between(-furthest_clock().count(), furthest_clock().count())));
    }
}

std::string cast::describe() const
{
    constexpr std::array<std::string_view, 3> words{"plain", "fenced", "plain and fenced"};
    auto const forgetless = std::ranges::count(durable, true);
    return std::to_string(servers()) + " servers, " + std::to_string(forgetless) + " durable, " +
           std::to_string(programs) + " programs, " + std::to_string(locks) + " locks, " +
           std::string(words.at(static_cast<std::size_t>(locks_are))) + ", of " +
           std::to_string(longest_ttl.count()) + " ms";
}

std::vector<part> draw_parts(cast const& all, unsigned client)
{
    dice chance = client_dice(all.seed, client);
    std::vector<part> parts(static_cast<std::size_t>(chance.between(2, 6)));
    for (part& one : parts) {
        one.lock = static_cast<unsigned>(chance.below(all.locks));
        one.fenced = all.locks_are == kinds::fenced || (all.locks_are == kinds::mixed && chance.one_in(2));
        one.options = draw_options(all, chance);
        one.seed = chance.next();
    }
    return parts;
}

config draw_config(cast const& all, unsigned client, std::vector<std::string> const& nodes)
{
    dice chance(client_dice(all.seed, client).next());
    config settings{.nodes = nodes};
    for (unsigned n = 0; n != all.servers(); ++n)
        if (all.durable[n] && !chance.one_in(3))
            settings.nodes[n] += "?durable=true";
    settings.health.check_interval = 500ms;
    settings.reconnect.max_delay = 1s;
    settings.admission.longest_ttl = all.longest_key();
    settings.assume_fresh = all.may_assume_fresh(client);
    return settings;
}

std::string_view to_string(misfortune what)
{
    constexpr std::array<std::string_view, misfortunes> words{
        "delay",     "hold",          "lose",      "cut",          "dribble",      "reset",
        "refuse",    "black hole",    "stop",      "kill",         "empty",        "follow",
        "read-only", "back up",       "set clock", "flush",        "no scripts",   "disconnect",
        "pause",     "out of memory", "forbid",    "stop program", "kill program", "newcomer"};
    return words.at(static_cast<std::size_t>(what));
}

std::vector<fault> draw_faults(cast const& all, milliseconds length)
{
    std::vector<fault> faults;
    std::map<unsigned, milliseconds> ends;
    milliseconds at{};
    for (unsigned number = 1;; ++number) {
        dice chance = fault_dice(all.seed, number);
        at += ms(chance.between(10, all.pace.count()));
        if (at >= length)
            return faults;
        fault drawn = draw_fault(all, chance);
        milliseconds& busy = ends[number_of_target(drawn)];
        if (at < busy)
            continue;
        drawn.at = at;
        drawn.length = std::min(drawn.length, length - at);
        busy = at + drawn.length;
        faults.push_back(drawn);
    }
}

} // namespace redlock::chaos
