// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "fuzz/require.hpp"
#include "redis/resp_parser.hpp"
#include "world/process.hpp"
#include <redlock/config.hpp>
#include <redlock/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

// The common parts of fuzz targets with a whole client.
namespace redlock::fuzz {

using namespace std::chrono_literals;

/// The parts of an input, which zeros part.
[[nodiscard]] inline std::deque<std::string> parts_of(std::string_view text, std::size_t most)
{
    std::deque<std::string> parts;
    while (!text.empty() && parts.size() != most) {
        auto const end = std::min(text.find('\0'), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

/// One program with one server, whose output is changed on the way. All of their time is simulated.
struct garbled_server {
    world::timeline time{};
    world::network net;
    world::process program;

    /// \param seed its chance decides into which pieces bytes come apart
    explicit garbled_server(unsigned seed) : net(time, 1, seed + 1), program(net, 0, 1)
    {
        net.pieces = seed % 2 * 50;
    }

    [[nodiscard]] world::node& node() { return net.at(0); }
    [[nodiscard]] std::optional<std::string> value_of(std::string const& key)
    {
        return node().redis.keys().text(key, node().wall_us(time.now()) / 1000);
    }
    template <class Condition>
    void run_until(world::duration end, Condition const& reached)
    {
        do
            while (program.run())
                ;
        while (!reached() && time.step(end));
    }
    void run_until(world::duration end)
    {
        run_until(end, [] { return false; });
    }
};

} // namespace redlock::fuzz
