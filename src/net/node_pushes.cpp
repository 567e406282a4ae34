// SPDX-License-Identifier: BSL-1.0
#include "core/memory.hpp"
#include "net/node.hpp"
#include "redis/error_class.hpp"
#include "redis/push.hpp"
#include "redis/resp.hpp"
#include <redlock/server_error.hpp>

#include <optional>
#include <string_view>
#include <utility>

// The pushes of a node's server: changes of keys, and messages of a channel.
namespace redlock::net {

void node::expect_pushes(bool expected)
{
    if (std::exchange(pushes_expected_, expected) == expected || closed_ || !connected())
        return;
    if (!expected && reading_ && awaited_.empty()) {
        if (!reserve_capacity())
            return fail_soon();
        ask_time(); // its answer ends the read
    }
    flush_soon();
}

void node::track()
{
    if (!begin_service(tracking_))
        return;
    redis::append_command(output(), {"CLIENT", "TRACKING", "ON", "NOLOOP"});
    expect(tracking_sink_, 0);
}

void node::subscribe(std::string_view channel)
{
    if (subscription_ == service::off)
        channel_ = channel;
    if (!begin_service(subscription_))
        return;
    redis::append_command(output(), {"PUBLISH", channel_, ""}); // nobody receives it: is it permitted?
    expect(publication_sink_, 0);
    redis::append_command(output(), {"SUBSCRIBE", channel_});
    expect(subscription_sink_, 0);
}

/// Only RESP3 has pushes between replies.
bool node::begin_service(service& wanted)
{
    if (wanted != service::off)
        return false;
    wanted = facts_.protocol < 3 ? service::refused : service::asked;
    return wanted == service::asked;
}

/// True if only pushes are unread. Nobody waits for them, or they are read next. Encrypted bytes may be anything.
bool node::only_pushes_unread()
{
    if (!server_may_push() || stream_->hung_up())
        return false;
    bool found = false; // also if it is unknown: then a new connection is made
    core::if_memory_allows([&] {
        std::string const all = look_at_unread();
        found = !all.empty() && only_pushes(all);
    });
    return found;
}

/// Returns what was read and is not worked off, and the unread bytes behind it; nothing if those cannot be seen, or are too
/// many. It is a copy, since texts of the reply that is being handled refer to what was read.
std::string node::look_at_unread()
{
    std::string all(in_->data() + worked_off_, in_used_ - worked_off_);
    std::size_t const read = all.size();
    for (std::size_t room = in_->size(); room <= most_unread; room *= 2) {
        all.resize(read + room);
        std::size_t const seen = stream_->peek({all.data() + read, room});
        if (seen == 0)
            break;
        if (seen < room)
            return all.erase(read + seen);
    }
    return {};
}

/// The rest of an incomplete push is read later, like the push itself.
bool node::only_pushes(std::string_view rest)
{
    redis::resp_parser scan;
    while (rest.starts_with('>')) {
        auto const push = scan.next(rest);
        if (push.status == redis::parse_status::need_more)
            return true;
        if (push.status == redis::parse_status::malformed)
            return false;
        rest.remove_prefix(push.consumed);
    }
    return rest.empty();
}

namespace {

/// A lack of memory ends, and so does a long script. Redis 8 refuses SUBSCRIBE while it is out of memory.
service after_refusal(redis::resp_node const& reply)
{
    auto const error = redis::is_error(reply.type) ? redis::classify(reply.text) : server_error::none;
    bool const for_now = error == server_error::oom || error == server_error::busy;
    return for_now ? service::off : service::refused;
}

} // namespace

/// A listener would ask a busy server again at once. The next question to the node asks for tracking, too.
void node::on_tracking(redis::resp_node const& reply)
{
    if (!redis::is_error(reply.type))
        return;
    tracking_ = after_refusal(reply);
    if (tracking_ == service::refused)
        listener_.on_tracking_refused(index_, reply);
}

/// Granted with a push: any other answer may leave the channel unheard permanently.
void node::on_subscription(redis::resp_node const& reply)
{
    if (reply.type == redis::resp_type::push)
        return;
    if (subscription_ == service::asked)
        subscription_ = after_refusal(reply);
    listener_.on_subscription_refused(index_, "SUBSCRIBE", reply);
}

/// If a user may not publish, no other client of that user can either.
// rule Q18
void node::on_publication(redis::resp_node const& reply)
{
    if (!redis::is_error(reply.type))
        return;
    subscription_ = after_refusal(reply);
    listener_.on_subscription_refused(index_, "PUBLISH", reply);
}

/// A subscription is the only command that a push answers. The channel's name is ignored: no other command can be
/// meant, and its position among the replies must be freed.
bool node::answers_subscription(std::span<redis::resp_node const> push) const
{
    return answerable_ != 0 && awaited_.front().sink == &subscription_sink_ && redis::is_subscription(push);
}

// rule W2
void node::on_push(std::span<redis::resp_node const> push)
{
    if (auto const said = redis::read_message(push); said && subscribed() && said->channel == channel_)
        return listener_.on_message(index_, said->text);
    auto const told = redis::read_invalidation(push);
    if (!told)
        return;
    if (told->all)
        return listener_.on_key_changed(index_, std::nullopt);
    for (redis::resp_node const& key : told->keys)
        listener_.on_key_changed(index_, key.text);
}

} // namespace redlock::net
