#pragma once

#include "core/instant.hpp"
#include "core/tally.hpp"
#include "lock/nonce_source.hpp"
#include "net/node.hpp"

#include <cstdint>
#include <memory>

namespace redlock::lock {

class engine;
struct lock_state;

/// A release that some node has not confirmed.
struct debt {
    std::shared_ptr<lock_state> lock;
    nonce owner;
    core::instant expires; ///< the key cannot live longer
};

/// Takes votes back that came to nothing: a compare-and-delete behind each of them on the same connection. Nobody waits
/// for it (docs/protocol.md, rule A6).
class compensation final : public net::reply_sink {
public:
    explicit compensation(engine& owner) : engine_(owner) {}

    void start(debt what, core::node_set where);

private:
    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const&) override;
    void on_failure(unsigned node, std::uint32_t tag, net::failure const&) override;
    void send_to(unsigned node);
    void send(unsigned node, redis::script_form);
    void leave(unsigned node);
    void settle();

    engine& engine_;
    debt what_;
    unsigned outstanding_ = 0;
    unsigned left_ = 0; ///< nodes that have not confirmed it
};

} // namespace redlock::lock
