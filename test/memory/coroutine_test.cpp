// SPDX-License-Identifier: BSL-1.0
#include "connected_scenario.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <new>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// The fate of a coroutine: Asio destroys one when an operation that it awaits cannot be started.
struct fate {
    bool refused = false;
    bool gone = false;
    unsigned completions = 0;

    class handler {
    public:
        explicit handler(fate& of) : of_(&of) {}
        handler(handler&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        handler& operator=(handler&&) = delete;
        ~handler()
        {
            if (of_)
                of_->gone = true;
        }
        void operator()(std::exception_ptr) { ++std::exchange(of_, nullptr)->completions; }

    private:
        fate* of_;
    };

    [[nodiscard]] bool settled() const { return refused || gone || completions != 0; }
};

/// A coroutine has only Asio's guarantees when memory runs out; everything else has ours.
struct in_a_coroutine : connected_scenario {
    using connected_scenario::connected_scenario;
    asio::awaitable<void> work()
    {
        mutex mine = lock();
        lease held = co_await mine.acquire();
        co_await held.extend();
        co_await held.release();
        released = true;
    }
    void act() override
    {
        try {
            asio::co_spawn(context, work(), fate::handler(end));
        } catch (std::bad_alloc const&) {
            end.refused = true;
        }
    }
    bool done() const override { return end.settled(); }
    bool succeeded() const override { return released; }
    void retire() override { BOOST_TEST(end.completions <= 1U); }
    bool may_throw() const override { return true; }
    fate end;
    bool released = false;
};

/// The body finds no memory for what it wants to do; afterwards there is some again.
struct hungry_body : connected_scenario {
    using connected_scenario::connected_scenario;
    asio::awaitable<void> work(lease& held)
    {
        held_inside = held.valid();
        failing_new const failing(1, 4);
        std::string const much(std::size_t{1} << 20U, 'x');
        survived = !much.empty();
        co_return;
    }
    void act() override
    {
        auto const body = [this](lease& held) { return work(held); };
        with_lock(lock({.ttl = 10min}), body, [this](std::exception_ptr e) {
            why = std::move(e);
            ended = true;
        });
    }
    bool done() const override { return ended; }
    bool held_inside = false;
    bool survived = false;
    bool ended = false;
    std::exception_ptr why;
};

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(awaiting_without_memory_fails_cleanly)
{
    sweep_once<in_a_coroutine>();
}

/// Asio's own limits leave no more to be promised of with_lock (docs/promise.md, "When memory runs out").
BOOST_AUTO_TEST_CASE(with_lock_body_without_memory_ends_and_its_lock_is_released)
{
    for (std::size_t const nodes : {1U, 3U}) {
        hungry_body s(installed(nodes));
        s.prepare();
        s.act();
        BOOST_TEST_REQUIRE(s.run_until([&] { return s.done(); }));
        BOOST_TEST(s.held_inside);
        BOOST_TEST(!s.survived);
        BOOST_TEST(s.thrown == 0U);
        BOOST_CHECK_THROW(std::rethrow_exception(s.why), std::bad_alloc);
        client other(s.context.get_executor(), s.servers.settings());
        lease next;
        s.take(other, next); // it would wait for ten minutes
        BOOST_TEST(next.valid());
    }
}

BOOST_AUTO_TEST_SUITE_END()
