// SPDX-License-Identifier: BSL-1.0
#include "chaos/wanted.hpp"

#include "chaos/journal.hpp"
#include <redlock/redlock.hpp>

#include <string>
#include <vector>

namespace redlock::chaos {

namespace {

std::vector<std::string> names_of(part const& mine)
{
    std::vector<std::string> names{name_of_thing(thing_of(mine.lock))};
    for (unsigned const other : mine.others)
        names.push_back(name_of_thing(thing_of(other)));
    return names;
}

} // namespace

wanted make_lock(client& locks, unsigned permits, part const& mine)
{
    auto const names = names_of(mine);
    std::string const& name = names.front();
    switch (mine.how) {
    case manner::plainly: break;
    case manner::leading: return election(locks, name, mine.options);
    case manner::fenced: return fenced_mutex(locks, name, mine.options);
    case manner::reading: return shared_mutex(locks, name, mine.options).shared();
    case manner::writing: return shared_mutex(locks, name, mine.options);
    case manner::fenced_reading: return fenced_shared_mutex(locks, name, mine.options).shared();
    case manner::fenced_writing: return fenced_shared_mutex(locks, name, mine.options);
    case manner::together: return multi_mutex(locks, names, mine.options);
    case manner::fenced_together: return fenced_multi_mutex(locks, names, mine.options);
    case manner::sharing_out: return semaphore(locks, name, permits, mine.options).taking(mine.count);
    case manner::fenced_sharing_out:
        return fenced_semaphore(locks, name, permits, mine.options).taking(mine.count);
    }
    return mutex(locks, name, mine.options);
}

lease adopt(client& locks, part const& mine, left_lease const& left)
{
    auto const names = names_of(mine);
    switch (mine.how) {
    case manner::fenced: return fenced_mutex(locks, names[0], mine.options).adopt(left.nonce, left.token);
    case manner::writing: return shared_mutex(locks, names[0], mine.options).adopt(left.nonce);
    case manner::fenced_writing:
        return fenced_shared_mutex(locks, names[0], mine.options).adopt(left.nonce, left.token);
    case manner::together: return multi_mutex(locks, names, mine.options).adopt(left.nonce);
    case manner::fenced_together:
        return fenced_multi_mutex(locks, names, mine.options).adopt(left.nonce, left.token);
    default: return mutex(locks, names[0], mine.options).adopt(left.nonce);
    }
}

} // namespace redlock::chaos
