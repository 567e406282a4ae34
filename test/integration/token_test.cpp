// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <future>
#include <memory_resource>
#include <thread>
#include <tuple>

using namespace redlock;
using namespace redlock::test;

namespace {

struct token_fixture {
    cluster nodes{3};
    mutex lock = nodes.lock();

    void must_be_free()
    {
        nodes.run_until([&] { return nodes.no_keys(); });
    }
};

/// Runs the context on a thread of its own while it lives.
class background {
public:
    explicit background(asio::io_context& context)
        : work_(context.get_executor()), thread_([&context] { context.run(); })
    {}
    ~background()
    {
        work_.reset();
        thread_.join();
    }
    background(background const&) = delete;
    background& operator=(background const&) = delete;

private:
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::thread thread_;
};

/// Counts what is taken and not given back.
class counting final : public std::pmr::memory_resource {
public:
    int taken = 0;
    int live = 0;

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        ++taken;
        ++live;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        --live;
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override
    {
        return this == &other;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(token, token_fixture)

BOOST_AUTO_TEST_CASE(completion_token_use_awaitable_works)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire(asio::use_awaitable);
        co_await held.extend(asio::use_awaitable);
        co_await held.release(asio::use_awaitable);
        BOOST_TEST(co_await held.ended() == lease_end::released);
    });
}

BOOST_AUTO_TEST_CASE(completion_token_deferred_starts_when_called)
{
    auto operation = lock.acquire(asio::deferred);
    run_dry(nodes.context);
    BOOST_TEST(nodes.proxy(0).accepted() == 0U);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await std::move(operation);
        co_await held.extend(asio::deferred);
        co_await held.release(asio::deferred);
    });
    must_be_free();
}

BOOST_AUTO_TEST_CASE(completion_token_as_tuple_works)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto granted = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(!std::get<0>(granted));
        lease held = std::get<1>(std::move(granted));
        auto refused = co_await lock.try_acquire(asio::as_tuple(asio::deferred));
        BOOST_TEST(std::get<0>(refused) == errc::contended);
        BOOST_TEST(std::get<1>(refused).empty());
        auto const released = co_await held.release(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(!std::get<0>(released));
    });
}

BOOST_AUTO_TEST_CASE(completion_token_redirect_error_works)
{
    nodes.run([&]() -> asio::awaitable<void> {
        error_code ec = errc::misconfigured;
        lease held = co_await lock.acquire(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(!ec);
        lease refused = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(ec == errc::contended);
        co_await held.release(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(!ec);
    });
}

BOOST_AUTO_TEST_CASE(completion_token_use_future_works_from_another_thread)
{
    nodes.context.restart();
    background runner(nodes.context);
    std::future<lease> first = lock.acquire(asio::use_future);
    BOOST_REQUIRE((first.wait_for(patience) == std::future_status::ready));
    lease held = first.get();
    BOOST_TEST(held.valid());
    std::future<lease> second = lock.try_acquire(asio::use_future);
    BOOST_CHECK_EXCEPTION(second.get(), boost::system::system_error,
                          [](auto const& e) { return e.code() == errc::contended; });
    held.extend(asio::use_future).get();
    BOOST_TEST(held.valid());
    std::future<lease_end> end = held.ended(asio::use_future);
    held.release(asio::use_future).get();
    BOOST_TEST(end.get() == lease_end::released);
}

BOOST_AUTO_TEST_CASE(callback_runs_on_its_executor_and_never_inside_the_call)
{
    asio::thread_pool pool(1);
    auto const strand = asio::make_strand(pool);
    bool inside = true;
    std::promise<bool> done;
    lock.acquire(asio::bind_executor(strand, [&](error_code ec, lease held) {
        BOOST_TEST(!ec);
        BOOST_TEST(held.valid());
        done.set_value(!inside && strand.running_in_this_thread());
    }));
    inside = false;
    auto result = done.get_future();
    nodes.run_until([&] { return result.wait_for(0s) == std::future_status::ready; });
    BOOST_TEST(result.get());
    pool.join();
    must_be_free(); // the lease ended with its handler, on another thread
}

BOOST_AUTO_TEST_CASE(handler_allocator_is_used_and_gets_all_memory_back)
{
    counting memory;
    bool done = false;
    std::pmr::polymorphic_allocator<> const allocator(&memory);
    std::array<char, 200> const too_large_to_be_kept_in_place{};
    lock.acquire(
        asio::bind_allocator(allocator, [&, too_large_to_be_kept_in_place](error_code ec, lease held) {
            BOOST_TEST(too_large_to_be_kept_in_place[0] == 0);
            BOOST_TEST(!ec);
            BOOST_TEST(held.valid());
            BOOST_TEST(memory.live == 0); // given back before the call, so that the handler can use it again
            done = true;
        }));
    nodes.run_until([&] { return done; });
    BOOST_TEST(memory.taken > 0);
    BOOST_TEST(memory.live == 0);
}

BOOST_AUTO_TEST_CASE(handler_allocator_is_used_also_for_another_executor)
{
    counting memory;
    bool done = false;
    std::pmr::polymorphic_allocator<> const allocator(&memory);
    lock.acquire(asio::bind_executor(asio::make_strand(nodes.context),
                                     asio::bind_allocator(allocator, [&](error_code ec, lease held) {
                                         BOOST_TEST(!ec);
                                         BOOST_TEST(held.valid());
                                         done = true;
                                     })));
    BOOST_TEST(memory.taken > 0);
    nodes.run_until([&] { return done; });
    BOOST_TEST(memory.live == 0);
}

BOOST_AUTO_TEST_CASE(cancellation_slot_accepts_every_type)
{
    nodes.everywhere({"SET", "lock", "stranger"});
    for (auto const type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        asio::cancellation_signal signal;
        std::optional<error_code> result;
        auto const before = nodes.told->attempts.size();
        lock.acquire(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, lease held) {
            BOOST_TEST(held.empty());
            result = ec;
        }));
        nodes.run_until([&] { return nodes.told->attempts.size() > before; });
        BOOST_TEST(!result);
        signal.emit(type);
        nodes.run_until([&] { return result.has_value(); });
        BOOST_TEST(*result == asio::error::operation_aborted);
        signal.emit(type); // finds nobody
    }
}

BOOST_AUTO_TEST_CASE(move_only_callback_is_accepted)
{
    auto token = std::make_unique<int>(7);
    int seen = 0;
    lock.acquire([&seen, token = std::move(token)](error_code, lease held) {
        BOOST_TEST(held.valid());
        seen = *token;
    });
    nodes.run_until([&] { return seen == 7; });
    must_be_free();
}

BOOST_AUTO_TEST_CASE(operations_on_empty_lease_fail_with_empty_lease)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease nothing;
        BOOST_TEST(nothing.empty());
        BOOST_TEST(!nothing.valid());
        BOOST_TEST(to_string(nothing.state()) == "empty");
        BOOST_TEST(co_await error_of(nothing.extend(asio::use_awaitable)) == errc::empty_lease);
        BOOST_TEST(co_await error_of(nothing.release(asio::use_awaitable)) == errc::empty_lease);
        BOOST_TEST(co_await error_of(nothing.ended(asio::use_awaitable)) == errc::empty_lease);
    });
}

BOOST_AUTO_TEST_SUITE_END()
