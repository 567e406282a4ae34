#pragma once

#include "core/instant.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// May this node vote? (docs/protocol.md, rules N2 to N7)
namespace redlock::core {

/// What a server tells of itself when a connection begins. Without a run id it told nothing of its history.
struct node_facts {
    std::string run_id{};
    std::string replid{};
    duration uptime{};
    bool promoted = false; ///< its data set was another server's, or another life's, before
    bool replica = false;
    bool loading = false;
    bool cluster = false;
    bool may_evict = false;
    bool durable = false;
};

/// What the user answers for.
struct admission_terms {
    bool assume_fresh = false;
    bool trust_restarted_nodes = false;
    bool allow_cluster_node = false;
    bool allow_eviction = false;
    bool trust_server_clocks = false;
};

enum class refusal : std::uint8_t { replica, loading, cluster_node, evicting };

/// Nothing: nothing in its present settings speaks against its votes.
[[nodiscard]] std::optional<refusal> refuse(node_facts const&, admission_terms const&);

/// What a client knows of the server behind one endpoint.
struct acquaintance {
    /// What happened last to its data, as far as the client can tell.
    enum class event : std::uint8_t { started, restarted, replaced, changed_history, set_forward };

    std::string run_id{}; ///< empty: never met
    std::string replid{};
    event last = event::started;
    /// Keys set before this may be lost, or have expired too early. Nothing: none can be.
    std::optional<instant> whole_since{};
    duration forward{}; ///< by how much its clock was set forward, where that was the last event

    [[nodiscard]] bool met() const { return !run_id.empty(); }
};

/// Meets a server at an endpoint where `earlier` was met before and last heard of at `heard`.
///
/// INFO's uptime is wall-clock arithmetic in whole seconds, so it may be a second too much, and anything after a step of
/// the clock: where the client itself heard of the life before, this one cannot be older than that.
[[nodiscard]] acquaintance meet(node_facts const&, acquaintance const& earlier, instant heard,
                                admission_terms const&, instant now);

/// Its clock was set forward, by more than the keys on it allow for: those that it has now may expire too early.
[[nodiscard]] acquaintance set_forward(acquaintance const&, duration by, instant now);

/// How long a node that may have lost keys must not vote: longer than any of them could have lived, with the allowance
/// for clocks that run at different rates.
constexpr duration quarantine_length(duration longest_key)
{
    return longest_key + longest_key / 100;
}

/// Nothing: the node may vote now.
[[nodiscard]] std::optional<instant> quarantined_until(acquaintance const&, duration length, instant now);

/// Whom to believe when a node's marker is not the one of its present life (rule F6): nobody, a node that has none, or any.
enum class marker_trust : std::uint8_t { none, absent, any };

/// Of a node that may vote as far as this client can tell.
[[nodiscard]] marker_trust trust_in_marker(node_facts const&, acquaintance const&, admission_terms const&);

} // namespace redlock::core
