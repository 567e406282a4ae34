// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

/// To standard output.
/// \throws failure, when nobody got it
void print(std::string const& text);

/// Where the tool speaks: results go to standard output, everything else to standard error. With --json either is one
/// object a line. The standard output of `run` and `elect` belongs to the command.
class output {
public:
    explicit output(options const& o) : options_(o) {}

    /// What was asked for.
    /// \throws failure, when nobody got it
    void result(nlohmann::json const& object, std::string const& text) const;
    /// Of what happens, for those who want to know (-v).
    void note(std::string_view event, std::string const& text, nlohmann::json details) const;
    void warn(std::string_view event, std::string const& text, nlohmann::json details) const;
    /// Why it ends.
    void fail(failure const&) const;
    /// Nothing to `eval` would be a success there, and the script would go on without the lock.
    void fail_in_eval() const;

private:
    void say(std::string_view event, std::string const& text, nlohmann::json details) const;

    options const& options_;
};

/// What a shell evaluates when there is no lock.
inline constexpr std::string_view failing_command = "false\n";

[[nodiscard]] nlohmann::json to_json(std::vector<node_outcome> const&);

/// What is told of a lease, to scripts and to the command that runs under it.
struct lease_facts {
    std::string name;
    std::string owner;             ///< the owner token
    std::uint64_t token;           ///< the fencing token; zero: none
    std::string permits;           ///< of a semaphore: "0 3"
    std::chrono::milliseconds ttl; ///< what an extension gives it again
    std::chrono::milliseconds valid_for;
    std::chrono::system_clock::time_point expires_at;

    lease_facts(lease const&, lock_options const&);
    /// "REDLOCK_NAME", "seat:42", and so on.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> variables() const;
    [[nodiscard]] nlohmann::json json() const;
};

[[nodiscard]] std::string shell_quoted(std::string const&);
[[nodiscard]] std::string seconds(std::chrono::duration<double>);

struct node_words {
    std::string node;
    std::string words;
};
/// "redis://a, redis://b down (NOAUTH ...); redis://c down (...)": what several nodes have in common is said once.
[[nodiscard]] std::string grouped(std::vector<node_words> const&);
/// `to_string` of the table, grouped in the same way.
[[nodiscard]] std::string short_summary(std::vector<node_outcome> const&);

/// Long texts, numbers and words in columns.
[[nodiscard]] std::string table(std::vector<std::vector<std::string>> const& rows);

} // namespace redlock::cli
