#include "stage.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A client that has connected, and knows the scripts.
struct connected : stage {
    using stage::stage;
    void prepare() override
    {
        locks.emplace(context.get_executor(), servers.settings());
        warm_up(*locks);
    }
    void warm_up(client& one)
    {
        for (int i = 0; i != 2; ++i) {
            lease held;
            take(one, held);
            outcome extended;
            extended.begin([&](auto handler) { held.extend(std::move(handler)); });
            outcome released;
            released.begin([&](auto handler) { held.release(std::move(handler)); });
            run_until([&] { return released.settled(); });
        }
    }
};

/// From nothing: client, connections, lock, lease, release.
struct first_cycle : stage {
    using stage::stage;
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
        return acquired.completions == 1 && !acquired.result && released.completions == 1 && !released.result;
    }
    void retire() override
    {
        BOOST_TEST(acquired.completions == (acquired.refused ? 0U : 1U));
        BOOST_TEST(released.completions == (acquired.refused || released.refused ? 0U : 1U));
        acquired.got = {};
    }
    outcome acquired;
    outcome released;
};

/// On a client that has connected.
template <class Lock>
struct cycle : connected {
    using connected::connected;
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
    bool succeeded() const override { return !acquired.result && acquired.got.valid(); }
    void retire() override
    {
        BOOST_TEST(acquired.completions == (acquired.refused ? 0U : 1U));
        acquired.got = {};
    }
    outcome acquired;
};

