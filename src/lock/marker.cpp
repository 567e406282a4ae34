#include "lock/marker.hpp"

#include "lock/engine.hpp"
#include "lock/replies.hpp"
#include "redis/command.hpp"

#include <chrono>
#include <new>
#include <string_view>

namespace redlock::lock {

namespace {

std::string_view to_words(core::marker_trust trust)
{
    switch (trust) {
    case core::marker_trust::any: return "any";
    case core::marker_trust::absent: return "absent";
    case core::marker_trust::none: break;
    }
    return "none";
}

} // namespace

void marker::require()
{
    if (engine_.at(node_).state() != node_state::ready)
        return;
    if (std::exchange(stale_, false)) {
        asked_.clear();
        return engine_.at(node_).renew();
    }
    std::string const& now = engine_.at(node_).incarnation();
    bool const over = until_ != core::instant{} && core::reached(until_, engine_.loop().now());
    if (now.empty() || (asked_ == now && !over))
        return;
    try {
        ask();
    } catch (std::bad_alloc const&) { // the script of the vote looks for the marker itself
        asked_.clear();
    }
}

void marker::ask()
{
    net::node& node = engine_.at(node_);
    stood_.reserve(node.incarnation().size()); // for what the answer may say
    asked_ = node.incarnation();
    // Where it stood and is gone, this node has lost data under our eyes.
    auto const trust = stood_ == asked_ ? core::marker_trust::none : engine_.marker_trust(node_);
    redis::append_mark(node.output(), engine_.settings().key_prefix, asked_, engine_.quarantine_length(),
                       to_words(trust));
    until_ = {};
    node.expect(*this, 0);
}

void marker::on_reply(unsigned, std::uint32_t, redis::resp_node const& reply)
{
    refusal_.reset();
    if (reply.type != redis::resp_type::number) {
        asked_.clear(); // with the next vote again: that may be mended under the standing connection
        report_refusal(reply, refusal_.emplace());
        return engine_.remark(node_, "marker", reply);
    }
    core::duration const longest = engine_.quarantine_length();
    if (reply.number > longest / std::chrono::milliseconds{1})
        until_ = engine_.loop().now() + longest;
    else if (reply.number > 0)
        until_ = engine_.loop().now() + std::chrono::milliseconds{reply.number};
    else
        stood_ = asked_;
    if (until_ != core::instant{})
        engine_.tell_fenced_refusal(node_, until_);
}

} // namespace redlock::lock
