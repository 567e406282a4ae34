#pragma once

#include "engine/node_report.hpp"
#include "kind/kind.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"

namespace redlock::detail {

/// Scripts travel by their hash where the connection has seen them work.
[[nodiscard]] redis::script_form form_for(net::node const&, kind::lock_kind const&, kind::request);

/// Also remembers whether this connection may send the script by its hash from now on.
[[nodiscard]] kind::answer read_answer(net::node&, kind::lock_kind const&, kind::request,
                                       redis::resp_node const& reply);

/// What the answer means for a row of the table.
void report(kind::answer const&, kind::lock_kind const&, kind::request, redis::resp_node const& reply,
            node_report& row);
/// What it answered is none of the answers that there are.
void report_refusal(redis::resp_node const&, node_report& row);
/// What a connection's failure means for a row.
void report_failure(net::failure const& why, node_report& row);

} // namespace redlock::detail
