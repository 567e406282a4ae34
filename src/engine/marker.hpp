// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "engine/admissions.hpp"
#include "engine/environment.hpp"
#include "engine/node_report.hpp"
#include "net/connect.hpp"
#include "net/node.hpp"
#include "redis/marker.hpp"
#include "redis/resp.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace redlock::detail {

/// Receives the result of asking for a marker.
class marker_listener {
public:
    virtual void on_marker_asked() = 0;
    /// There is an answer, or there will be none.
    virtual void on_marker_settled(unsigned node) = 0;
    /// It says that the server leaves none.
    virtual void on_marker_refused(unsigned node, redis::resp_node const&) = 0;

protected:
    ~marker_listener() = default;
};

/// One node's marker, which fenced scripts compare before they do anything: so that a node which loses its data on a
/// standing connection votes no more (docs/protocol.md, rule F6). Nothing is written to a node before the first fenced
/// lock asks it, but to one that was promoted (rule N5).
class marker final : private net::reply_sink {
public:
    marker(environment& its, net::node& node, admissions& known, marker_listener& listener)
        : environment_(its), node_(node), known_(known), listener_(listener)
    {}

    /// Asks for it, where this connection has not.
    void require();
    /// This client has fenced locks, or has met the node as a promoted one.
    [[nodiscard]] bool is_in_use() const { return !seen_.text.empty(); }
    /// The answer is under way.
    [[nodiscard]] bool awaited() const { return awaited_; }
    /// As fenced commands name it; empty: not known.
    [[nodiscard]] std::string const& text() const { return text_; }
    /// Returns since when the node's memory is certain, according to its data. Empty: since ever.
    [[nodiscard]] std::optional<core::instant> const& certain_since() const { return certain_since_; }

    /// Takes over the marker that this client has seen there before.
    void inherit(marker const& former) { seen_ = former.seen_; }
    /// Its connection has ended.
    void forget();
    /// A script has found another marker: the server is asked again for its identity and its marker.
    void missed() { stale_ = !text_.empty(); }

    /// Tells why the marker is not known, and forgets the refusal. The next attempt asks again, because the reason may be mended
    /// under the standing connection.
    void explain(node_report& row);

private:
    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned, std::uint32_t, net::failure const&) override;
    void ask();
    void take(redis::marker found);

    environment& environment_;
    net::node& node_;
    admissions& known_;
    marker_listener& listener_;
    std::string text_;   ///< on this connection
    redis::marker seen_; ///< here, on any connection
    std::optional<core::instant> certain_since_;
    std::optional<node_report> refusal_; ///< the server's answer if it left none
    bool excused_ = false;               ///< this client's user answers for the node's memory
    bool awaited_ = false;
    bool stale_ = false;
};

} // namespace redlock::detail
