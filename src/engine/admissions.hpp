// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/admission.hpp"
#include "core/instant.hpp"
#include "core/server_clock.hpp"
#include "engine/configuration.hpp"
#include "net/connect.hpp"
#include "net/node.hpp"
#include "redis/info.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::detail {

/// Decides for one client since when it can rely on each node's memory (docs/protocol.md, rules N2 to N7), from the
/// facts of each connection and from what the client knew before. Each lock has its own quarantine from then on.
/// Functions are called on the client's executor unless marked otherwise.
class admissions {
public:
    explicit admissions(client_settings const&);

    /// Any thread. Locks whose keys live this long, slack included, are going to ask the nodes.
    void expect_keys(core::duration ttl, core::duration slack);
    /// The longest quarantine for any lock of this client.
    [[nodiscard]] core::duration longest_quarantine() const
    {
        return core::quarantine_length(core::duration{expected_->longest.load(std::memory_order_relaxed)});
    }

    /// The node's handshake has just succeeded.
    [[nodiscard]] std::optional<net::failure> disqualification(unsigned node, net::node const&,
                                                               core::instant now);
    /// The node's clock was read again on its standing connection.
    [[nodiscard]] bool was_set_forward(unsigned node, net::node const& server, core::instant now)
    {
        return note_clock_step(records_[node], server, now);
    }

    /// Returns the time before which keys may be lost. Empty: none can be, because the user answers for the node.
    [[nodiscard]] std::optional<core::instant> const& certain_since(unsigned node) const
    {
        return records_[node].known.certain_since;
    }
    /// Was the node promoted before this client met it, at a time that is not known yet?
    [[nodiscard]] bool has_unknown_past(unsigned node) const
    {
        return records_[node].known.last == core::node_history::event::met_promoted;
    }
    /// Notes since when the quarantine of the promoted node has run, as the node's marker records.
    void learn_past(unsigned node, core::instant since)
    {
        records_[node].known = core::known_since(records_[node].known, since);
    }
    /// Takes over the record of a server that was already a node of this client.
    void inherit(std::size_t node, admissions const& former, std::size_t before);
    /// The data that this client has seen on the node are gone.
    void has_lost_data(unsigned node, core::instant now)
    {
        records_[node].known = core::lost_data(records_[node].known, now);
    }
    /// Does the user declare that a node without a marker has never lost one?
    [[nodiscard]] bool excuses_absence(unsigned node, net::node const&) const;
    /// Was the node promoted, and does the user declare that it has lost nothing?
    [[nodiscard]] bool trusts_promotion(unsigned node, net::node const& server) const
    {
        auto const& info = server.facts().info;
        return records_[node].terms.trust_promoted && info && info->promoted;
    }

    /// Returns the event since which the node's memory is certain: "restarted".
    [[nodiscard]] std::string what_happened(unsigned node) const;

    /// Lists the facts that cannot be checked on this node: told to the observer at each node's first connection.
    [[nodiscard]] std::string blind_spots(unsigned node, net::node const&) const;
    [[nodiscard]] bool first_mention(unsigned node);

private:
    struct record {
        core::node_history known;
        core::admission_terms terms;
        std::string denied_by; ///< the setting that contradicts the user's word
        std::string votes_as;  ///< run id under which it was admitted last
        core::server_clock clock;
        std::string clock_of; ///< run id; empty where it is not told
        core::group_size members{};
        core::duration outlasts{}; ///< in its group, at most
        bool mentioned = false;
    };

    /// The greatest values of all locks of one client, for all its lists of nodes (rule N9).
    struct expectations {
        std::atomic<core::duration::rep> longest;
        std::atomic<core::duration::rep> smallest_slack;
    };

    static void remember(record&, core::replica_group&, core::instant now);
    [[nodiscard]] bool note_clock_step(record&, net::node const&, core::instant now);
    [[nodiscard]] std::optional<net::failure> refusal(unsigned node, core::node_facts const&) const;
    [[nodiscard]] std::optional<unsigned> same_server(unsigned node, std::string const& run_id) const;

    std::vector<std::string> const& names_;
    std::shared_ptr<expectations> expected_;
    std::vector<record> records_;
};

/// Returns why the server may not vote with its present settings, apart from its history. Empty: it may vote.
[[nodiscard]] std::optional<net::failure> objection(redis::server_facts const&, core::admission_terms const&);

/// Returns the time until the quarantine's end, or zero after it.
[[nodiscard]] std::chrono::milliseconds quarantine_left(core::instant until, core::instant now);

} // namespace redlock::detail
