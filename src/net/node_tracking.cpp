#include "net/node.hpp"
#include "redis/push.hpp"

#include <optional>
#include <utility>

// How a node's server tells that keys have changed.
namespace redlock::net {

void node::listen(bool listening)
{
    if (std::exchange(listening_, listening) == listening || closed_ || !connected())
        return;
    if (!listening && reading_ && awaited_.empty())
        ask_time(); // whose answer ends the read
    if (!std::exchange(dirty_, true))
        loop_.enqueue(static_cast<flushable&>(*this));
}

void node::track()
{
    if (tracking_ != tracking::off)
        return;
    tracking_ = facts_.protocol < 3 ? tracking::refused : tracking::asked;
    if (tracking_ == tracking::refused)
        return;
    redis::append_command(out_, {"CLIENT", "TRACKING", "ON", "NOLOOP"});
    expect(tracking_sink_, 0);
}

void node::on_tracking(redis::resp_node const& reply)
{
    if (!redis::is_error(reply.type))
        return;
    tracking_ = tracking::refused;
    listener_.on_tracking_refused(index_, reply);
}

void node::on_push(std::span<redis::resp_node const> push)
{
    auto const told = redis::read_invalidation(push);
    if (!told)
        return;
    if (told->all)
        return listener_.on_key_changed(index_, std::nullopt);
    for (redis::resp_node const& key : told->keys)
        listener_.on_key_changed(index_, key.text);
}

} // namespace redlock::net
