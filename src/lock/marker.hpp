#pragma once

#include "core/instant.hpp"
#include "lock/node_report.hpp"
#include "net/node.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace redlock::lock {

class engine;

/// One node's marker, which fenced scripts compare before they do anything: so that a node which loses its data on a
/// standing connection votes no more (docs/protocol.md, rule F6). Nothing is written to a node before the first fenced
/// lock asks it.
class marker final : private net::reply_sink {
public:
    marker(engine& owner, unsigned node) : engine_(owner), node_(node) {}

    /// Before a fenced command: sends for the marker, in the same write, where this life of the node has not been asked.
    /// Nothing to do where the server does not tell who it is.
    void require();

    /// Fenced votes count from then on; what is past counts already.
    [[nodiscard]] core::instant quarantined_until() const { return until_; }

    /// A script has found another marker. Unless that is what the quarantine has come from, the server is asked anew who
    /// it is, and for its marker: others may know it under a newer name than this connection does.
    void missed() { stale_ = until_ == core::instant{} && !refusal_; }

    /// Why it was missed, where the server did not let it be left.
    void explain(node_report& row) const
    {
        if (!refusal_)
            return;
        row.result = refusal_->result;
        row.error = refusal_->error;
        if (refusal_->detail)
            describe(row, [this] { return *refusal_->detail; });
    }

private:
    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned, std::uint32_t, net::failure const&) override { asked_.clear(); }
    void ask();

    engine& engine_;
    unsigned node_;
    std::string asked_; ///< whom: an incarnation
    std::string stood_; ///< in which incarnation the marker has been found
    core::instant until_;
    std::optional<node_report> refusal_; ///< what the server said instead of leaving it
    bool stale_ = false;
};

} // namespace redlock::lock
