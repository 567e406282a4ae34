#pragma once

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
    settings.assume_fresh = true; // our servers have just been started, with nothing on them
    return settings;
}

} // namespace redlock::bench
