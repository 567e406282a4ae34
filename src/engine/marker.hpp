#pragma once

#include "core/instant.hpp"
#include "engine/node_report.hpp"
#include "net/node.hpp"
#include "redis/marker.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace redlock::detail {

class node_group;

/// One node's marker, which fenced scripts compare before they do anything: so that a node which loses its data on a
/// standing connection votes no more (docs/protocol.md, rule F6). Nothing is written to a node before the first fenced
/// lock asks it, but to one that was promoted (rule N5).
class marker final : private net::reply_sink {
public:
    marker(node_group& group, unsigned node) : group_(group), node_(node) {}

    /// Asks for it, where this connection has not.
    void require();
    /// This client has fenced locks, or has met the node as a promoted one.
    [[nodiscard]] bool is_in_use() const { return !seen_.text.empty(); }
    /// The answer is under way.
    [[nodiscard]] bool awaited() const { return awaited_; }
    /// As fenced commands name it; empty: not known.
    [[nodiscard]] std::string const& text() const { return text_; }
    /// As the data tell it. Nothing: since ever.
    [[nodiscard]] std::optional<core::instant> const& certain_since() const { return certain_since_; }

    /// Its connection has ended.
    void forget();
    /// A script has found another marker: the server is asked anew who it is, and for its marker. Others may know it under
    /// a newer name than this connection does.
    void missed() { stale_ = !text_.empty(); }

    /// Why it is not known. The next attempt asks again: that may be mended under the standing connection.
    void explain(node_report& row);

private:
    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned, std::uint32_t, net::failure const&) override;
    void ask();
    void take(redis::marker found);

    node_group& group_;
    unsigned node_;
    std::string text_;   ///< on this connection
    redis::marker seen_; ///< here, on any connection
    std::optional<core::instant> certain_since_;
    std::optional<node_report> refusal_; ///< what the server said instead of leaving it
    bool excused_ = false;               ///< this client's user answers for the node's memory
    bool awaited_ = false;
    bool stale_ = false;
};

} // namespace redlock::detail
