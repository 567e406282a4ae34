// SPDX-License-Identifier: BSL-1.0
#include "model/small_world.hpp"

#include <array>

namespace redlock::model {

namespace {

using what = small_world::message::kind;
using kind = action::kind;

std::string client_name(unsigned c)
{
    return c == 0 ? "A" : "B";
}

std::string node_name(unsigned n)
{
    return "node " + std::to_string(n + 1);
}

std::string name_of(small_world::message const& m, unsigned c)
{
    constexpr std::array names{"nothing", "vote", "raise", "extension", "release"};
    std::string text = client_name(c) + "'s " + names[static_cast<std::size_t>(m.what)] + " of attempt " +
                       std::to_string(m.attempt);
    if (m.what == what::extend)
        text += ", round " + std::to_string(m.round);
    if (m.number != 0)
        text += m.answered ? " (" + std::to_string(m.number) + ")" : " with " + std::to_string(m.number);
    return text + (m.copy ? ", a copy" : "");
}

std::string state_of(small_world const& w, unsigned c)
{
    constexpr std::array states{"does nothing", "votes", "holds", "is done"};
    constexpr std::array phases{"held", "suspect", "lost", "released"};
    auto const& me = w.clients[c];
    std::string text = states[static_cast<std::size_t>(me.now)];
    if (me.now == small_world::client::doing::holding) {
        text += " (" + std::string(phases[static_cast<std::size_t>(me.lease.phase())]) + " until " +
                std::to_string(me.lease.deadline().boot / std::chrono::milliseconds{1}) + " ms";
        text += me.token != 0 ? ", token " + std::to_string(me.token) + ")" : ")";
    }
    return text;
}

std::string state_of(small_node const& n)
{
    std::string text = n.lock.exists() ? "key of nonce " + std::to_string(n.lock.value) : "no key";
    if (n.counter.exists())
        text += ", fence " + std::to_string(n.counter.value);
    return text;
}

} // namespace

std::string small_steps::tell(small_world const& before, action a, small_world const& after) const
{
    auto const& m = before.lines[a.client][a.node][a.slot];
    std::string text = "t=" + std::to_string(before.now) + "  ";
    std::string const who = client_name(a.client);
    std::string const node = node_name(a.node) + " (" + state_of(after.nodes[a.node].data) + ")";
    std::string const state = ": " + who + " " + state_of(after, a.client);
    switch (a.what) {
    case kind::start:
        return text + who + " starts attempt " + std::to_string(after.clients[a.client].attempt_number) +
               ", nonce " + std::to_string(nonce_of(a.client, after.clients[a.client].attempt_number));
    case kind::give_up_attempt: return text + who + " waits no longer for votes" + state;
    case kind::begin_round: return text + who + " starts a round of extensions";
    case kind::end_round: return text + who + " waits no longer for extensions" + state;
    case kind::release: return text + who + " releases";
    case kind::look_at_clock: return text + who + " looks at its clock" + state;
    case kind::execute:
        return text + node + " executes " + name_of(m, a.client) + ", which reads the answer" + state;
    case kind::execute_late:
        return text + node + " executes " + name_of(m, a.client) + "; the answer is late";
    case kind::execute_lost:
        return text + node + " executes " + name_of(m, a.client) + "; the answer is lost";
    case kind::execute_twice: return text + node + " executes, for the first time, " + name_of(m, a.client);
    case kind::delay: return text + name_of(m, a.client) + " to " + node_name(a.node) + " is delayed";
    case kind::lose: return text + name_of(m, a.client) + " to " + node_name(a.node) + " is lost";
    case kind::read:
        return text + who + " reads " + node_name(a.node) + "'s answer to " + name_of(m, a.client) + state;
    case kind::tick: return text + "a tick";
    case kind::restart: return text + node + " restarts without data";
    case kind::step_clock: return text + node + "'s clock steps forward by a tick";
    case kind::expire: return text + node + ": the key expires";
    }
    return text;
}

char const* small_steps::flaw(small_world const& w)
{
    constexpr std::array names{static_cast<char const*>(nullptr),
                               "two leases are valid at once",
                               "the token is not larger than one granted before",
                               "extended although a larger token had been granted",
                               "a lost or released lease came back",
                               "extended although another was granted since",
                               "granted without time left",
                               "extended without time left",
                               "a definite loss was not told"};
    return names[static_cast<std::size_t>(w.broken)];
}

} // namespace redlock::model
