// SPDX-License-Identifier: BSL-1.0
#include "engine/held_lease.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"

// How a holder hears that somebody else has touched its keys.
namespace redlock::detail {

// rules S10 and P5
bool held_lease::wants_watch() const
{
    return !watching_ && type().watches != kind::watching::nothing && lock().plan->options.renew &&
           machine_.phase() == core::lease_phase::held;
}

// rule W6
void held_lease::start_watching()
{
    watching_ = true;
    nodes().listen();
    for (unsigned i = 0; i != nodes().size(); ++i)
        watch_on(i);
    if (type().watches == kind::watching::extensions)
        ask_whose();
}

void held_lease::watch_on(unsigned node)
{
    net::node& asked = nodes().at(node);
    if (!asked.make_usable_now())
        return;
    asked.track();
    if (asked.tracks() && type().watches == kind::watching::keys)
        send(node, kind::request::owner);
}

/// Tracking ends with the connection, and changes in between are not reported.
void held_lease::on_usable(unsigned node)
{
    reached_.insert(node); // commands that waited for the connection are sent
    if (watching_)
        watch_on(node);
    if (type().watches == kind::watching::extensions)
        ask_whose();
}

void held_lease::stop_watching()
{
    if (watching_)
        nodes().stop_listening();
    watching_ = false;
}

void held_lease::on_watch(node_answer const& got)
{
    bool const ours = type().read_sighting(got.what, got.reply).nonce == owner().text();
    if (!ours && !redis::is_error(got.reply.type))
        ask_whose();
}

/// If the key was not ours before, rivals come and go: each extension would wake them, and each of them us.
// rule W6
void held_lease::invalidated(unsigned node)
{
    if (machine_.voted_for_us(node))
        ask_whose();
}

/// Not what a node says of it counts, but an extension, which every node answers (rule W6).
void held_lease::ask_whose()
{
    if (!watching_ || machine_.phase() != core::lease_phase::held)
        return;
    if (machine_.extending())
        changed_ = true;
    else
        renew();
}

} // namespace redlock::detail
