#include "component/stage.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <thread>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr int rounds = 20;

/// Boost.Test's checks are for one thread; others count what went wrong.
class faults {
public:
    void require(bool condition)
    {
        if (!condition)
            ++count_;
    }
    ~faults() { BOOST_TEST(count_ == 0); }

private:
    std::atomic<int> count_ = 0;
};

/// Threads that run a context until it is told to stop.
class runners {
public:
    explicit runners(asio::io_context& context, int threads = 1) : work_(context.get_executor())
    {
        for (int i = 0; i != threads; ++i)
            threads_.emplace_back([&context] { context.run(); });
    }
    ~runners() { join(); }

    void join()
    {
        work_.reset();
        for (auto& t : threads_)
            if (t.joinable())
                t.join();
    }
    [[nodiscard]] std::thread::id id() const { return threads_.front().get_id(); }

private:
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::vector<std::thread> threads_;
};

template <class T>
T get(std::future<T> future)
{
    if (future.wait_for(patience) != std::future_status::ready)
        throw std::runtime_error("an operation does not complete");
    return future.get();
}

/// Acquire, look, extend, release; all from this thread, which is none of the client's.
void use_from_here(mutex lock, std::atomic<int>& inside, faults& found)
{
    for (int i = 0; i != rounds; ++i) {
        lease held = get(lock.acquire(asio::use_future));
        found.require(++inside == 1);
        found.require(held.valid() && held.remaining() > 0ns && held.votes() >= 2);
        get(held.extend(asio::use_future));
        found.require(held.state() == lease_state::held);
        found.require(--inside == 0);
        get(held.release(asio::use_future));
        found.require(!held.valid() && held.state() == lease_state::released);
    }
}

lock_options impatient()
{
    lock_options options = long_lived;
    options.retry.max_delay = 10ms;
    return options;
}

/// Two threads per name, so that they contend, and two names, so that they do not.
void contend_from_threads(asio::any_io_executor const& executor)
{
    faults found;
    client locks(executor, real_servers::get().settings());
    std::atomic<int> inside[2] = {0, 0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != 4; ++i)
        threads.emplace_back([&, i] {
            use_from_here(mutex(locks, "name" + std::to_string(i % 2), impatient()), inside[i % 2], found);
        });
    for (auto& t : threads)
        t.join();
    get(locks.shutdown(asio::use_future));
}

} // namespace

BOOST_AUTO_TEST_SUITE(threads)

