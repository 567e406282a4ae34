#pragma once

#include "core/fencing.hpp"
#include "core/tally.hpp"
#include "lock/node_report.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"

#include <cstdint>

namespace redlock::lock {

/// What a vote's reply means (docs/protocol.md, rule A4): only a nil says that another holds the key. Fills the row.
[[nodiscard]] core::vote read_vote(redis::resp_node const& reply, node_report& row);

/// What waiters ask in between: whose key is there, and how long still. Nothing where the server does not tell.
[[nodiscard]] sighting read_owner(redis::resp_node const& reply);
[[nodiscard]] sighting read_time_left(redis::resp_node const& reply);

/// The same as `read_vote` for a fenced vote, which also tells the node's counter, and may have to be said again as text.
struct fenced_vote {
    core::vote vote = core::vote::failed;
    core::fence counter = 0;
    bool unknown_script = false;
    bool stranger = false; ///< not the data that the connection began with
};
[[nodiscard]] fenced_vote read_fenced_vote(net::node&, redis::resp_node const& reply, node_report& row);

/// The node's data is not what fenced locks knew it to have (rule F6).
void report_stranger(node_report& row);
/// What it answered is none of the answers that there are.
void report_refusal(redis::resp_node const&, node_report& row);

/// What a connection's failure means for a row.
void report_failure(net::failure const& why, node_report& row);

/// What a compare-and-delete or compare-and-renew answered.
enum class script_answer : std::uint8_t { done, repaired, not_ours, unknown_script, stranger, error };

/// Also remembers whether this connection may send the script by its hash from now on.
[[nodiscard]] script_answer read_script_answer(net::node&, net::node::script, redis::resp_node const& reply);

} // namespace redlock::lock
