#include "lock/replies.hpp"

#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/server_words.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace redlock::lock {

namespace {

bool is_stranger(redis::resp_node const& reply)
{
    return reply.type == redis::resp_type::simple_string && reply.text == "STRANGER";
}

bool is_unknown_script(redis::resp_node const& reply)
{
    return redis::is_error(reply.type) && redis::classify(reply.text) == server_error::noscript;
}

core::vote refused(redis::resp_node const& reply, node_report& row)
{
    report_refusal(reply, row);
    return core::vote::failed;
}

} // namespace

void report_refusal(redis::resp_node const& reply, node_report& row)
{
    row.result = node_result::refused;
    row.error = redis::is_error(reply.type) ? redis::classify(reply.text) : server_error::other;
    describe(row, [&] {
        return reply.text.empty() ? "a reply that no server gives to this command" : redis::quote(reply.text);
    });
}

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
    return refused(reply, row);
}

namespace {

/// Enough to tell owners apart, too little to act in their name.
std::uint64_t owner_id(std::string_view owner)
{
    std::uint64_t id = 0;
    std::memcpy(&id, owner.data(), std::min(owner.size(), sizeof id));
    return id;
}

} // namespace

sighting read_owner(redis::resp_node const& reply)
{
    if (reply.type == redis::resp_type::null)
        return {.gone = true};
    if (redis::is_error(reply.type))
        return {.no_lock = redis::classify(reply.text) == server_error::wrongtype};
    return {.owner = reply.type == redis::resp_type::bulk_string ? owner_id(reply.text) : 0};
}

/// PTTL: -2 without a key, -1 where it never expires.
sighting read_time_left(redis::resp_node const& reply)
{
    if (reply.type != redis::resp_type::number || reply.number == -1)
        return {};
    if (reply.number < 0)
        return {.gone = true};
    return {.left = std::chrono::milliseconds{reply.number}};
}

namespace {

/// "HELD <milliseconds left> <fence> <start of the owner's nonce>"
std::optional<core::fence> read_held(std::string_view text, node_report& row)
{
    constexpr std::string_view head = "HELD ";
    if (!text.starts_with(head))
        return std::nullopt;
    text.remove_prefix(head.size());
    auto const space = text.find(' ');
    auto const second = text.find(' ', space + 1);
    std::int64_t left = 0;
    core::fence counter = 0;
    if (space == text.npos || second == text.npos || !redis::read_number(text.substr(0, space), left) ||
        !redis::read_number(text.substr(space + 1, second - space - 1), counter) ||
        counter >= redis::fence_end)
        return std::nullopt;
    std::string_view const owner = text.substr(second + 1);
    row.owner = owner_id(owner);
    if (owner.empty())
        describe_no_lock(row);
    if (left >= 0)
        row.remaining = std::chrono::milliseconds{left};
    return counter;
}

} // namespace

fenced_vote read_fenced_vote(net::node& node, redis::resp_node const& reply, node_report& row)
{
    auto const counted = static_cast<core::fence>(reply.number); // below zero it is far beyond the end
    if (reply.type == redis::resp_type::number && counted != 0 && counted < redis::fence_end) {
        node.script_worked(net::node::script::fenced_vote, true);
        row.result = node_result::granted;
        return {core::vote::granted, counted};
    }
    if (is_stranger(reply)) {
        report_stranger(row);
        return {.stranger = true};
    }
    if (reply.type == redis::resp_type::simple_string) {
        if (auto const counter = read_held(reply.text, row)) {
            node.script_worked(net::node::script::fenced_vote, true);
            row.result = node_result::held_by_other;
            return {core::vote::denied, *counter};
        }
    }
    if (is_unknown_script(reply)) {
        node.script_worked(net::node::script::fenced_vote, false);
        return {.unknown_script = true};
    }
    return {refused(reply, row)};
}

void report_stranger(node_report& row)
{
    row.result = node_result::quarantined;
    describe(row, [] { return "its data was lost or replaced"; });
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

script_answer read_script_answer(net::node& node, net::node::script script, redis::resp_node const& reply)
{
    if (reply.type == redis::resp_type::number) {
        node.script_worked(script, true);
        return reply.number == 1   ? script_answer::done
               : reply.number == 2 ? script_answer::repaired
                                   : script_answer::not_ours;
    }
    if (is_unknown_script(reply)) {
        node.script_worked(script, false);
        return script_answer::unknown_script;
    }
    return is_stranger(reply) ? script_answer::stranger : script_answer::error;
}

} // namespace redlock::lock
