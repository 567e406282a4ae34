// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/answer.hpp"
#include "cli/lock_use.hpp"
#include "cli/query.hpp"
#include "redis/command.hpp"
#include <redlock/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

enum class severity : std::uint8_t {
    info,    ///< good to know
    warning, ///< locks work, but slower or less safely than they could
    error,   ///< this node does not vote, or locks are not safe
};

[[nodiscard]] std::string_view to_string(severity) noexcept;

struct finding {
    std::string id; ///< a word to search for: "eviction"
    severity grade;
    std::string node; ///< empty: all of them
    std::string what;
    std::string advice;
};

/// The questions to every node, in this order.
enum class question : std::uint8_t {
    info,
    save,
    stop_writes,
    min_replicas,
    tracking,
    vote,
    pttl,
    get,
    extend,
    release,
    by_hash, ///< a script, called by its hash
    native_extend, ///< by a command, if the server compares by itself (rule K8); other servers are asked by the script
                   ///< again
    native_release,
    mget,
    fence,
    holder,
    lock_left,
    whose, ///< readers or permit holders of the lock's key, if it is no string
    mark   ///< only to leave the marker; without it, trials begin here
};

[[nodiscard]] inline answer const& said(interview const& node, question q)
{
    return node.answers[static_cast<std::size_t>(q)];
}

/// Is there an answer of a kind that no server gives to these commands?
[[nodiscard]] bool is_strange(interview const&);

/// True if the user may run the command, but not on the key.
[[nodiscard]] bool is_about_keys(answer const&);

struct examination;

/// True if the key of the trial is not permitted.
[[nodiscard]] bool is_shut_out(interview const&, examination const&);

/// True if the key of the trial is not permitted, and the lock's own keys may be.
[[nodiscard]] bool is_untried(interview const&, examination const&);

/// How this server compares by itself; empty: it does not.
[[nodiscard]] std::optional<redis::script_form> native_form(interview const&);

/// \param lock its name; empty if none is given
[[nodiscard]] questions doctor_questions(std::string const& key_prefix, std::string const& lock,
                                         interview const&, std::string_view nonce);

struct examination {
    config const& client;
    std::string lock;                  ///< its name; empty if none is given
    std::chrono::milliseconds ttl;     ///< ttl of the locks in question
    std::chrono::milliseconds key_ttl; ///< ttl and slack
    std::chrono::milliseconds slack;
    std::chrono::milliseconds node_timeout;
    bool prepares = false;     ///< the marker shall be left
    bool by_key = true;        ///< are there locks that are votes for a key? Permits of a semaphore are none
    std::set<lock_use> uses{}; ///< their rights are tried, in this order and last
};

/// How long a server that was started a short time ago does not vote yet, unless it is assumed to be new.
[[nodiscard]] std::chrono::nanoseconds youth_left(interview const&, examination const&);

/// Asks a node to keep the marker of fenced locks, as a client does when it meets the node for the first time. If there
/// is no marker, the node counts as one that may have lost keys (docs/protocol.md, rule F6). A lineage is one node's:
/// never use it for two.
void ask_for_marker(questions&, std::string const& key_prefix, interview const&, std::string_view lineage);

/// The marker of fenced locks, as a client sees it that meets the node now.
struct marker_state {
    bool exists;
    bool written_now;              ///< by this call
    std::chrono::milliseconds age; ///< age of the uncertainty that it records, if there is a marker
    std::chrono::nanoseconds wait; ///< until the node votes for a fenced lock
};

/// Empty: it is not known.
[[nodiscard]] std::optional<marker_state> marker_of(interview const&, examination const&);
void examine_marker(interview const&, examination const&, std::vector<finding>&);

/// How long a lock waits for a node that may have lost keys.
[[nodiscard]] std::chrono::nanoseconds quarantine_of(examination const&);
/// The locks that wait for this time, as a suffix: " (for a ttl of 30.0 s)".
[[nodiscard]] std::string for_which_locks(examination const&);
/// For a promoted node: the part of its quarantine that has passed, according to the marker (rule N5).
[[nodiscard]] std::chrono::nanoseconds waited_out(interview const&, examination const&);

/// Examines one node.
void examine_node(interview const&, examination const&, std::vector<finding>&);

/// Returns all problems of these nodes, judged by their answers; the gravest first.
[[nodiscard]] std::vector<finding> examine(std::vector<interview> const&, examination const&);

} // namespace redlock::cli
