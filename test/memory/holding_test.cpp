// SPDX-License-Identifier: BSL-1.0
#include "connected_scenario.hpp"

#include <chrono>
#include <cstdint>
#include <new>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// An extension by the program, and the lease's own renewals meanwhile.
struct extension : holding_scenario {
    using holding_scenario::holding_scenario;
    void act() override
    {
        lost.begin([&](auto handler) { held.ended(std::move(handler)); });
        for (begun_operation& one : extended)
            one.begin([&](auto handler) { held.extend(std::move(handler)); });
    }
    bool done() const override { return extended[0].settled() && extended[1].settled(); }
    bool succeeded() const override { return !extended[0].ec && !extended[1].ec && held.valid(); }
    void retire() override
    {
        held = {};
        BOOST_TEST(run_until([&] { return lost.settled(); }));
        BOOST_TEST(lost.completions == (lost.refused ? 0U : 1U));
    }
    begun_operation lost;
    begun_operation extended[2];
};

/// Renewed by itself, and watched.
struct renewal : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        mutex mine(*locks, "lock", {.ttl = 450ms, .node_timeout = 100ms});
        acquired.begin([&](auto handler) { mine.acquire(std::move(handler)); });
        run_until([&] { return acquired.settled(); });
        watch(acquired.granted);
        first_end = acquired.granted.expires_at();
    }
    void act() override
    {
        lost.begin([&](auto handler) { acquired.granted.ended(std::move(handler)); });
    }
    /// A renewal begins when a third of the lease is over, and moves the end by as much, however late it is looked at.
    bool renewed() const { return acquired.granted.expires_at() > first_end + 100ms; }
    bool done() const override { return renewed() || !acquired.granted.valid(); }
    bool succeeded() const override { return renewed(); }
    void retire() override { acquired.granted = {}; }
    begun_operation acquired;
    begun_operation lost;
    std::chrono::steady_clock::time_point first_end;
};

/// Releases a lease that is not renewed and has ended.
struct release_after_loss : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        mutex mine(*locks, "lock", {.ttl = 60ms, .renew = false, .node_timeout = 50ms});
        begun_operation acquired;
        acquired.begin([&](auto handler) { mine.acquire(std::move(handler)); });
        run_until([&] { return acquired.settled(); });
        held = std::move(acquired.granted);
        run_until([&] { return !held.valid(); });
    }
    void act() override
    {
        released.begin([&](auto handler) { held.release(std::move(handler)); });
        lost.begin([&](auto handler) { held.ended(std::move(handler)); });
    }
    bool done() const override { return released.settled() && lost.settled(); }
    bool succeeded() const override { return lost.end == lease_end::lost; }
    void retire() override { held = {}; }
    lease held;
    begun_operation released;
    begun_operation lost;
};

/// A writer becomes a reader, or stays a writer.
struct downgrading : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        fenced_shared_mutex mine(*locks, "table", {.ttl = 10min, .node_timeout = 100ms});
        begun_operation acquired;
        acquired.begin([&](auto handler) { mine.acquire(std::move(handler)); });
        run_until([&] { return acquired.settled(); });
        held = std::move(acquired.granted);
        token = held.fencing_token();
    }
    void act() override
    {
        try {
            held.downgrade();
        } catch (std::bad_alloc const&) {
            refused = true;
        }
    }
    void mend() override
    {
        if (!refused)
            return;
        BOOST_TEST(!held.shared());
        BOOST_TEST(held.fencing_token() == token);
        held.downgrade();
    }
    bool done() const override { return held.shared() || !held.valid(); }
    bool succeeded() const override { return held.shared(); }
    void retire() override { held = {}; }
    lease held;
    std::uint64_t token = 0;
    bool refused = false;
};

/// The servers have ended all connections.
struct reconnection : holding_scenario {
    using holding_scenario::holding_scenario;
    void prepare() override
    {
        holding_scenario::prepare();
        servers.kill_connections();
    }
    void act() override
    {
        extended.begin([&](auto handler) { held.extend(std::move(handler)); });
        waiting.begin([&](auto handler) { mutex(*locks, "another").acquire(std::move(handler)); });
    }
    bool done() const override { return extended.settled() && waiting.settled(); }
    void retire() override
    {
        held = {};
        waiting.granted = {};
    }
    begun_operation extended;
    begun_operation waiting;
};

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(extension_without_memory_fails_cleanly)
{
    sweep<extension>();
}

BOOST_AUTO_TEST_CASE(renewal_without_memory_fails_cleanly)
{
    sweep<renewal>();
}

BOOST_AUTO_TEST_CASE(release_after_loss_without_memory_fails_cleanly)
{
    sweep<release_after_loss>();
}

BOOST_AUTO_TEST_CASE(downgrade_without_memory_fails_cleanly)
{
    sweep<downgrading>();
}

BOOST_AUTO_TEST_CASE(reconnection_without_memory_fails_cleanly)
{
    sweep<reconnection>();
}

BOOST_AUTO_TEST_SUITE_END()
