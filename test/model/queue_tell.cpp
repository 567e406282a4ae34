// SPDX-License-Identifier: BSL-1.0
#include "model/queue_steps.hpp"

#include <array>

namespace redlock::model {

namespace {

using world = queue_world;

std::string letter_of(queue_scope const& s, unsigned a)
{
    return s.attempts[a] + std::to_string(a);
}

std::string entry_of(world::entry const& has)
{
    if (has.what == world::exclusive)
        return " alone";
    return has.what == world::reader ? " reads"
                                     : " permits " + std::to_string(has.what >> world::first_permit);
}

std::string holders_of(queue_scope const& s, world const& w, unsigned node)
{
    std::string text = "; node " + std::to_string(node) + ":";
    for (unsigned a = 0; s.attempts[a] != 0; ++a)
        if (auto const& has = w.attempts[a].at[node].has; has.exists())
            text += " " + letter_of(s, a) + entry_of(has) + "<" + std::to_string(has.end);
    return text + (w.quarantined_until[node] != 0 ? " quarantined" : "");
}

std::string state_of(queue_scope const& s, world const& w, unsigned a)
{
    constexpr std::array states{"-", "asks", "waits", "HOLDS", "is over"};
    auto const& me = w.attempts[a];
    std::string text = "; " + letter_of(s, a) + " " + states[static_cast<std::size_t>(me.now)];
    if (me.now == world::doing::holds)
        text += std::string(me.reads != 0 ? " as reader" : "") + "<" + std::to_string(me.until);
    if (me.permits != 0)
        text += " permits " + std::to_string(me.permits >> world::first_permit);
    if (me.place != 0)
        text += " place " + std::to_string(me.place);
    if (me.called_by != 0)
        text += " called by " + letter_of(s, me.called_by - 1U);
    if (me.previous_owner != 0)
        text += " from " + letter_of(s, me.previous_owner - 1U);
    return text;
}

} // namespace

/// The action names attempts and nodes as they are before it; states that are alike are one, so their names may change.
std::string queue_steps::tell(world const& before, action a, world const& after) const
{
    constexpr std::array names{"a tick",
                               "asks all nodes",
                               "enters",
                               "is called",
                               "finds that it was called",
                               "votes for both names",
                               "leaves",
                               "vote executed",
                               "second copy of the vote executed",
                               "chooses these permits",
                               "sends: exactly these",
                               "exactly these executed",
                               "wins",
                               "gives up",
                               "sends the claim again",
                               "extends",
                               "downgrades",
                               "extension executed",
                               "extension confirmed",
                               "releases",
                               "releases a shared nonce",
                               "takes a late vote back",
                               "release executed",
                               "position lost",
                               "restart",
                               "clock steps"};
    std::string text = "t=" + std::to_string(before.now) + " " + letter_of(scope_, a.attempt) + " at " +
                       std::to_string(a.node) + ": " + names[static_cast<std::size_t>(a.what)];
    for (unsigned node = 0; node != queue_nodes; ++node)
        text += holders_of(scope_, after, node);
    for (unsigned each = 0; scope_.attempts[each] != 0; ++each)
        text += state_of(scope_, after, each);
    return text;
}

} // namespace redlock::model
