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

/// Prints to standard output.
/// \throws failure, if the output cannot be written
void print(std::string const& text);

/// The tool's output: results go to standard output, everything else to standard error. With --json, each of the two
/// has one object a line. The standard output of `run` and `elect` belongs to the command.
class output {
public:
    explicit output(options const& o) : options_(o) {}

    /// Prints the requested result.
    /// \throws failure, if the output cannot be written
    void result(nlohmann::json const& object, std::string const& text) const;
    /// Reports progress, with -v.
    void note(std::string_view event, std::string const& text, nlohmann::json details) const;
    void warn(std::string_view event, std::string const& text, nlohmann::json details) const;
    /// Reports why the tool ends.
    void fail(failure const&) const;
    /// `eval` of an empty output succeeds, and the script would go on without the lock.
    void fail_in_eval() const;

private:
    void say(std::string_view event, std::string const& text, nlohmann::json details) const;

    options const& options_;
};

[[nodiscard]] nlohmann::json to_json(std::vector<node_outcome> const&);

/// The properties of a lease, for scripts and for the command that runs under it.
struct lease_facts {
    std::string name;
    std::string owner;             ///< the owner token
    std::uint64_t token;           ///< the fencing token; zero: none
    std::string permits;           ///< a semaphore's: "0 3"
    std::chrono::milliseconds ttl; ///< the validity after each extension
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
/// "redis://a, redis://b down (NOAUTH ...); redis://c down (...)": a text that several nodes share is written once.
[[nodiscard]] std::string grouped(std::vector<node_words> const&);
/// `to_string` of the table, grouped in the same way.
[[nodiscard]] std::string short_summary(std::vector<node_outcome> const&);

/// Aligns texts in columns.
[[nodiscard]] std::string table(std::vector<std::vector<std::string>> const& rows);

} // namespace redlock::cli
