// SPDX-License-Identifier: BSL-1.0
// The subscribers of a server's channels, and their messages.
#include "world/reply.hpp"
#include "world/server.hpp"

#include <iterator>

namespace redlock::world {

namespace {

/// By RESP3 it may come at any time, between any two answers.
std::string about_channel(bool resp3, std::string_view what, std::string const& rest)
{
    return std::string(resp3 ? ">" : "*") + "3\r\n" + reply::bulk(what) + rest;
}

} // namespace

std::string server::subscribe(connection& c, words const& command)
{
    std::string said;
    for (auto channel = command.begin() + 1; channel != command.end(); ++channel) {
        c.channels.insert(*channel);
        said += about_channel(c.resp3, "subscribe",
                              reply::bulk(*channel) + reply::number(std::ssize(c.channels)));
    }
    return said;
}

/// If no channel is named, all of them.
std::string server::unsubscribe(connection& c, words const& command)
{
    words channels(command.begin() + 1, command.end());
    if (channels.empty())
        channels.assign(c.channels.begin(), c.channels.end());
    if (channels.empty())
        return about_channel(c.resp3, "unsubscribe", nil(c) + reply::number(0));
    std::string said;
    for (std::string const& channel : channels) {
        c.channels.erase(channel);
        said += about_channel(c.resp3, "unsubscribe",
                              reply::bulk(channel) + reply::number(std::ssize(c.channels)));
    }
    return said;
}

std::string server::publish(connection&, words const& command)
{
    return reply::number(static_cast<std::int64_t>(tell(command[1], command[2])));
}

/// \returns the number of receivers
std::size_t server::tell(std::string const& channel, std::string const& text)
{
    std::vector<connection_id> listeners;
    for (auto const& [id, c] : connections_)
        if (c.channels.contains(channel))
            listeners.push_back(id);
    for (connection_id const id : listeners) {
        connection& c = connections_.at(id);
        bool const waits = id == current_ && !is.own_messages_first;
        (waits ? own_messages_ : c.out) +=
            about_channel(c.resp3, "message", reply::bulk(channel) + reply::bulk(text));
        if (id != current_)
            spoke_(id);
    }
    return listeners.size();
}

} // namespace redlock::world
