// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/redis_server.hpp"
#include "tool.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace redlock::test {

/// Three servers, and what the tool has to be told of them.
struct servers : server_group {
    explicit servers(redis_server_options const& options = {}, std::size_t count = 3)
        : server_group(count, options)
    {
        for (std::string const& url : urls())
            nodes += url + ' ';
    }

    [[nodiscard]] environment env() const
    {
        return {{"REDLOCK_NODES", nodes}, {"REDLOCK_ASSUME_FRESH", "1"}};
    }

    /// The least remaining time of the key on a majority, in milliseconds; negative if there is no majority. A server
    /// that the vote of an ended process did not reach has no key.
    [[nodiscard]] long long pttl(std::string const& name)
    {
        std::vector<long long> times;
        for (probe& p : probes)
            times.push_back(p.pttl(name));
        std::ranges::sort(times);
        return times[(times.size() - 1) / 2];
    }
    /// The renewals of the only lease so far, on the first server: by a script, or by SET, as the vote was before (rule
    /// K8).
    [[nodiscard]] long long renewals()
    {
        return probes[0].command_calls("pexpire") + std::max(0LL, probes[0].command_calls("set") - 1);
    }
    void set(std::string const& name, std::string const& value) { command({"SET", name, value}); }

    std::string nodes;
};

/// Arguments for a shell as the command.
inline std::vector<std::string> run_shell(std::vector<std::string> options, std::string const& script)
{
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"seat", "--", "/bin/sh", "-c", script});
    return options;
}

/// Leaves the command's pid and token when it runs, and waits until it is told to go on.
inline std::string const wait_for_go = "echo $REDLOCK_OWNER > token; echo $$ > pid.new; mv pid.new pid; "
                                       "until [ -e go ]; do sleep 0.02; done; ";

} // namespace redlock::test
