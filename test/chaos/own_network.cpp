// SPDX-License-Identifier: BSL-1.0
#include "chaos/own_network.hpp"

#include "kit/child_process.hpp"

#include <sched.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace redlock::chaos {

namespace {

bool ip(std::vector<std::string> const& words)
{
    std::vector<std::string> command{"/usr/bin/env", "ip"};
    command.insert(command.end(), words.begin(), words.end());
    constexpr int longest = 10'000;
    test::child_process process(command, "/dev/null");
    return process.ended_within(longest) && process.exit_status() == 0;
}

/// Routes are looked up after the first rules, so a rule can lose packets that go to this machine itself.
bool prepare()
{
    return ip({"link", "set", "lo", "up"}) && ip({"rule", "add", "pref", "100", "lookup", "local"}) &&
           ip({"rule", "del", "pref", "0"});
}

void change_rule(char const* what, std::uint16_t port, test::direction way)
{
    std::string const side = way == test::direction::to_server ? "dport" : "sport";
    if (!ip({"rule", what, "pref", "10", "ipproto", "tcp", side, std::to_string(port), "blackhole"}))
        throw std::runtime_error("ip rule " + std::string(what) + " fails");
}

} // namespace

own_network::own_network() : entered_(ip({"-Version"}) && ::unshare(CLONE_NEWNET) == 0)
{
    if (entered_ && !prepare())
        throw std::runtime_error("the network namespace cannot be set up");
}

void own_network::cut(std::uint16_t port, test::direction way) const
{
    change_rule("add", port, way);
}

void own_network::mend(std::uint16_t port, test::direction way) const
{
    change_rule("del", port, way);
}

} // namespace redlock::chaos
