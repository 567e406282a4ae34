// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "servers.hpp"
#include "tool.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace redlock::test {

/// The report of `redlock doctor` about these servers.
struct doctor_report {
    explicit doctor_report(std::string const& urls, std::vector<std::string> const& more = {},
                           bool fresh = true)
    {
        std::vector<std::string> arguments{"doctor", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        environment variables{{"REDLOCK_NODES", urls}};
        if (fresh)
            variables["REDLOCK_ASSUME_FRESH"] = "1";
        finished_run const run(arguments, variables);
        status = run.status;
        told = nlohmann::json::parse(run.out);
    }

    /// The severity of what was found; empty where it was not.
    [[nodiscard]] std::string found(std::string const& id, std::string const& node = "") const
    {
        auto const* const one = find(id, node);
        return one ? one->at("severity").get<std::string>() : "";
    }
    /// Returns the text of a finding.
    [[nodiscard]] std::string words(std::string const& id, std::string const& node = "") const
    {
        auto const* const one = find(id, node);
        return one ? one->at("what").get<std::string>() : "";
    }

    /// The severity in the form of the exit status, without findings that a busy machine causes.
    [[nodiscard]] int gravest() const
    {
        int all = 0;
        for (nlohmann::json const& one : told.at("findings"))
            if (one.at("id") != "slow")
                all = std::max(all, one.at("severity") == "error"     ? 2
                                    : one.at("severity") == "warning" ? 1
                                                                      : 0);
        return all;
    }

    int status;
    nlohmann::json told;

private:
    [[nodiscard]] nlohmann::json const* find(std::string const& id, std::string const& node) const
    {
        for (nlohmann::json const& one : told.at("findings"))
            if (one.at("id") == id && (node.empty() || one.at("node") == node))
                return &one;
        return nullptr;
    }
};

inline std::vector<std::string> const durably{"--appendonly", "yes", "--appendfsync", "always"};

/// The servers' URLs with `durable`.
inline std::string called_durable(servers const& some)
{
    std::string nodes;
    for (auto const& server : some)
        nodes += server->url() + "?durable=true ";
    return nodes;
}

} // namespace redlock::test
