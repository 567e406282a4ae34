// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"
#include "engine/node_report.hpp"
#include "kind/kind.hpp"
#include "net/connect.hpp"
#include "redis/resp.hpp"
#include <redlock/node_outcome.hpp>

namespace redlock::detail {

/// A node's answer to one command.
struct node_answer {
    unsigned node;
    kind::request what;
    bool late; ///< another round has begun since it was sent
    kind::answer answer;
    redis::resp_node const& reply;
};

/// Returns the vote that an answer to a vote or a write-back is.
[[nodiscard]] constexpr core::vote vote_of(kind::answer::meaning said)
{
    using meaning = kind::answer::meaning;
    if (said == meaning::granted)
        return core::vote::granted;
    return said == meaning::denied ? core::vote::denied : core::vote::failed;
}
/// Enters the answer into a row of the table, if it is no plain grant.
void report_other(node_answer const&, kind::lock_kind const&, node_report& row);
/// Enters the answer into a row of the table.
inline void report(node_answer const& got, kind::lock_kind const& type, node_report& row)
{
    if (got.answer.what == kind::answer::meaning::granted)
        row.result = node_result::granted;
    else
        report_other(got, type, row);
}
/// Enters an unknown answer.
void report_refusal(redis::resp_node const&, node_report& row);
/// The node refuses a leader's release as a whole: the lock can still be given back alone.
// rule EL2
[[nodiscard]] inline bool asks_for_lock_alone(node_answer const& got, kind::lock_kind const& type)
{
    return type.announces && got.what == kind::request::release &&
           got.answer.what == kind::answer::meaning::error;
}
/// Enters a connection's failure.
void report_failure(net::failure const& why, node_report& row);
/// Enters that a node has neither been reached nor failed.
void report_connecting(node_report& row);

} // namespace redlock::detail
