// SPDX-License-Identifier: BSL-1.0
#include "engine/held_lease.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"

// How a holder hears that another client has changed its keys.
namespace redlock::detail {

// rules S10 and P5
bool held_lease::wants_watch() const
{
    return is_certain() && !kept().watching && type().watches != kind::watching::nothing &&
           lock().plan->options.renew;
}

// rule W6
void held_lease::start_watching()
{
    kept().watching = true;
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

/// A node forgets with the connection whom it was to tell, and of changes meanwhile nobody has heard.
void held_lease::on_usable(unsigned node)
{
    reached_.insert(node); // commands that waited for the connection are sent
    if (!parted() && kept().watching)
        watch_on(node);
    if (type().watches == kind::watching::extensions)
        ask_whose();
}

void held_lease::stop_watching()
{
    if (!kept().watching)
        return;
    kept().watching = false;
    nodes().stop_listening();
}

void held_lease::on_watch(node_answer const& got)
{
    bool const ours = type().read_sighting(got.what, got.reply).nonce == owner().text();
    if (!ours && !redis::is_error(got.reply.type))
        ask_whose();
}

/// On nodes where the key was not ours before, rivals come and go: each extension would wake them, and each of them would
/// wake us.
// rule W6
void held_lease::invalidated(unsigned node)
{
    if (facts().holders.contains(node))
        ask_whose();
}

/// One node's word does not count, but an extension does, which every node answers (rule W6).
void held_lease::ask_whose()
{
    if (!is_certain() || !kept().watching)
        return;
    if (kept().extending())
        kept().changed = true;
    else
        renew();
}

} // namespace redlock::detail