BOOST_AUTO_TEST_CASE(strand_over_a_pool)
{
    asio::thread_pool pool(4);
    contend_from_threads(asio::make_strand(pool));
    pool.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(strand_over_a_context_with_threads)
{
    asio::io_context context;
    runners threads(context, 3);
    contend_from_threads(asio::make_strand(context));
    threads.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(context_with_one_thread)
{
    asio::io_context context;
    runners thread(context);
    contend_from_threads(context.get_executor());
    thread.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(one_client_and_context_per_thread)
{
    faults found;
    std::atomic<int> inside = 0;
    std::vector<std::thread> threads;
    config const settings = real_servers::get().settings();
    for (int i = 0; i != 3; ++i)
        threads.emplace_back([&] {
            asio::io_context context;
            client locks(context.get_executor(), settings);
            auto const body = [&]() -> asio::awaitable<void> {
                mutex lock(locks, "shared", impatient());
                for (int round = 0; round != rounds; ++round) {
                    lease held = co_await lock.acquire();
                    found.require(++inside == 1);
                    co_await asio::post(asio::use_awaitable);
                    found.require(--inside == 0);
                    co_await held.release();
                }
            };
            asio::co_spawn(context, body(), [&](std::exception_ptr failure) { found.require(!failure); });
            context.run_for(patience);
            found.require(context.stopped());
        });
    for (auto& t : threads)
        t.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(observers_during_renewals)
{
    faults found;
    asio::thread_pool pool(2);
    client locks(asio::make_strand(pool), real_servers::get().settings());
    lease held = get(mutex(locks, "observed", long_lived).acquire(asio::use_future));
    std::atomic<bool> over = false;
    std::vector<std::thread> watchers;
    for (int i = 0; i != 2; ++i)
        watchers.emplace_back([&] {
            while (!over) {
                found.require(held.valid() && held.state() == lease_state::held);
                found.require(held.remaining() > 5min && held.remaining() < 10min);
                found.require(held.votes() >= 2 && held.votes() <= 3);
                found.require(held.resource() == "observed" && held.nonce().size() == 32);
                (void)locks.nodes();
            }
        });
    for (int i = 0; i != 200; ++i)
        get(held.extend(asio::use_future));
    over = true;
    for (auto& w : watchers)
        w.join();
    get(held.release(asio::use_future));
    get(locks.shutdown(asio::use_future));
    pool.join();
}

BOOST_AUTO_TEST_CASE(last_attempt_is_read_during_attempts)
{
    faults found;
    asio::thread_pool pool(2);
    client locks(asio::make_strand(pool), real_servers::get().settings());
    mutex const lock(locks, "table", long_lived);
    std::atomic<bool> over = false;
    std::thread reader([&] {
        while (!over) {
            auto const table = lock.last_attempt();
            found.require(table.empty() || table.size() == 3);
        }
    });
    for (int i = 0; i != rounds; ++i)
        get(mutex(lock).try_acquire(asio::use_future)) = {};
    over = true;
    reader.join();
    get(locks.shutdown(asio::use_future));
    pool.join();
    BOOST_TEST(real_servers::get().empty());
}

/// Leases are thrown away by other threads than the client's.
BOOST_AUTO_TEST_CASE(leases_destroyed_elsewhere)
{
    asio::thread_pool pool(3);
    {
        client locks(asio::make_strand(pool), real_servers::get().settings());
        std::vector<std::thread> threads;
        for (int i = 0; i != 4; ++i)
            threads.emplace_back([&locks, i] {
                for (int round = 0; round != rounds; ++round)
                    lease const thrown_away =
                        get(mutex(locks, "own" + std::to_string(i), impatient()).acquire(asio::use_future));
            });
        for (auto& t : threads)
            t.join();
        get(locks.shutdown(asio::use_future));
    }
    pool.join();
    BOOST_TEST(real_servers::get().empty());
}

/// The client itself goes while operations are under way, on another thread than its executor's.
BOOST_AUTO_TEST_CASE(client_destroyed_elsewhere)
{
    asio::thread_pool pool(3);
    for (int round = 0; round != rounds; ++round) {
        std::vector<std::future<lease>> pending;
        {
            client locks(asio::make_strand(pool), real_servers::get().settings());
            for (int i = 0; i != 4; ++i)
                pending.push_back(
                    mutex(locks, "own" + std::to_string(i), long_lived).acquire(asio::use_future));
        }
        for (auto& p : pending) {
            try {
                (void)get(std::move(p));
            } catch (boost::system::system_error const& e) {
                BOOST_TEST(e.code() == errc::shut_down);
            }
        }
    }
    pool.join();
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(executors)

BOOST_AUTO_TEST_CASE(completion_on_the_associated_one)
{
    faults found;
    asio::io_context here;
    asio::io_context there;
    runners client_thread(here);
    runners other_thread(there);
    client locks(here.get_executor(), real_servers::get().settings());
    auto const on_other = [&](auto check) {
        auto done = std::make_shared<std::promise<void>>();
        auto handler = [&, done, check](error_code ec, auto... more) mutable {
            found.require(std::this_thread::get_id() == other_thread.id());
            check(ec, std::move(more)...);
            done->set_value();
        };
        return std::pair(asio::bind_executor(there, std::move(handler)), done->get_future());
    };
    lease held;
    auto [acquired, first] = on_other([&](error_code ec, lease granted) {
        found.require(!ec);
        held = std::move(granted);
    });
    mutex(locks, "bound", long_lived).acquire(std::move(acquired));
    get(std::move(first));
    auto [extended, second] = on_other([&](error_code ec) { found.require(!ec); });
    held.extend(std::move(extended));
    get(std::move(second));
    auto [ended, third] = on_other([&](error_code ec) { found.require(ec == errc::released); });
    held.lost(std::move(ended));
    auto [released, fourth] = on_other([&](error_code ec) { found.require(!ec); });
    held.release(std::move(released));
    get(std::move(third));
    get(std::move(fourth));
    auto [empty, fifth] = on_other([&](error_code ec) { found.require(ec == errc::empty_lease); });
    lease().extend(std::move(empty));
    get(std::move(fifth));
    auto [shut, sixth] = on_other([&](error_code ec) { found.require(!ec); });
    locks.shutdown(std::move(shut));
    get(std::move(sixth));
}

/// A context that only waits for us must not run out of work meanwhile.
BOOST_AUTO_TEST_CASE(foreign_context_waits)
{
    asio::io_context here;
    asio::io_context there;
    runners client_thread(here);
    client locks(here.get_executor(), real_servers::get().settings());
    outcome_ptr const result = std::make_shared<outcome>();
    mutex(locks, "foreign", long_lived).acquire(asio::bind_executor(there, keeps_outcome{result}));
    there.run_for(patience);
    BOOST_TEST(result->completions == 1U);
    BOOST_TEST(result->granted.valid());
    get(result->granted.release(asio::use_future));
}

/// A coroutine elsewhere is cancelled by its own thread at any moment of an operation on the client's thread.
BOOST_AUTO_TEST_CASE(cancellation_from_a_foreign_executor)
{
    asio::io_context here;
    asio::io_context there;
    runners client_thread(here);
    client locks(here.get_executor(), real_servers::get().settings());
    mutex lock(locks, "foreign", impatient());
    for (unsigned steps = 0; steps != 100; ++steps) {
        asio::cancellation_signal cancel;
        auto const result = std::make_shared<outcome>();
        auto const body = [&]() -> asio::awaitable<void> {
            for (;;) {
                lease held = co_await lock.acquire(asio::use_awaitable);
                co_await held.extend(asio::use_awaitable);
                co_await held.release(asio::use_awaitable);
            }
        };
        asio::co_spawn(there, body(), asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{result}));
        there.restart();
        for (unsigned i = 0; i != steps % 25; ++i)
            there.run_one_for(patience);
        cancel.emit(asio::cancellation_type::terminal);
        there.run_for(patience);
        BOOST_TEST(result->completions == 1U);
        BOOST_TEST(result->ec == asio::error::operation_aborted);
    }
    get(locks.shutdown(asio::use_future));
    BOOST_TEST(real_servers::get().empty());
}

/// The same with plain handlers and a signal of the caller's own.
BOOST_AUTO_TEST_CASE(cancellation_of_a_bound_handler)
{
    asio::io_context here;
    asio::io_context there;
    runners client_thread(here);
    client locks(here.get_executor(), real_servers::get().settings());
    for (int round = 0; round != 100; ++round) {
        asio::cancellation_signal cancel;
        auto const result = std::make_shared<outcome>();
        mutex(locks, "bound", impatient())
            .acquire(asio::bind_executor(there,
                                         asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{result})));
        cancel.emit(asio::cancellation_type::total);
        there.restart();
        there.run_for(patience);
        BOOST_TEST(result->completions == 1U);
        BOOST_TEST((!result->ec || result->ec == asio::error::operation_aborted));
        if (result->granted)
            get(result->granted.release(asio::use_future));
    }
    get(locks.shutdown(asio::use_future));
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(never_inside_the_initiating_call)
{
    auto const check = [](operation const& op) {
        real_servers::get().clear(); // what the one before left behind
        stage s(real_servers::get().settings());
        op.prepare(s);
        bool returned = false;
        asio::post(s.context, [&] { // on the client's executor, where nothing has to hop
            op.start(s);
            BOOST_TEST(!s.result->done());
            returned = true;
        });
        run_until(s.context, [&] { return returned; });
        s.cancel.emit(asio::cancellation_type::terminal);
        run_until(s.context, [&] { return s.result->done(); });
    };
    for (operation const& op : all_operations())
        BOOST_TEST_CONTEXT(op.name)
    check(op);
    auto const over = [](stage& s) {
        s.acquire("held");
        s.release();
    };
    auto const shut = [](stage& s) {
        s.acquire("held");
        (void)s.locks->shutdown(asio::use_future);
        run_dry(s.context);
    };
    check({"extend, released", over, [](stage& s) { s.held.extend(s.handler()); }});
    check({"release, released", over, [](stage& s) { s.held.release(s.handler()); }});
    check({"lost, released", over, [](stage& s) { s.held.lost(s.handler()); }});
    check({"acquire, shut down", shut, [](stage& s) { s.lock().acquire(s.handler()); }});
    check({"release, shut down", shut, [](stage& s) { s.held.release(s.handler()); }});
    check({"shutdown, shut down", shut, [](stage& s) { s.locks->shutdown(s.handler()); }});
    real_servers::get().clear();
}

BOOST_AUTO_TEST_CASE(those_that_do_not_serialise_are_refused)
{
    auto const refused = [](asio::any_io_executor const& executor) {
        try {
            client const locks(executor, real_servers::get().settings());
        } catch (lock_error const& e) {
            return e.code() == errc::misconfigured &&
                   std::string(e.what()).find("strand") != std::string::npos;
        }
        return false;
    };
    asio::thread_pool pool(1);
    BOOST_TEST(refused(pool.get_executor()));
    BOOST_TEST(refused(asio::system_executor()));
    BOOST_TEST(refused(asio::any_io_executor()));
    BOOST_TEST(!refused(asio::make_strand(pool)));
    BOOST_TEST(
        !refused(asio::any_io_executor(asio::make_strand(asio::any_io_executor(pool.get_executor())))));
}

BOOST_AUTO_TEST_SUITE_END()
