// SPDX-License-Identifier: BSL-1.0
#include "connected_scenario.hpp"

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Two of three permits.
template <class Semaphore>
struct permits_taken : connected_scenario {
    using connected_scenario::connected_scenario;
    void act() override
    {
        try {
            Semaphore pool(*locks, "lock", 3, some_lease());
            acquired.begin([&](auto handler) { pool.acquire(2, std::move(handler)); });
        } catch (std::bad_alloc const&) {
            acquired.refused = true;
        }
    }
    bool done() const override { return acquired.settled(); }
    bool succeeded() const override { return !acquired.ec && acquired.granted.permits().size() == 2; }
    void retire() override
    {
        BOOST_TEST(acquired.completions == (acquired.refused ? 0U : 1U));
        acquired.granted = {};
    }
    begun_operation acquired;
};

/// Another client has all permits. Lists of half of them are too long for a string without memory of its own.
template <class Semaphore>
struct permits_held : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        others.emplace(context.get_executor(), servers.settings());
        warm_up(*others);
        begun_operation got;
        got.begin([&](auto handler) { pool_of(*others).acquire(all_of_them, std::move(handler)); });
        if (!run_until([&] { return got.settled(); }) || got.ec)
            throw std::runtime_error("permits cannot be had while memory is there");
        held = std::move(got.granted);
        watch(held);
    }
    void retire() override
    {
        held = {};
        others.reset();
    }
    [[nodiscard]] static Semaphore pool_of(client& owner)
    {
        return {owner, "lock", all_of_them, some_lease()};
    }
    static constexpr unsigned all_of_them = 24;
    std::optional<client> others;
    lease held;
};

template <class Semaphore>
struct permits_extended : permits_held<Semaphore> {
    using permits_held<Semaphore>::permits_held;
    void act() override
    {
        for (begun_operation& one : extended)
            one.begin([&](auto handler) { this->held.extend(std::move(handler)); });
    }
    bool done() const override { return extended[0].settled() && extended[1].settled(); }
    bool succeeded() const override { return !extended[0].ec && !extended[1].ec && this->held.valid(); }
    begun_operation extended[2];
};

/// The permits go to two operations of another client, which wait for half of them each, when both have a position.
template <class Semaphore>
struct permits_passed_on : permits_held<Semaphore> {
    using base = permits_held<Semaphore>;
    using base::base;

    struct witness : observer {
        explicit witness(permits_passed_on& s) : all(s) {}
        void on_wait(wait_event const& e) noexcept override
        {
            if (!e.in_queue || ++positions != std::size(all.waiting))
                return;
            sparing_new const spared;
            asio::post(all.context, [&its = all] { its.release(); });
        }
        permits_passed_on& all;
        std::size_t positions = 0;
    };

    void prepare() override
    {
        base::prepare();
        for (begun_operation& next : waiting)
            this->watch(next.granted);
    }
    config settings() override
    {
        config its = base::settings();
        its.observer = std::make_shared<witness>(*this);
        return its;
    }
    void act() override
    {
        for (begun_operation& next : waiting)
            next.begin([&](auto handler) {
                base::pool_of(*this->locks).acquire(base::all_of_them / 2, std::move(handler));
            });
    }
    void release()
    {
        if (!std::exchange(is_released, true))
            this->held = {};
    }
    void mend() override { release(); }
    bool done() const override { return waiting[0].settled() && waiting[1].settled(); }
    bool succeeded() const override
    {
        return !waiting[0].ec && !waiting[1].ec && waiting[0].granted.valid() && waiting[1].granted.valid();
    }
    void retire() override
    {
        for (begun_operation& next : waiting) {
            BOOST_TEST(next.completions == (next.refused ? 0U : 1U));
            next.granted = {};
        }
        base::retire();
    }
    begun_operation waiting[2];
    bool is_released = false;
};

/// All permits are taken on two nodes for a moment; the third grants when the next attempt is due, or has found no memory.
struct permit_granted_late : connected_scenario {
    using connected_scenario::connected_scenario;
    void prepare() override
    {
        connected_scenario::prepare();
        if (servers.probes.size() == 1)
            return;
        for (std::size_t const node : {0U, 1U})
            servers.ask(node).command({"EVAL", take_all, "1", "lock"});
        servers.at(2).pause();
    }
    void act() override
    {
        try {
            lock_options options = some_lease();
            options.fair = false;
            semaphore pool(*locks, "lock", 2, options);
            acquired.begin([&](auto handler) { pool.acquire(std::move(handler)); });
        } catch (std::bad_alloc const&) {
            acquired.refused = true;
        }
    }
    void mend() override
    {
        if (servers.probes.size() != 1)
            servers.at(2).resume();
    }
    bool done() const override { return acquired.settled(); }
    bool succeeded() const override { return !acquired.ec && acquired.granted.valid(); }
    void retire() override
    {
        BOOST_TEST(acquired.completions == (acquired.refused ? 0U : 1U));
        acquired.granted = {};
    }
    static constexpr char const* take_all =
        "local clock = redis.call('time') "
        "local over = clock[1] * 1000 + math.floor(clock[2] / 1000) + 250 "
        "local value = string.rep('t', 32) .. over "
        "redis.call('hset', KEYS[1], 'next', over, '0', value, '1', value) "
        "redis.call('pexpireat', KEYS[1], over)";
    begun_operation acquired;
};

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(permits_acquired_without_memory_fail_cleanly)
{
    sweep<permits_taken<semaphore>>();
}

BOOST_AUTO_TEST_CASE(fenced_permits_acquired_without_memory_fail_cleanly)
{
    sweep<permits_taken<fenced_semaphore>>();
}

BOOST_AUTO_TEST_CASE(permits_extended_without_memory_fail_cleanly)
{
    sweep<permits_extended<fenced_semaphore>>();
}

BOOST_AUTO_TEST_CASE(permit_granted_late_without_memory_fails_cleanly)
{
    sweep_once<permit_granted_late>();
}

BOOST_AUTO_TEST_CASE(permits_passed_on_without_memory_fail_cleanly)
{
    sweep<permits_passed_on<semaphore>>();
}

BOOST_AUTO_TEST_SUITE_END()