/// The last of three has the lock from the one before, who had it from the first.
struct hand_over : connected {
    using connected::connected;
    void prepare() override
    {
        connected::prepare();
        take(*locks, first);
        for (outcome& next : waiting)
            watch(next.got);
        watch(first);
    }
    void act() override
    {
        for (outcome& next : waiting)
            next.begin([&](auto handler) {
                lock().acquire([&next, handler](error_code ec, lease got) mutable {
                    handler(ec, std::move(got));
                    next.got = {};
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
    bool succeeded() const override { return !waiting[0].result && !waiting[1].result && !released.result; }
    void retire() override
    {
        for (outcome const& next : waiting)
            BOOST_TEST(next.completions == (next.refused ? 0U : 1U));
        BOOST_TEST(released.completions == (released.refused ? 0U : 1U));
        first = {};
    }
    lease first;
    outcome waiting[2];
    outcome released;
};

/// One client has the lock, another waits for it.
struct two_clients : connected {
    using connected::connected;
    void prepare() override
    {
        connected::prepare();
        others.emplace(context.get_executor(), servers.settings());
        warm_up(*others);
        take(*others, first);
        watch(first);
        watch(waiting.got);
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
    bool succeeded() const override { return !waiting.result && !released.result; }
    void retire() override
    {
        waiting.got = {};
        first = {};
        others.reset();
    }
    std::optional<client> others;
    lease first;
    outcome waiting;
    outcome released;
};

/// By hand; and what a lease does for itself meanwhile.
struct extension : connected {
    using connected::connected;
    void prepare() override
    {
        connected::prepare();
        take(*locks, held);
        watch(held);
    }
    void act() override
    {
        lost.begin([&](auto handler) { held.lost(std::move(handler)); });
        for (outcome& one : extended)
            one.begin([&](auto handler) { held.extend(std::move(handler)); });
    }
    bool done() const override { return extended[0].settled() && extended[1].settled(); }
    bool succeeded() const override { return !extended[0].result && !extended[1].result && held.valid(); }
    void retire() override
    {
        held = {};
        BOOST_TEST(run_until([&] { return lost.settled(); }));
        BOOST_TEST(lost.completions == (lost.refused ? 0U : 1U));
    }
    lease held;
    outcome lost;
    outcome extended[2];
};

/// Renewed by itself, and watched.
struct renewal : connected {
    using connected::connected;
    void prepare() override
    {
        connected::prepare();
        mutex mine(*locks, "lock", {.ttl = 450ms});
        acquired.begin([&](auto handler) { mine.acquire(std::move(handler)); });
        run_until([&] { return acquired.settled(); });
        watch(acquired.got);
        since = std::chrono::steady_clock::now();
    }
    void act() override
    {
        lost.begin([&](auto handler) { acquired.got.lost(std::move(handler)); });
    }
    bool done() const override
    {
        return std::chrono::steady_clock::now() - since > 160ms || lost.completions != 0;
    }
    bool succeeded() const override { return acquired.got.remaining() > 300ms; }
    void retire() override { acquired.got = {}; }
    outcome acquired;
    outcome lost;
    std::chrono::steady_clock::time_point since;
};

/// What is left of a lease that nobody extends.
struct release_after_loss : connected {
    using connected::connected;
    void prepare() override
    {
        connected::prepare();
        mutex mine(*locks, "lock", {.ttl = 60ms, .renew = false});
        outcome acquired;
        acquired.begin([&](auto handler) { mine.acquire(std::move(handler)); });
        run_until([&] { return acquired.settled(); });
        held = std::move(acquired.got);
        run_until([&] { return !held.valid(); });
    }
    void act() override
    {
        released.begin([&](auto handler) { held.release(std::move(handler)); });
        lost.begin([&](auto handler) { held.lost(std::move(handler)); });
    }
    bool done() const override { return released.settled() && lost.settled(); }
    bool succeeded() const override { return lost.result == errc::lease_lost; }
    void retire() override { held = {}; }
    lease held;
    outcome released;
    outcome lost;
};

/// A holder, one who waits, and one who waits for the lease's end.
struct busy : connected {
    using connected::connected;
    void prepare() override
    {
        connected::prepare();
        take(*locks, held);
        lost.begin([&](auto handler) { held.lost(std::move(handler)); });
        waiting.begin([&](auto handler) { lock().acquire(std::move(handler)); });
        run_a_little();
    }
    bool done() const override { return lost.settled() && waiting.settled(); }
    void retire() override
    {
        BOOST_TEST(lost.completions == 1U);
        BOOST_TEST(waiting.completions == 1U);
        held = {};
        waiting.got = {};
    }
    lease held;
    outcome lost;
    outcome waiting;
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
    bool succeeded() const override { return !ended.result && waiting.result == errc::shut_down; }
    void retire() override
    {
        busy::retire();
        locks.reset();
    }
    outcome ended;
};

struct destroyed : busy {
    using busy::busy;
    void act() override { locks.reset(); }
    bool succeeded() const override { return lost.result == errc::shut_down; }
};

/// The handle goes, and with it the lease.
struct dropped : busy {
    using busy::busy;
    void act() override { held = {}; }
    bool succeeded() const override { return !waiting.result && lost.result == errc::released; }
};

/// Whoever waits gives up.
struct cancelled : connected {
    using connected::connected;
    void prepare() override
    {
        connected::prepare();
        take(*locks, held);
    }
    void act() override
    {
        waiting.begin([&](auto handler) {
            lock().acquire(asio::bind_cancellation_slot(given_up.slot(), std::move(handler)));
        });
        lost.begin([&](auto handler) {
            held.lost(asio::bind_cancellation_slot(not_interested.slot(), std::move(handler)));
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
        return waiting.result == asio::error::operation_aborted &&
               lost.result == asio::error::operation_aborted;
    }
    void retire() override
    {
        BOOST_TEST(waiting.completions == (waiting.refused ? 0U : 1U));
        held = {};
        waiting.got = {};
    }
    lease held;
    outcome waiting;
    outcome lost;
    bool not_cancelled = false;
    asio::cancellation_signal given_up;
    asio::cancellation_signal not_interested;
};

/// The servers have ended all connections.
struct reconnection : connected {
    using connected::connected;
    void prepare() override
    {
        connected::prepare();
        take(*locks, held);
        watch(held);
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
        waiting.got = {};
    }
    lease held;
    outcome extended;
    outcome waiting;
};

/// What has become of a coroutine: Asio destroys one when an operation that it awaits cannot be started.
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

/// Whoever awaits has no other promise than Asio's: everything else has.
struct in_a_coroutine : connected {
    using connected::connected;
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

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(awaiting)
{
    sweep_once<in_a_coroutine>();
}

BOOST_AUTO_TEST_CASE(the_first_cycle)
{
    sweep<first_cycle>();
}

BOOST_AUTO_TEST_CASE(a_cycle)
{
    sweep<cycle<mutex>>();
}

BOOST_AUTO_TEST_CASE(a_fenced_cycle)
{
    sweep<cycle<fenced_mutex>>();
}

BOOST_AUTO_TEST_CASE(handing_over)
{
    sweep<hand_over>();
}

BOOST_AUTO_TEST_CASE(waiting_for_another_client)
{
    sweep<two_clients>();
}

BOOST_AUTO_TEST_CASE(extending)
{
    sweep<extension>();
}

BOOST_AUTO_TEST_CASE(renewing)
{
    sweep<renewal>();
}

BOOST_AUTO_TEST_CASE(releasing_after_a_loss)
{
    sweep<release_after_loss>();
}

BOOST_AUTO_TEST_CASE(shutting_a_client_down)
{
    sweep<shutting_down>();
}

BOOST_AUTO_TEST_CASE(destroying_a_client)
{
    sweep<destroyed>();
}

BOOST_AUTO_TEST_CASE(dropping_a_lease)
{
    sweep<dropped>();
}

BOOST_AUTO_TEST_CASE(cancelling)
{
    sweep<cancelled>();
}

BOOST_AUTO_TEST_CASE(connecting_again)
{
    sweep<reconnection>();
}

BOOST_AUTO_TEST_SUITE_END()
