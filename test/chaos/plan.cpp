// SPDX-License-Identifier: BSL-1.0
#include "chaos/plan.hpp"

#include "chaos/journal.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace redlock::chaos {

using test::dice;
using namespace std::chrono_literals;

namespace {

using names = std::vector<std::string_view>;
/// Seeds up to this one have only what there was when they were tried (docs/ledger.md).
constexpr std::uint64_t known_seeds = 205;

names const on_ways{"delay", "hold", "lose", "cut", "dribble", "reset", "refuse", "black hole"};
names const on_later_ways{"delay", "hold",   "lose",       "cut",          "dribble",
                          "reset", "refuse", "black hole", "lose packets", "lose packets"};
names const of_programs{"stop program", "stop program", "kill program", "newcomer"};
names const of_servers{"stop",  "kill",          "set clock", "forget scripts", "disconnect",
                       "pause", "out of memory", "forbid",    "back up"};
names const of_groups{"fail over", "kill master", "stop master"};
names const of_servers_that_forget{"empty", "empty", "follow", "read-only"};

template <class List>
auto one_of(dice& chance, List const& list)
{
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(chance.below(std::size(list))));
}

milliseconds between(dice& chance, milliseconds low, milliseconds high)
{
    return milliseconds{chance.between(low.count(), high.count())};
}

lock_options draw_options(cast const& all, dice& chance)
{
    lock_options drawn;
    drawn.ttl = chance.one_in(2) ? all.longest_ttl : between(chance, all.longest_ttl / 3, all.longest_ttl);
    drawn.slack = drawn.ttl / chance.between(4, all.slack_divisor);
    drawn.renew = !chance.one_in(4);
    drawn.tolerate_suspect = chance.one_in(6);
    drawn.node_timeout = between(chance, drawn.ttl / 8, drawn.ttl / 3);
    if (chance.one_in(8))
        drawn.max_hold = between(chance, all.longest_ttl, 3 * all.longest_ttl);
    return drawn;
}

manner draw_manner(cast const& all, dice& chance)
{
    switch (all.locks_are) {
    case kinds::plain: return manner::plainly;
    case kinds::fenced: return manner::fenced;
    case kinds::mixed: return chance.one_in(2) ? manner::fenced : manner::plainly;
    case kinds::fenced_shared: return chance.one_in(3) ? manner::fenced_writing : manner::fenced_reading;
    case kinds::sets: return chance.one_in(3) ? manner::plainly : manner::together;
    case kinds::fenced_sets: return chance.one_in(3) ? manner::fenced : manner::fenced_together;
    case kinds::permits: return manner::sharing_out;
    case kinds::fenced_permits: return manner::fenced_sharing_out;
    case kinds::shared: break;
    }
    return chance.one_in(6) ? manner::plainly : chance.one_in(3) ? manner::writing : manner::reading;
}

void draw_companions(cast const& all, part& one, dice& chance)
{
    for (unsigned lock = 0; lock != all.locks; ++lock)
        if (lock != one.lock &&
            (chance.one_in(2) || all.leases_are_adopted)) // by actors that want the same names
            one.others.push_back(lock);
    if (one.others.empty())
        one.others.push_back((one.lock + 1) % all.locks);
}

/// Other seeds mean what they meant when there were fewer kinds.
kinds kinds_of(std::uint64_t seed, kinds drawn)
{
    bool const even = seed % 2 == 0;
    if (drawn == kinds::mixed && even)
        return seed % 4 == 0 ? kinds::permits : kinds::fenced_permits;
    if (drawn == kinds::plain)
        return even ? kinds::shared : seed % 4 == 1 ? kinds::sets : kinds::plain;
    if (drawn == kinds::fenced)
        return even ? kinds::fenced_shared : seed % 4 == 1 ? kinds::fenced_sets : kinds::fenced;
    return drawn;
}

/// Within the conditions of docs/protocol.md.
std::string_view draw_for_server(cast const& all, unsigned server, dice& chance)
{
    if (all.durable[server] || !chance.one_in(3))
        return one_of(chance, of_servers);
    // Under a standing connection only fenced locks notice a loss (C3).
    bool const may_flush = all.is_fenced_without_readers() && chance.one_in(3);
    return may_flush ? "flush" : one_of(chance, of_servers_that_forget);
}

fault draw_fault(cast const& all, dice& chance)
{
    fault drawn{.length = between(chance, 1ms, 3s), .whose = static_cast<fault::victim>(chance.below(3))};
    std::array const victims{2 * all.servers(), all.servers(), all.programs};
    drawn.target = static_cast<unsigned>(chance.below(victims.at(static_cast<std::size_t>(drawn.whose))));
    drawn.what = drawn.whose == fault::victim::way
                     ? one_of(chance, all.seed > known_seeds ? on_later_ways : on_ways)
                 : drawn.whose == fault::victim::program ? one_of(chance, of_programs)
                                                         : draw_for_server(all, drawn.target, chance);
    drawn.amount = chance.next();
    bool const is_stop = drawn.what == "stop" || drawn.what == "stop program";
    if (all.seed > known_seeds && is_stop && chance.one_in(3))
        drawn.length = all.longest_key() + between(chance, 1ms, 1s);
    return drawn;
}

