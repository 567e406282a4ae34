#pragma once

#include "core/admission.hpp"
#include "core/instant.hpp"
#include "core/server_clock.hpp"
#include "lock/configuration.hpp"
#include "net/node.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::lock {

/// Decides for one client which of its nodes may vote (docs/protocol.md, rules N2 to N7), from what each connection told
/// and from what the client knew before. Everything but what is marked otherwise is called on the client's executor.
class admissions {
public:
    explicit admissions(client_settings const&);

    /// Any thread. Locks whose keys live this long, slack included, are going to ask the nodes.
    void expect_keys(core::duration ttl, core::duration slack);
    /// A longer lock was made since this was asked last: every node has to be judged again.
    [[nodiscard]] bool outgrown();

    /// The node's handshake has just succeeded, or its standing connection is judged again.
    [[nodiscard]] std::optional<net::failure> objection(unsigned node, net::node const&, core::instant now);
    /// The node's clock was read again on its standing connection. Nothing: it was not set forward.
    [[nodiscard]] std::optional<net::failure> clock_objection(unsigned node, net::node const&,
                                                              core::instant now);
    [[nodiscard]] core::duration quarantine_length() const
    {
        return core::quarantine_length(core::duration{longest_.load(std::memory_order_relaxed)});
    }
    /// Of a node that has no objection against it.
    [[nodiscard]] core::marker_trust marker_trust(unsigned node, net::node const&) const;

    /// Cannot be checked on this node: said to the observer at the first connection of each node.
    [[nodiscard]] std::string_view blind_spot(net::node const&) const;
    [[nodiscard]] bool first_mention(unsigned node);

private:
    struct record {
        core::acquaintance known;
        std::string votes_as; ///< run id under which it was admitted last
        core::server_clock clock;
        std::string clock_of; ///< run id; empty where it is not told
        bool mentioned = false;
    };

    [[nodiscard]] bool set_forward(record&, net::node const&, core::instant now);
    [[nodiscard]] std::optional<net::failure> quarantine(record const&, core::instant now) const;
    [[nodiscard]] std::optional<net::failure> refusal(unsigned node, core::node_facts const&) const;
    [[nodiscard]] std::optional<unsigned> same_server(unsigned node, std::string const& run_id) const;

    core::admission_terms const terms_;
    std::vector<std::string> const& names_;
    std::atomic<core::duration::rep> longest_;
    std::atomic<core::duration::rep> smallest_slack_;
    core::duration::rep judged_for_;
    std::vector<record> records_;
};

/// "restarted 2.1 s ago"
[[nodiscard]] std::string quarantine_story(net::failure const&, core::instant now);
/// "restarted 2.1 s ago; votes again in 9.0 s"
[[nodiscard]] std::string quarantine_notice(net::failure const&, core::instant now);
/// Until the quarantine's end, never less than nothing.
[[nodiscard]] std::chrono::milliseconds quarantine_left(core::instant until, core::instant now);

} // namespace redlock::lock
