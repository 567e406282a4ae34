#include "lock/replies.hpp"

#include "redis/error_class.hpp"
#include "redis/server_words.hpp"

namespace redlock::lock {

core::vote read_vote(redis::resp_node const& reply, node_report& row)
{
    if (reply.type == redis::resp_type::simple_string && reply.text == "OK") {
        row.result = node_result::granted;
        return core::vote::granted;
    }
    if (reply.type == redis::resp_type::null) {
        row.result = node_result::held_by_other;
        return core::vote::denied;
    }
    row.result = node_result::refused;
    row.error = redis::is_error(reply.type) ? redis::classify(reply.text) : server_error::other;
    row.detail = std::make_shared<std::string const>(redis::quote(reply.text));
    return core::vote::failed;
}

void report_failure(net::failure const& why, node_report& row)
{
    row.result = why.result;
    row.error = why.error;
    if (!why.detail.empty())
        row.detail = std::make_shared<std::string const>(why.detail);
}

script_answer read_script_answer(net::node& node, net::node::script script, redis::resp_node const& reply)
{
    if (reply.type == redis::resp_type::number) {
        node.script_worked(script, true);
        return reply.number == 1 ? script_answer::done : script_answer::not_ours;
    }
    if (redis::is_error(reply.type) && redis::classify(reply.text) == server_error::noscript) {
        node.script_worked(script, false);
        return script_answer::unknown_script;
    }
    return script_answer::error;
}

} // namespace redlock::lock
