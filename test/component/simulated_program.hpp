// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "world/process.hpp"
#include <redlock/config.hpp>

#include <cstddef>

namespace redlock::test {

/// One program and three servers, in simulated time.
struct simulated_program {
    simulated_program()
    {
        settings.admission.assume_fresh = true;
        for (std::size_t n = 0; n != net.size(); ++n)
            settings.nodes.push_back(net.url(n));
    }

    void run_until(core::duration end)
    {
        do
            program.run();
        while (time.step(end));
    }
    void pass(core::duration length) { run_until(time.now() + length); }

    world::timeline time;
    world::network net{time, 3, 1};
    world::process program{net, 0, 1};
    config settings{};
};

} // namespace redlock::test
