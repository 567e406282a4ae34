// SPDX-License-Identifier: BSL-1.0
#include "engine/replies.hpp"

#include "redis/error_class.hpp"
#include "redis/server_words.hpp"
#include <redlock/server_error.hpp>

namespace redlock::detail {

void report_other(node_answer const& got, kind::lock_kind const& type, node_report& row)
{
    using meaning = kind::answer::meaning;
    switch (got.answer.what) {
    case meaning::granted:
    case meaning::repaired: row.result = node_result::granted; break;
    case meaning::denied: {
        auto const seen = type.read_observation(got.what, got.reply);
        row.result = node_result::held_by_other;
        row.owner = 0;
        row.remaining.reset();
        row.holder = holder_kind::unknown;
        row.note(seen.who, seen.owner, seen.left, seen.immortal);
        row.which = seen.which & 63U;
        break;
    }
    case meaning::other_data:
        row.result = node_result::quarantined;
        describe(row, [] { return "its data was lost or replaced"; });
        break;
    case meaning::unknown_script:
    case meaning::error: report_refusal(got.reply, row); break;
    }
}

void report_refusal(redis::resp_node const& reply, node_report& row)
{
    row.result = node_result::refused;
    row.error = redis::is_error(reply.type) ? redis::classify(reply.text) : server_error::other;
    describe(row, [&] {
        return reply.text.empty() ? "a reply that no server gives to this command" : redis::quote(reply.text);
    });
}

void report_failure(net::failure const& why, node_report& row)
{
    row.result = why.result;
    row.error = why.error;
    if (why.result == node_result::quarantined)
        describe(row, [] { return "its clock was set forward"; });
    else if (!why.detail.empty())
        describe(row, [&] { return why.detail; });
}

void report_connecting(node_report& row)
{
    row.result = node_result::unreachable;
    describe(row, [] { return "still connecting"; });
}

} // namespace redlock::detail
