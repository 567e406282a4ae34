// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// May this node vote? (docs/protocol.md, rules N2 to N7)
namespace redlock::core {

/// A group of servers with one master, which a failover replaces by another one (rule N8). For a while both may act as
/// the master.
struct replica_group {
    unsigned members = 0;          ///< with the master
    unsigned needed = 0;           ///< replicas without which a master stops writing
    bool stops = false;            ///< its settings let a master stop that has lost them
    duration outlasts{};           ///< how long votes of such a master may count at most after that
    std::uint64_t attachments = 0; ///< how often a replica has come to the present master
};

/// How many servers a group has. A Sentinel that begins anew counts fewer for a while.
class group_size {
public:
    /// \return the number to rely on: the largest so far; the largest of the last minute if that were fewer each time
    // rule N8
    [[nodiscard]] unsigned observe(unsigned counted, instant now);

private:
    /// The counts since they are smaller.
    struct fewer {
        instant since;
        unsigned most;
    };
    unsigned members_ = 0;
    std::optional<fewer> fewer_{};
};

/// Must one of two masters stop, because both need replicas and there are not enough for both?
// rule N8
[[nodiscard]] constexpr bool is_exclusive(replica_group const& group)
{
    return group.stops && group.needed >= 1 && 2 * (group.needed + 1) > group.members;
}

/// The facts about a server that are known when a connection begins. Each is read alone.
struct node_facts {
    std::string run_id{};             ///< identifies the process; empty: not told
    std::string replid{};             ///< identifies its data set; empty: not told
    std::optional<duration> uptime{}; ///< empty: not told
    bool promoted = false; ///< in this life its data set came from another server, or from an earlier life
    bool replica = false;
    bool loading = false;
    bool cluster = false;
    bool may_evict = false;
    bool forgetful = false;               ///< by its settings an acknowledged write can be lost
    std::optional<replica_group> group{}; ///< empty: a single server
};

/// The user's settings for one node.
struct admission_terms {
    bool assume_fresh = false;
    bool durable = false;
    bool trust_restarted_nodes = false;
    bool trust_promoted = false;
    bool allow_cluster_node = false;
    bool allow_eviction = false;
    bool trust_server_clocks = false;
    bool trust_replication = false;
    /// For a group: how long this client may count the votes of a master that it has not heard of.
    duration longest_unheard{};
};

enum class refusal : std::uint8_t { replica, loading, cluster_node, evicting, two_masters };

/// Empty: the node's present settings allow its votes.
[[nodiscard]] std::optional<refusal> refuse(node_facts const&, admission_terms const&);

/// A client's knowledge of the server behind one endpoint.
struct node_history {
    /// The last event that concerned its data, as far as the client can tell.
    enum class event : std::uint8_t {
        started,
        first_met, ///< and its age is unknown
        met_promoted,
        restarted,
        maybe_restarted, ///< its identity is unknown
        replaced,
        changed_history,
        lost_data,
        set_forward,
        replicas_came
    };

    bool met = false;
    std::string
        run_id{}; ///< identifies the process, or replaces that; empty: each connection may lead to another
    std::string replid{};
    event last = event::started;
    /// Keys set before this may be lost, or have expired too early. Empty: no key can be.
    std::optional<instant> certain_since{};
    std::uint64_t attachments = 0;
    duration outlasted{};        ///< an earlier master of its group may have continued for this time
    duration forward{};          ///< how far its clock was set forward, if that was the last event
    bool word_is_denied = false; ///< the user declares it durable, and its settings contradict that
};

/// Meets a server at an endpoint where `earlier` was met before and last heard of at `heard`. Called once for each
/// connection.
///
/// INFO's uptime is a difference of wall-clock times in whole seconds. It may be a second too large, and anything after
/// a step of the clock. If the client heard of the earlier life after the computed start, the new life counts from now
/// on.
[[nodiscard]] node_history identify(node_facts const&, node_history const& earlier, instant heard,
                                    admission_terms const&, instant now);

/// The node's clock was set forward, by more than the keys on it allow for: its present keys may expire too early.
[[nodiscard]] node_history set_forward(node_history const&, duration by, instant now);

/// The node was promoted, and its marker records since when its quarantine has run.
[[nodiscard]] node_history known_since(node_history const&, instant since);

/// The data that this client has seen on the node are gone.
[[nodiscard]] node_history lost_data(node_history const&, instant now);

/// How long a node that may have lost keys must not vote: longer than the longest life of such a key, with the
/// allowance for clocks that run at different rates.
// rule N4
constexpr duration quarantine_length(duration longest_key_life)
{
    return longest_key_life + longest_key_life / 100;
}

/// Returns empty if a node whose memory is certain since then may vote now for a lock with this quarantine.
[[nodiscard]] std::optional<instant> quarantined_until(std::optional<instant> certain_since, duration length,
                                                       instant now);

/// Returns the later one on each clock; an empty time is before all others.
[[nodiscard]] std::optional<instant> later(std::optional<instant>, std::optional<instant>);

/// May the client rely on the user's word that the node never forgets? Its settings may contradict it.
// rule N4
[[nodiscard]] inline bool is_durable(node_facts const& facts, admission_terms const& terms)
{
    return terms.durable && !facts.forgetful && !facts.group;
}

} // namespace redlock::core
