// SPDX-License-Identifier: BSL-1.0
#include "connected_scenario.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A holder, a waiter, and an operation that waits for the lease's end.
struct busy : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        take(*locks, held);
        lost.begin([&](auto handler) { held.ended(std::move(handler)); });
        waiting.begin([&](auto handler) { lock().acquire(std::move(handler)); });
        run_a_little();
    }
    bool done() const override { return lost.settled() && waiting.settled(); }
    void retire() override
    {
        BOOST_TEST(lost.completions == 1U);
        BOOST_TEST(waiting.completions == 1U);
        held = {};
        waiting.granted = {};
    }
    lease held;
    begun_operation lost;
    begun_operation waiting;
};

struct shutting_down : busy {
    using busy::busy;
    void act() override
    {
        ended.begin([&](auto handler) { locks->shutdown(std::move(handler)); });
        if (!ended.begun) // nothing has been started
            locks.reset();
    }
    bool done() const override { return busy::done() && ended.settled(); }
    bool succeeded() const override { return !ended.ec && waiting.ec == errc::shut_down; }
    void retire() override
    {
        busy::retire();
        locks.reset();
    }
    begun_operation ended;
};

struct destroyed : busy {
    using busy::busy;
    void act() override { locks.reset(); }
    bool succeeded() const override { return lost.end == lease_end::shut_down; }
};

/// The handle goes, and with it the lease.
struct dropped : busy {
    using busy::busy;
    void act() override { held = {}; }
    bool succeeded() const override { return !waiting.ec && lost.end == lease_end::released; }
};

/// Waiting operations are cancelled.
struct cancelled : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        take(*locks, held);
    }
    void act() override
    {
        waiting.begin([&](auto handler) {
            lock().acquire(asio::bind_cancellation_slot(given_up.slot(), std::move(handler)));
        });
        lost.begin([&](auto handler) {
            held.ended(asio::bind_cancellation_slot(not_interested.slot(), std::move(handler)));
        });
        cancel();
    }
    void cancel()
    {
        try {
            given_up.emit(asio::cancellation_type::terminal);
            not_interested.emit(asio::cancellation_type::terminal);
        } catch (std::bad_alloc const&) { // from elsewhere than the executor
            not_cancelled = true;
        }
    }
    void mend() override
    {
        if (not_cancelled)
            cancel();
    }
    bool done() const override { return waiting.settled() && lost.settled(); }
    bool succeeded() const override
    {
        return waiting.ec == asio::error::operation_aborted && lost.ec == asio::error::operation_aborted;
    }
    void retire() override
    {
        BOOST_TEST(waiting.completions == (waiting.refused ? 0U : 1U));
        held = {};
        waiting.granted = {};
    }
    lease held;
    begun_operation waiting;
    begun_operation lost;
    bool not_cancelled = false;
    asio::cancellation_signal given_up;
    asio::cancellation_signal not_interested;
};

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(shutdown_without_memory_fails_cleanly)
{
    sweep<shutting_down>();
}

BOOST_AUTO_TEST_CASE(client_destroyed_without_memory_ends_cleanly)
{
    sweep<destroyed>();
}

BOOST_AUTO_TEST_CASE(lease_destroyed_without_memory_ends_cleanly)
{
    sweep<dropped>();
}

BOOST_AUTO_TEST_CASE(cancellation_without_memory_fails_cleanly)
{
    sweep<cancelled>();
}

BOOST_AUTO_TEST_SUITE_END()
