// SPDX-License-Identifier: BSL-1.0
#include "component/lone_client.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <future>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr unsigned most_steps = 48;

void forget_others()
{
    real_servers::get().command({"DEL", "resource"});
}

/// \param what called with the client after every number of steps; false when there are no further steps to try
template <class What>
void at_every_step(What what)
{
    real_servers::get().clear();
    for (operation const& op : all_operations())
        for (unsigned steps = 0; steps != most_steps; ++steps)
            BOOST_TEST_CONTEXT(op.name << ", after " << steps << " steps")
            {
                auto s = std::make_unique<lone_client>(real_servers::get().settings());
                op.prepare(*s);
                op.start(*s);
                bool const more = s->run_steps(steps) && !s->result->done();
                what(op, std::move(s));
                forget_others();
                BOOST_TEST(real_servers::get().empty());
                if (!more)
                    break;
            }
}

struct boom {};

/// Destroys the lease as soon as it is shown to be released, as another thread may.
struct dropping_observer : observer {
    void on_lease(lease_event const& e) noexcept override
    {
        ends += e.what == lease_event::kind::acquired ? 0 : 1;
        if (e.what == lease_event::kind::released)
            held = {};
    }
    lease held;
    unsigned ends = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(destruction)

BOOST_AUTO_TEST_CASE(client_destroyed_at_every_step_completes_operation_once)
{
    at_every_step([](operation const&, std::unique_ptr<lone_client> s) {
        s->locks.reset();
        run_until(s->context, [&] { return s->result->done(); });
        run_dry(s->context); // although the lease's handle still exists
        BOOST_TEST(!s->held.valid());
        BOOST_TEST(s->result->completions == 1U);
        s->result->granted = {};
        s->held = {};
        run_dry(s->context);
    });
}

BOOST_AUTO_TEST_CASE(lease_may_be_destroyed_while_shutdown_releases_it)
{
    real_servers::get().clear();
    auto const told = std::make_shared<dropping_observer>();
    config settings = real_servers::get().settings();
    settings.observer = told;
    lone_client s{settings};
    auto const got = std::make_shared<outcome>();
    s.lock("resource", long_lived).acquire(keeps_outcome{got});
    run_until(s.context, [&] { return got->granted.votes() == 3; });
    told->held = std::move(got->granted);
    std::optional<error_code> ended;
    s.locks->shutdown([&](error_code ec) { ended = ec; });
    run_until(s.context, [&] { return ended.has_value(); });
    BOOST_TEST(!*ended);
    BOOST_TEST(told->ends == 1U);
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(lease_destroyed_at_every_step_completes_operation_once)
{
    at_every_step([](operation const& op, std::unique_ptr<lone_client> s) {
        bool const own_lease = s->held.state() == lease_state::held;
        s->held = {};
        if (op.name.find("contended") != std::string::npos)
            s->locks.reset();
        run_until(s->context, [&] { return s->result->done(); });
        s->result->granted = {};
        run_dry(s->context);
        BOOST_TEST(s->result->completions == 1U);
        if (op.name == "lost" && own_lease)
            BOOST_TEST(s->result->ec == errc::released);
    });
}

/// The client goes first, then the context, with everything that is under way.
BOOST_AUTO_TEST_CASE(context_destroyed_at_every_step_destroys_handler)
{
    at_every_step([](operation const&, std::unique_ptr<lone_client> s) {
        auto const result = s->result;
        result->granted = {}; // no lease outlives its context, as no socket does
        s.reset();
        BOOST_TEST(result->completions <= 1U);
        BOOST_TEST(result.use_count() == 1); // the handler is gone, called or not
        real_servers::get().clear();         // nobody was left to release anything
    });
}

/// The same for a context that was told to stop.
BOOST_AUTO_TEST_CASE(stopped_context_destroyed_at_every_step_destroys_handler)
{
    at_every_step([](operation const&, std::unique_ptr<lone_client> s) {
        auto const result = s->result;
        result->granted = {}; // no lease outlives its context, as no socket does
        s->context.stop();
        s.reset();
        BOOST_TEST(result->completions <= 1U);
        BOOST_TEST(result.use_count() == 1);
        real_servers::get().clear();
    });
}

/// A coroutine that owns client and lease is destroyed by its context, with both in it.
BOOST_AUTO_TEST_CASE(context_destroyed_below_coroutine_destroys_client_and_lease)
{
    for (unsigned steps = 0; steps != 80; ++steps)
        BOOST_TEST_CONTEXT("after " << steps << " steps")
        {
            auto const witness = std::make_shared<int>(0);
            {
                asio::io_context context;
                auto const owner = [&context, witness](config settings) -> asio::awaitable<void> {
                    auto const kept = witness;
                    client locks(context.get_executor(), settings);
                    mutex seat(locks, "seat", long_lived);
                    lease held = co_await seat.acquire(asio::use_awaitable);
                    co_await held.extend(asio::use_awaitable);
                    co_await with_lock(mutex(locks, "inner", long_lived),
                                       [&](lease& inner) -> asio::awaitable<void> {
                                           co_await inner.extend(asio::use_awaitable);
                                           co_await held.ended(asio::use_awaitable);
                                       });
                };
                asio::co_spawn(context, owner(real_servers::get().settings()), asio::detached);
                for (unsigned i = 0; i != steps && context.run_one_for(50ms) != 0; ++i) {
                }
            }
            BOOST_TEST(witness.use_count() == 1);
        }
    real_servers::get().clear();
}

/// The one that leads was not the first to come.
BOOST_AUTO_TEST_CASE(context_destroyed_with_readers_that_share_a_key)
{
    {
        asio::io_context context;
        client locks(context.get_executor(), real_servers::get().settings());
        lock_options options = long_lived;
        options.handover.period = 1h;
        shared_mutex wanted(locks, "resource", options);
        std::vector<lease> held(5);
        for (lease& each : held)
            wanted.acquire_shared([&each](error_code, lease got) { each = std::move(got); });
        run_until(context, [&] { return std::ranges::all_of(held, &lease::valid); });
        held.erase(held.begin(), held.begin() + 2);
        lease late;
        wanted.acquire_shared([&late](error_code, lease got) { late = std::move(got); });
        run_until(context, [&] { return late.valid(); });
        BOOST_TEST(late.nonce() == held.front().nonce());
    }
    real_servers::get().clear();
}

BOOST_AUTO_TEST_CASE(thread_pool_destroyed_with_pending_operation_destroys_handler)
{
    auto const result = std::make_shared<outcome>();
    {
        asio::thread_pool pool(2);
        client locks(asio::make_strand(pool), nobody_there());
        mutex(locks, "resource", long_lived).acquire(keeps_outcome{result});
        pool.stop();
        pool.join();
    }
    BOOST_TEST(result.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(client_destroyed_in_a_handler_completes_operations_once)
{
    for (operation const& op : all_operations()) {
        if (op.name.find("contended") != std::string::npos || op.name == "lost")
            continue; // they do not end by themselves
        BOOST_TEST_CONTEXT(op.name)
        {
            lone_client s(real_servers::get().settings());
            op.prepare(s);
            op.start(s);
            // The handler of a second operation that ends in the same turn destroys what the first one uses.
            auto const second = std::make_shared<outcome>();
            keeps_outcome const keep{second};
            s.lock("second").acquire([&, keep](error_code ec, lease granted) {
                s.locks.reset();
                s.held = {};
                keep(ec, std::move(granted));
                keep.into->granted = {};
            });
            run_until(s.context, [&] { return s.result->done() && second->done(); });
            run_dry(s.context);
            s.result->granted = {};
            run_dry(s.context);
            BOOST_TEST(s.result->completions == 1U);
            BOOST_TEST(second->completions == 1U);
            BOOST_TEST(real_servers::get().empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(client_and_lease_destroyed_in_acquire_handler_leave_no_keys)
{
    lone_client s(real_servers::get().settings());
    bool called = false;
    s.lock().acquire([&](error_code ec, lease granted) {
        BOOST_TEST(ec == error_code());
        s.locks.reset();
        BOOST_TEST(!granted.valid());
        granted = {};
        called = true;
    });
    run_dry(s.context);
    BOOST_TEST(called);
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(lease_destroyed_in_handlers_of_its_operations_leaves_no_keys)
{
    for (int which = 0; which != 3; ++which) {
        lone_client s(real_servers::get().settings());
        s.acquire("held");
        unsigned calls = 0;
        auto const destroy = [&](error_code, auto...) {
            ++calls;
            s.held = {};
        };
        s.held.ended(destroy);
        if (which == 0)
            s.held.extend(destroy);
        else if (which == 1)
            s.held.release(destroy);
        else
            s.locks.reset();
        run_dry(s.context);
        BOOST_TEST(calls == (which == 2 ? 1U : 2U));
    }
    BOOST_TEST(real_servers::get().empty());
}

/// Moving a client is not destroying it; assigning to it ends what was there.
BOOST_AUTO_TEST_CASE(client_assigned_to_ends_its_lease_with_shut_down)
{
    lone_client s(real_servers::get().settings());
    s.acquire("held");
    auto const reason = std::make_shared<outcome>();
    s.held.ended(keeps_outcome{reason});
    client moved = std::move(*s.locks);
    s.run_steps(4);
    BOOST_TEST(s.held.valid());
    moved = client(s.context.get_executor(), real_servers::get().settings());
    run_dry(s.context);
    BOOST_TEST((reason->end == lease_end::shut_down));
    BOOST_TEST(!s.held.valid());
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(throwing_handler)

BOOST_AUTO_TEST_CASE(exception_of_handler_leaves_run_and_client_goes_on)
{
    lone_client s(real_servers::get().settings());
    s.acquire("warm-up");
    s.release();
    auto const first = std::make_shared<outcome>();
    auto const last = std::make_shared<outcome>();
    s.lock("a").acquire(keeps_outcome{first});
    s.lock("b").acquire([](error_code, lease) { throw boom{}; });
    s.lock("c").acquire(keeps_outcome{last});
    s.context.restart();
    BOOST_CHECK_THROW(s.context.run_for(patience), boom);
    run_until(s.context, [&] { return first->done() && last->done(); });
    BOOST_TEST(first->ec == error_code());
    BOOST_TEST(last->ec == error_code());
    first->granted = {};
    last->granted = {};
    run_dry(s.context);
    BOOST_TEST(real_servers::get().empty());
    s.acquire();
    BOOST_TEST(s.release() == error_code());
}

BOOST_AUTO_TEST_CASE(exception_of_failed_acquire_handler_leaves_run)
{
    lone_client s(nobody_there());
    s.lock().try_acquire([](error_code ec, lease) {
        BOOST_TEST(ec == errc::no_quorum);
        throw boom{};
    });
    BOOST_CHECK_THROW(s.context.run_for(patience), boom);
    s.lock().try_acquire(s.handler());
    run_dry(s.context);
    BOOST_TEST(s.result->ec == errc::no_quorum);
}

BOOST_AUTO_TEST_CASE(exception_of_any_operations_handler_leaves_run)
{
    auto const thrower = [](error_code) { throw boom{}; };
    for (int which = 0; which != 4; ++which) {
        lone_client s(real_servers::get().settings());
        s.acquire("held");
        s.held.ended(s.handler());
        if (which == 0)
            s.held.extend(thrower);
        else if (which == 1)
            s.held.release(thrower);
        else if (which == 2)
            s.locks->shutdown(thrower);
        else
            s.lock("other").try_acquire([](error_code, lease) { throw boom{}; });
        s.context.restart();
        BOOST_CHECK_THROW(s.context.run_for(patience), boom);
        s.held = {};
        run_dry(s.context);
        BOOST_TEST(s.result->completions == 1U);
    }
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_SUITE_END()
