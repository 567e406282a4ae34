#include "net/node.hpp"
#include "redis/push.hpp"
#include "redis/resp.hpp"

#include <new>
#include <optional>
#include <string_view>
#include <utility>

// How a node's server tells that keys have changed.
namespace redlock::net {

void node::listen(bool listening)
{
    if (std::exchange(listening_, listening) == listening || closed_ || !connected())
        return;
    if (!listening && reading_ && awaited_.empty()) {
        if (!reserve_capacity())
            return fail_soon();
        ask_time(); // whose answer ends the read
    }
    flush_soon();
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

/// Word of keys for somebody who waits no more, or for whom it is read next. What TLS has enciphered may be anything.
bool node::only_words_unread()
{
    if (!tracks() || stream_->hung_up())
        return false;
    try {
        std::size_t const seen = count_unread();
        return seen != 0 && only_words({in_.data() + worked_off_, in_used_ + seen - worked_off_});
    } catch (std::bad_alloc const&) { // not known: then a new connection is the answer
        return false;
    }
}

/// They are then behind what has been read. None where they cannot be seen, or are too many.
std::size_t node::count_unread()
{
    for (;;) {
        std::size_t const room = in_.size() - in_used_;
        std::size_t const seen = room == 0 ? 0 : stream_->peek({in_.data() + in_used_, room});
        if (seen < room)
            return seen;
        if (in_.size() >= most_unread) // more may be behind it
            return 0;
        in_.resize(in_.size() * 2);
    }
}

bool node::only_words(std::string_view rest)
{
    redis::resp_parser scan;
    while (rest.starts_with('>')) {
        auto const word = scan.next(rest);
        if (word.status == redis::parse_status::need_more)
            return true;
        if (word.status == redis::parse_status::malformed)
            return false;
        rest.remove_prefix(word.consumed);
    }
    return rest.empty();
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