/// A new master waits for many seconds before it votes.
void draw_faults_of_group(cast const& all, milliseconds length, std::vector<fault>& faults)
{
    milliseconds at{};
    for (unsigned number = 1;; ++number) {
        dice chance(all.seed << 20U ^ 0xb0000U ^ number);
        at += between(chance, 4s, 15s);
        if (at >= length)
            return;
        milliseconds const lasts = std::min(between(chance, 1s, 4s), length - at);
        faults.push_back(
            {.at = at, .length = lasts, .whose = fault::victim::group, .what = one_of(chance, of_groups)});
        at += lasts;
    }
}

std::vector<fault> draw_other_faults(cast const& all, milliseconds length)
{
    std::vector<fault> faults;
    std::map<std::pair<fault::victim, unsigned>, milliseconds> ends;
    milliseconds at{};
    for (unsigned number = 1;; ++number) {
        dice chance(all.seed << 20U ^ number); // its own: one fault more changes no other
        at += between(chance, 10ms, all.pace);
        if (at >= length)
            return faults;
        fault drawn = draw_fault(all, chance);
        milliseconds& end = ends[{drawn.whose, drawn.target}];
        if (at < end)
            continue;
        drawn.at = at;
        drawn.length = std::min(drawn.length, length - at);
        end = at + drawn.length;
        faults.push_back(drawn);
    }
}

} // namespace

cast::cast(std::uint64_t its_seed)
    : seed(its_seed), locks_are(static_cast<kinds>(chance.below(3))),
      durable(one_of(chance, std::array<std::size_t, 4>{1, 3, 3, 5})),
      programs(static_cast<unsigned>(chance.between(3, 8))),
      locks(static_cast<unsigned>(chance.between(1, 4))), longest_ttl(between(chance, 1s, 4s)),
      slack_divisor(static_cast<int>(chance.between(4, 10))), pace(between(chance, 200ms, 2s))
{
    locks_are = kinds_of(seed, locks_are);
    if (locks_are == kinds::sets || locks_are == kinds::fenced_sets)
        locks = std::max(locks, 2U);
    for (unsigned n = 0; n != servers(); ++n) {
        durable[n] = chance.one_in(4);
        clocks_ahead.push_back(between(chance, -furthest_clock(), furthest_clock()));
    }
    permits = static_cast<unsigned>(chance.between(1, 6));
    if (seed > known_seeds)
        draw_more();
}

/// An observer of an election does not notice that a server with which it is connected has lost all data.
void cast::draw_more()
{
    dice more(seed << 20U ^ 0xa0000U);
    has_election = !more.one_in(3) && !is_fenced_without_readers();
    leases_are_adopted = more.one_in(2) && locks_are < kinds::permits;
    has_group = more.one_in(4);
    auto const node = static_cast<unsigned>(more.below(nodes()));
    if (nodes() > 1 && more.one_in(2))
        spare_node = node;
}

bool cast::is_fenced_without_readers() const
{
    return locks_are == kinds::fenced || locks_are == kinds::fenced_sets ||
           locks_are == kinds::fenced_permits;
}

std::string cast::describe() const
{
    constexpr std::array<std::string_view, 9> words{
        "plain",
        "fenced",
        "plain and fenced",
        "readers and writers",
        "readers and writers with tokens",
        "sets",
        "sets with tokens",
        "permits",
        "permits with tokens",
    };
    bool const of_permits = locks_are == kinds::permits || locks_are == kinds::fenced_permits;
    return "seed " + std::to_string(seed) + ": " + std::to_string(servers()) + " servers, " +
           std::to_string(std::ranges::count(durable, true)) + " durable, " + std::to_string(programs) +
           " programs, " + std::to_string(locks) + " locks, " +
           (of_permits ? std::to_string(permits) + ' ' : "") +
           std::string(words.at(static_cast<std::size_t>(locks_are))) + ", of " +
           std::to_string(longest_ttl.count()) + " ms" + (has_group ? ", a group" : "") +
           (has_election ? ", an election" : "") + (leases_are_adopted ? ", adoptions" : "") +
           (spare_node ? ", changes of nodes" : "");
}

std::vector<part> draw_parts(cast const& all, unsigned program)
{
    dice chance(all.seed << 20U ^ 0x80000U ^ program);
    std::vector<part> parts(static_cast<std::size_t>(chance.between(2, 6)));
    for (part& one : parts) {
        one.lock = static_cast<unsigned>(chance.below(all.locks));
        one.how = draw_manner(all, chance);
        one.options = draw_options(all, chance);
        if (takes_several(one.how))
            draw_companions(all, one, chance);
        if (takes_permits(one.how) && chance.one_in(4))
            one.count = static_cast<unsigned>(chance.between(1, all.permits));
        one.chance = dice(chance.next());
    }
    if (all.has_election)
        parts.push_back({.lock = election_lock,
                         .how = manner::leading,
                         .options = draw_options(all, chance),
                         .chance = dice(chance.next())});
    return parts;
}

/// That a server never forgets is true, or is not said.
config draw_config(cast const& all, unsigned program, std::vector<std::string> nodes)
{
    for (unsigned n = 0; n != all.servers(); ++n)
        if (all.durable[n] && program % 3 != 0)
            nodes[n] += "?durable=true";
    config settings{.nodes = std::move(nodes)};
    settings.health.check_interval = 500ms;
    settings.reconnect.max_delay = 1s;
    settings.admission.longest_ttl = all.longest_key();
    return settings;
}

std::vector<fault> draw_faults(cast const& all, milliseconds length)
{
    std::vector<fault> faults = draw_other_faults(all, length);
    if (all.has_group)
        draw_faults_of_group(all, length, faults);
    std::ranges::stable_sort(faults, {}, &fault::at);
    return faults;
}

} // namespace redlock::chaos
