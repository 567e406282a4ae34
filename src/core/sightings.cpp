// SPDX-License-Identifier: BSL-1.0
#include "core/sightings.hpp"

#include "core/tally.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace redlock::core {

namespace {

/// Returns when a majority of these times will be over.
template <class Time>
duration end_of_majority(std::span<key_sighting const> nodes, Time time)
{
    std::array<duration, max_nodes> ends;
    auto const end = std::ranges::transform(nodes, ends.begin(), time).out;
    auto const last_needed = ends.begin() + majority(static_cast<unsigned>(nodes.size())) - 1;
    std::nth_element(ends.begin(), last_needed, end);
    return *last_needed;
}

/// Readers are one party: they do not exclude each other.
bool is_held(key_sighting const& one)
{
    return one.what == key_sighting::kind::owned || one.what == key_sighting::kind::several;
}

/// Finds the owner that most nodes name.
void count_owners(std::span<key_sighting const> nodes, lock_verdict& said)
{
    for (unsigned i = 0; i != nodes.size(); ++i) {
        if (!is_held(nodes[i]))
            continue;
        auto const votes = static_cast<unsigned>(std::ranges::count_if(nodes, [&](key_sighting const& other) {
            return other.what == nodes[i].what && other.owner == nodes[i].owner;
        }));
        if (votes <= said.votes)
            continue;
        said.votes = votes;
        said.witness = i;
    }
}

} // namespace

lock_verdict judge(std::span<key_sighting const> nodes) noexcept
{
    assert(!nodes.empty() && nodes.size() <= max_nodes);
    auto const count = [&](key_sighting::kind what) {
        return static_cast<unsigned>(std::ranges::count(nodes, what, &key_sighting::what));
    };
    lock_verdict said{.free = count(key_sighting::kind::absent)};
    count_owners(nodes, said);
    said.taken_at_least = end_of_majority(nodes, &key_sighting::lives_at_least);
    auto const at_most = [](key_sighting const& s) { return s.lives_at_most.value_or(duration::max()); };
    if (duration const end = end_of_majority(nodes, at_most); end != duration::max())
        said.taken_at_most = end;

    unsigned const unknown = count(key_sighting::kind::unknown);
    unsigned const needed = majority(static_cast<unsigned>(nodes.size()));
    if (said.votes >= needed)
        said.status = lock_status::held;
    else if (said.free >= needed)
        said.status = lock_status::free;
    else if (said.votes + unknown < needed && said.free + unknown < needed)
        said.status = lock_status::blocked;
    return said;
}

} // namespace redlock::core
