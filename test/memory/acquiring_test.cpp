// SPDX-License-Identifier: BSL-1.0
#include "connected_scenario.hpp"

#include <boost/asio/post.hpp>

#include <optional>
#include <stdexcept>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Starts with nothing: client, connections, lock, lease, release.
struct first_cycle : scenario {
    using scenario::scenario;
    void act() override
    {
        try {
            locks.emplace(context.get_executor(), servers.settings());
            auto mine = lock();
            acquired.begin([&](auto handler) {
                mine.acquire([this, handler](error_code ec, lease held) mutable {
                    released.begin([&](auto over) { held.release(std::move(over)); });
                    handler(ec, std::move(held));
                });
            });
        } catch (std::bad_alloc const&) {
            acquired.refused = true;
        }
    }
    bool done() const override { return acquired.settled() && (acquired.refused || released.settled()); }
    bool succeeded() const override
    {
        return acquired.completions == 1 && !acquired.ec && released.completions == 1 && !released.ec;
    }
    void retire() override
    {
        BOOST_TEST(acquired.completions == (acquired.refused ? 0U : 1U));
        BOOST_TEST(released.completions == (acquired.refused || released.refused ? 0U : 1U));
        acquired.granted = {};
    }
    begun_operation acquired;
    begun_operation released;
};

/// On a client that has connected.
template <class Lock>
struct cycle : connected_scenario {
    using connected_scenario::connected_scenario;
    void act() override
    {
        try {
            Lock mine(*locks, "lock", some_lease());
            acquired.begin([&](auto handler) { mine.acquire(std::move(handler)); });
        } catch (std::bad_alloc const&) {
            acquired.refused = true;
        }
    }
    bool done() const override { return acquired.settled(); }
    bool succeeded() const override { return !acquired.ec && acquired.granted.valid(); }
    void retire() override
    {
        BOOST_TEST(acquired.completions == (acquired.refused ? 0U : 1U));
        acquired.granted = {};
    }
    begun_operation acquired;
};

/// The last of three has the lock from the one before, which had it from the first.
struct hand_over : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        take(*locks, first);
        for (begun_operation& next : waiting)
            watch(next.granted);
        watch(first);
    }
    void act() override
    {
        for (begun_operation& next : waiting)
            next.begin([&](auto handler) {
                lock().acquire([&next, handler](error_code ec, lease got) mutable {
                    handler(ec, std::move(got));
                    next.granted = {};
                });
            });
        released.begin([&](auto handler) { first.release(std::move(handler)); });
    }
    void mend() override
    {
        if (released.refused)
            first = {};
    }
    bool done() const override { return waiting[0].settled() && waiting[1].settled() && released.settled(); }
    bool succeeded() const override { return !waiting[0].ec && !waiting[1].ec && !released.ec; }
    void retire() override
    {
        for (begun_operation const& next : waiting)
            BOOST_TEST(next.completions == (next.refused ? 0U : 1U));
        BOOST_TEST(released.completions == (released.refused ? 0U : 1U));
        first = {};
    }
    lease first;
    begun_operation waiting[2];
    begun_operation released;
};

/// One client has the lock, another waits for it.
struct two_clients : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        others.emplace(context.get_executor(), servers.settings());
        warm_up(*others);
        take(*others, first);
        watch(first);
        watch(waiting.granted);
    }
    void act() override
    {
        waiting.begin([&](auto handler) { lock().acquire(std::move(handler)); });
        released.begin([&](auto handler) { first.release(std::move(handler)); });
    }
    void mend() override
    {
        if (released.refused)
            first = {};
    }
    bool done() const override { return waiting.settled() && released.settled(); }
    bool succeeded() const override { return !waiting.ec && !released.ec; }
    void retire() override
    {
        waiting.granted = {};
        first = {};
        others.reset();
    }
    std::optional<client> others;
    lease first;
    begun_operation waiting;
    begun_operation released;
};

