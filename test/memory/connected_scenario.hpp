// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "scenario.hpp"

namespace redlock::test {

/// A client that has connected, and knows the scripts.
struct connected_scenario : scenario {
    using scenario::scenario;
    void prepare() override
    {
        locks.emplace(context.get_executor(), settings());
        warm_up(*locks);
    }
    virtual config settings() { return servers.settings(); }
    void warm_up(client& one)
    {
        for (int i = 0; i != 2; ++i) {
            lease held;
            take(one, held);
            begun_operation extended;
            extended.begin([&](auto handler) { held.extend(std::move(handler)); });
            begun_operation released;
            released.begin([&](auto handler) { held.release(std::move(handler)); });
            run_until([&] { return released.settled(); });
        }
    }
};

/// A connected client that holds the lock, too.
struct holding_scenario : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        take(*locks, held);
        watch(held);
    }
    void retire() override { held = {}; }
    lease held;
};

} // namespace redlock::test
