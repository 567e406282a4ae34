#pragma once

#include "core/tally.hpp"
#include "engine/claim.hpp"
#include "net/node.hpp"

#include <cstdint>

namespace redlock::detail {

class engine;

/// Takes votes back that came to nothing: a compare-and-delete behind each of them on the same connection. Nobody waits
/// for it (docs/protocol.md, rule A6).
class undo final : public net::reply_sink {
public:
    explicit undo(engine& owner) : engine_(owner) {}

    void start(pending_release, core::node_set where);

private:
    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned node, std::uint32_t tag, net::failure const&) override;
    void send_to(unsigned node);
    void send(unsigned node, redis::script_form);
    void leave(unsigned node);
    void settle();

    engine& engine_;
    pending_release owed_;
    unsigned outstanding_ = 0;
    unsigned left_ = 0; ///< nodes that have not confirmed it
};

} // namespace redlock::detail