/// A writer waits for a reader of another client.
struct readers_and_writer : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        others.emplace(context.get_executor(), servers.settings());
        warm_up(*others);
        begun_operation got;
        got.begin([&](auto handler) { of(*others).acquire_shared(std::move(handler)); });
        if (!run_until([&] { return got.settled(); }) || got.ec)
            throw std::runtime_error("the lock cannot be read while memory is there");
        first = std::move(got.granted);
        watch(first);
        watch(writes.granted);
    }
    void act() override
    {
        writes.begin([&](auto handler) { of(*locks).acquire(std::move(handler)); });
        released.begin([&](auto handler) { first.release(std::move(handler)); });
    }
    void mend() override
    {
        if (released.refused)
            first = {};
    }
    bool done() const override { return writes.settled() && released.settled(); }
    bool succeeded() const override { return !writes.ec && !released.ec && writes.granted.valid(); }
    void retire() override
    {
        BOOST_TEST(writes.completions == (writes.refused ? 0U : 1U));
        writes.granted = {};
        first = {};
        others.reset();
    }
    [[nodiscard]] static shared_mutex of(client& owner) { return {owner, "lock", some_lease()}; }
    std::optional<client> others;
    lease first;
    begun_operation writes;
    begun_operation released;
};

/// Another client has one of two names until the set has taken the other name (rule M8).
struct one_name_after_the_other : connected_scenario {
    using connected_scenario::connected_scenario;

    struct witness : observer {
        explicit witness(one_name_after_the_other& s) : all(s) {}
        void on_lease(lease_event const& e) noexcept override
        {
            if (e.what == lease_event::kind::acquired && e.resource == "a")
                all.taken();
        }
        one_name_after_the_other& all;
    };

    void prepare() override
    {
        config settings = servers.settings();
        settings.observer = std::make_shared<witness>(*this);
        locks.emplace(context.get_executor(), settings);
        warm_up(*locks);
        others.emplace(context.get_executor(), servers.settings());
        warm_up(*others);
        take(*others, first);
        watch(first);
        watch(acquired.granted);
    }
    void taken()
    {
        sparing_new const spared;
        ++times_taken;
        asio::post(context, [this] { first = {}; });
    }
    static lock_options without_position()
    {
        lock_options options = some_lease();
        options.fair = false;
        return options;
    }
    void act() override
    {
        try {
            // The set takes them one by one after a while.
            multi_mutex mine(*locks, {"a", "lock"}, without_position());
            acquired.begin([&](auto handler) { mine.acquire(std::move(handler)); });
        } catch (std::bad_alloc const&) {
            acquired.refused = true;
        }
    }
    bool done() const override { return acquired.settled(); }
    bool succeeded() const override { return !acquired.ec && acquired.granted.valid() && times_taken == 1; }
    void retire() override
    {
        BOOST_TEST(acquired.completions == (acquired.refused ? 0U : 1U));
        acquired.granted = {};
        first = {};
        others.reset();
    }
    std::optional<client> others;
    lease first;
    begun_operation acquired;
    unsigned times_taken = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(first_cycle_without_memory_fails_cleanly)
{
    sweep<first_cycle>();
}

BOOST_AUTO_TEST_CASE(acquire_without_memory_fails_cleanly)
{
    sweep<cycle<mutex>>();
}

BOOST_AUTO_TEST_CASE(fenced_acquire_without_memory_fails_cleanly)
{
    sweep<cycle<fenced_mutex>>();
}

BOOST_AUTO_TEST_CASE(hand_over_without_memory_fails_cleanly)
{
    sweep<hand_over>();
}

BOOST_AUTO_TEST_CASE(waiting_without_memory_fails_cleanly)
{
    sweep<two_clients>();
}

BOOST_AUTO_TEST_CASE(writer_that_waits_without_memory_fails_cleanly)
{
    sweep<readers_and_writer>();
}

BOOST_AUTO_TEST_CASE(names_one_after_the_other_without_memory_fail_cleanly)
{
    sweep<one_name_after_the_other>();
}

BOOST_AUTO_TEST_SUITE_END()
