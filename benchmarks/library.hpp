// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cycle_client.hpp"
#include <redlock/config.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace redlock::bench {

inline redlock::config settings_for(std::span<std::uint16_t const> ports)
{
    redlock::config settings;
    for (auto const port : ports)
        settings.nodes.push_back("redis://127.0.0.1:" + std::to_string(port));
    settings.admission.assume_fresh = true; // our servers have just been started, with nothing on them
    return settings;
}

inline redlock::config settings_for(setup const& what)
{
    redlock::config settings = settings_for(what.ports);
    if (what.way == door::tcp)
        return settings;
    settings.nodes.clear();
    if (what.way == door::unix_socket)
        for (auto const port : what.ports)
            settings.nodes.push_back("unix://" + unix_socket_in(what.directory, port));
    else
        for (auto const port : what.tls_ports)
            settings.nodes.push_back("rediss://127.0.0.1:" + std::to_string(port) +
                                     "?tls_ca=" + what.directory + "/authority.pem");
    return settings;
}

} // namespace redlock::bench
