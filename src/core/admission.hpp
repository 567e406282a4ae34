// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// May this node vote? (docs/protocol.md, rules N2 to N7)
namespace redlock::core {

/// What is known of a group of servers, of which one is the master, and another one after a failover (rule N8). For a while
/// both may take themselves for it.
struct replica_group {
    unsigned members = 0;          ///< with the master
    unsigned needed = 0;           ///< replicas without which a master stops writing
    bool stops = false;            ///< its settings let a master stop that has lost them
    duration outlasts{};           ///< how long votes of such a master may count at most after that
    std::uint64_t attachments = 0; ///< how often a replica has come to the present master
};

/// Must one of two masters stop, because both need replicas and there are not enough for both?
// rule N8
[[nodiscard]] constexpr bool is_exclusive(replica_group const& group)
{
    return group.stops && group.needed >= 1 && 2 * (group.needed + 1) > group.members;
}

/// What a server tells of itself when a connection begins. Each fact stands alone.
struct node_facts {
    std::string run_id{};             ///< of the process; empty: not told
    std::string replid{};             ///< of its data set; empty: not told
    std::optional<duration> uptime{}; ///< nothing: not told
    bool promoted = false;            ///< its data set was another server's, or another life's, in this life
    bool replica = false;
    bool loading = false;
    bool cluster = false;
    bool may_evict = false;
    bool forgetful = false;               ///< its settings tell that an acknowledged write can be lost
    std::optional<replica_group> group{}; ///< nothing: it is a server alone
};

/// What the user answers for, of one node.
struct admission_terms {
    bool assume_fresh = false;
    bool durable = false;
    bool trust_restarted_nodes = false;
    bool trust_promoted = false;
    bool allow_cluster_node = false;
    bool allow_eviction = false;
    bool trust_server_clocks = false;
    bool trust_replication = false;
    /// Of a group: for how long this client may count the votes of a master that it has not heard of.
    duration longest_unheard{};
};

enum class refusal : std::uint8_t { replica, loading, cluster_node, evicting, two_masters };

/// Nothing: nothing in its present settings speaks against its votes.
[[nodiscard]] std::optional<refusal> refuse(node_facts const&, admission_terms const&);

/// What a client knows of the server behind one endpoint.
struct node_history {
    /// What happened last to its data, as far as the client can tell.
    enum class event : std::uint8_t {
        started,
        first_met, ///< and it does not tell its age
        met_promoted,
        restarted,
        maybe_restarted, ///< it does not tell who it is
        replaced,
        changed_history,
        lost_data,
        set_forward,
        replicas_came
    };

    bool met = false;
    std::string
        run_id{}; ///< of the process, or what stands for it; empty: each connection may lead to another
    std::string replid{};
    event last = event::started;
    /// Keys set before this may be lost, or have expired too early. Nothing: none can be.
    std::optional<instant> certain_since{};
    std::uint64_t attachments = 0;
    duration outlasted{};        ///< for so long an earlier master of its group may have gone on
    duration forward{};          ///< by how much its clock was set forward, where that was the last event
    bool word_is_denied = false; ///< the user calls it durable, and its settings say otherwise
};

/// Meets a server at an endpoint where `earlier` was met before and last heard of at `heard`. Once a connection.
///
/// INFO's uptime is wall-clock arithmetic in whole seconds, so it may be a second too much, and anything after a step of
/// the clock: where the client itself heard of the life before after this one's start, this one counts from now on.
[[nodiscard]] node_history identify(node_facts const&, node_history const& earlier, instant heard,
                                    admission_terms const&, instant now);

/// Its clock was set forward, by more than the keys on it allow for: those that it has now may expire too early.
[[nodiscard]] node_history set_forward(node_history const&, duration by, instant now);

/// It was promoted, and its data say since when somebody has been waiting for that.
[[nodiscard]] node_history known_since(node_history const&, instant since);

/// What this client has seen on it is gone.
[[nodiscard]] node_history lost_data(node_history const&, instant now);

/// How long a node that may have lost keys must not vote: longer than any of them could have lived, with the allowance
/// for clocks that run at different rates.
// rule N4
constexpr duration quarantine_length(duration longest_key)
{
    return longest_key + longest_key / 100;
}

/// Nothing: a node whose memory is certain since then may vote now for a lock with this quarantine.
[[nodiscard]] std::optional<instant> quarantined_until(std::optional<instant> certain_since, duration length,
                                                       instant now);

/// The later on each clock; nothing is before everything.
[[nodiscard]] std::optional<instant> later(std::optional<instant>, std::optional<instant>);

/// Does the user's word stand that the node never forgets? Its settings may say otherwise.
// rule N4
[[nodiscard]] inline bool is_durable(node_facts const& facts, admission_terms const& terms)
{
    return terms.durable && !facts.forgetful && !facts.group;
}

} // namespace redlock::core
