// SPDX-License-Identifier: BSL-1.0
#include "kit/certificates.hpp"
#include "processes.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <latch>
#include <sstream>
#include <thread>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Checks a condition in a child, where the test framework does not count.
void require(bool holds, char const* what)
{
    if (!holds)
        throw std::runtime_error(what);
}

/// A holder with live connections, an operation that waits behind it, and one that waits for another client's lock.
struct holder {
    explicit holder(bool tls = false) : enciphered(tls)
    {
        config settings = patient({});
        if (tls)
            settings.tls.ca_file = papers.authority.file();
        for (auto const& server : servers) {
            settings.nodes.push_back(tls ? server->tls_url() : server->url());
        }
        servers.command({"SET", "taken", "by a stranger"});
        own = settings;
        own.client_name = "child";
        context.emplace();
        locks.emplace(context->get_executor(), settings);
        lock.emplace(*locks, "lock", long_lived);
        taken.emplace(*locks, "taken", long_lived);
    }

    void hold()
    {
        lock->acquire([this](error_code, lease granted) { held = std::move(granted); });
        run_until(*context, [&] { return held.votes() == 3; });
        lock->acquire([this](error_code ec, lease granted) {
            behind = ec;
            next = std::move(granted);
        });
        taken->acquire([this](error_code ec, lease) { waited = ec; });
        held.ended([this](error_code, lease_end how) { end = how; });
        run_until(*context, [&] { return lock->waiting() == 1 && hears(); });
        before = connections();
    }
    bool hears()
    {
        return std::ranges::all_of(probes, [](probe& p) {
            auto const info = p.command({"INFO", "stats"});
            return info.find("tracking_total_keys:0") == info.npos;
        });
    }

    /// Ids of the client's connections, on all servers.
    std::vector<std::string> connections()
    {
        std::vector<std::string> ids;
        for (probe& p : probes) {
            std::istringstream list(p.command({"CLIENT", "LIST"}));
            for (std::string line; std::getline(list, line);)
                if (contains(line, " name=redlock "))
                    ids.push_back(line.substr(0, line.find(' ')));
        }
        return ids;
    }

    /// Checks that the parent's lease and operations are unchanged, and work; with the context run here.
    void check_unharmed()
    {
        BOOST_TEST(held.valid());
        for (probe& p : probes)
            BOOST_TEST((p.get("lock") == std::string(held.nonce())));
        BOOST_TEST((connections() == before));
        std::optional<error_code> extended;
        held.extend([&](error_code ec) { extended = ec; });
        run_until(*context, [&] { return extended.has_value(); });
        BOOST_TEST(*extended == error_code());
        BOOST_TEST(held.votes() >= 2U);
        BOOST_TEST(!behind.has_value());
        BOOST_TEST(!waited.has_value());
        BOOST_TEST(!end.has_value());
        held.release([](error_code) {});
        servers.command({"DEL", "taken"});
        run_until(*context, [&] { return behind && waited && end; });
        BOOST_TEST(*behind == error_code());
        BOOST_TEST(*waited == error_code());
        BOOST_TEST((end == lease_end::released));
        // Through TLS word of a key that nobody has read yet looks like any answer: a new connection takes its place.
        BOOST_TEST((enciphered || connections() == before));
    }

    /// In a child: a lease that looks valid there is the worst failure.
    void require_lost() const
    {
        require(!held.valid(), "valid");
        require(held.remaining() == 0ns, "time remains");
        require(held.state() == lease_state::lost, "not lost");
        require(held.cause() == loss_cause::forked, "another cause");
    }
    void require_new_client_works(asio::io_context& in) const
    {
        client mine(in.get_executor(), own);
        mutex lone(mine, "mine", long_lived);
        std::optional<lease> got;
        lone.acquire([&](error_code, lease granted) { got = std::move(granted); });
        run_until(in, [&] { return got.has_value(); });
        require(got->valid(), "a new client gets no lock");
        std::optional<error_code> released;
        got->release([&](error_code ec) { released = ec; });
        run_until(in, [&] { return released.has_value(); });
        require(*released == error_code(), "a new client cannot release");
    }
    void destroy()
    {
        held = {};
        next = {};
        lock.reset();
        taken.reset();
        locks.reset();
        context.reset();
    }

    certificates papers;
    server_group servers{3, {.tls = papers.server}};
    std::vector<probe>& probes = servers.probes;
    config own; ///< for a child's client
    std::optional<asio::io_context> context;
    std::optional<client> locks;
    std::optional<mutex> lock;
    std::optional<mutex> taken;
    lease held;
    lease next;
    std::optional<error_code> behind;
    std::optional<error_code> waited;
    std::optional<lease_end> end;
    bool const enciphered;
    std::vector<std::string> before;
};

} // namespace

BOOST_AUTO_TEST_SUITE(forks)

// rule A3
BOOST_AUTO_TEST_CASE(forked_child_that_destroys_client_leaves_parent_unharmed)
{
    for (bool const tls : {false, true})
        BOOST_TEST_CONTEXT((tls ? "TLS" : "plain"))
        {
            holder parent(tls);
            parent.hold();
            child copy([&] {
                parent.require_lost();
                parent.destroy();
            });
            BOOST_TEST(copy.join());
            parent.check_unharmed();
        }
}

// rule A3
BOOST_AUTO_TEST_CASE(forked_child_that_goes_on_ends_every_operation)
{
    for (bool const tls : {false, true})
        BOOST_TEST_CONTEXT((tls ? "TLS" : "plain"))
        {
            holder parent(tls);
            parent.hold();
            parent.context->notify_fork(asio::io_context::fork_prepare);
            child copy([&] {
                parent.context->notify_fork(asio::io_context::fork_child);
                parent.require_lost();
                require(parent.locks->node_table()[0].state == node_state::idle,
                        "a connection may still be read");
                run_until(*parent.context, [&] { return parent.behind && parent.waited && parent.end; });
                for (auto const& each : {parent.behind, parent.waited})
                    require(*each == errc::forked, "what waited at the time of the fork");
                require(*parent.end == lease_end::forked, "the wait for the end");
                std::vector<error_code> said;
                auto const note = [&](error_code ec, auto&&...) { said.push_back(ec); };
                parent.lock->acquire(note);
                parent.lock->try_acquire(note);
                parent.held.extend(note);
                std::optional<lease_end> end;
                parent.held.ended([&](error_code, lease_end how) { end = how; });
                parent.held.release(note);
                parent.locks->shutdown(note);
                run_until(*parent.context, [&] { return said.size() == 5 && end; });
                require(std::ranges::count(said, error_code(errc::forked)) == 5, "an operation");
                require(*end == lease_end::forked, "the end");
                parent.require_new_client_works(*parent.context);
                parent.require_lost();
            });
            parent.context->notify_fork(asio::io_context::fork_parent);
            BOOST_TEST(copy.join());
            parent.check_unharmed();
        }
}

/// Asio's rules forbid to run that context in the child, but not to use others.
// rule A3
BOOST_AUTO_TEST_CASE(forked_child_with_its_own_context_needs_no_notify_fork)
{
    holder parent;
    parent.hold();
    child copy([&] {
        asio::io_context own;
        parent.require_new_client_works(own);
        parent.held.release([](error_code) {});
        parent.held.detach();
        parent.require_lost();
        parent.destroy();
        parent.require_new_client_works(own);
    });
    BOOST_TEST(copy.join());
    parent.check_unharmed();
}

/// Both processes return into the same turn of the client; its buffers are written once.
// rule A3
BOOST_AUTO_TEST_CASE(fork_inside_a_handler_leaves_the_turn_to_the_parent)
{
    holder parent;
    parent.hold();
    pid_t copy = -1;
    std::optional<error_code> extended;
    mutex another(*parent.locks, "another", long_lived);
    lease kept; // the child does nothing with the client before the turn goes on
    another.acquire([&](error_code, lease granted) {
        kept = std::move(granted);
        parent.held.extend([&](error_code ec) { extended = ec; }); // said at the end of this turn
        copy = ::fork();
        if (copy == 0)
            parent.context->stop();
    });
    while (copy == -1)
        parent.context->run_one();
    if (copy == 0) {
        bool const let_go = parent.locks->node_table()[0].state == node_state::idle;
        kept = {};
        parent.destroy();
        if (!let_go)
            ::_exit(2);
        ::_exit(extended ? 1 : 0);
    }
    int status = -1;
    ::waitpid(copy, &status, 0);
    BOOST_TEST(status == 0);
    run_until(*parent.context, [&] { return extended.has_value(); });
    BOOST_TEST(*extended == error_code());
    parent.check_unharmed();
}

// rule A3
BOOST_AUTO_TEST_CASE(fork_is_safe_while_context_runs_in_another_thread)
{
    holder parent;
    parent.hold();
    {
        auto const stays = asio::make_work_guard(*parent.context);
        std::thread runs([&] { parent.context->run(); });
        // A copy that is made while the thread works for the client may block (docs/howto/threads.md).
        std::latch is_outside(1);
        std::latch has_forked(1);
        asio::post(*parent.context, [&] {
            is_outside.count_down();
            has_forked.wait();
        });
        is_outside.wait();
        child copy([&] {
            parent.require_lost();
            asio::io_context own;
            parent.require_new_client_works(own);
            parent.held = {};
            parent.lock.reset();
            parent.locks.reset();
        });
        has_forked.count_down();
        BOOST_TEST(copy.join());
        BOOST_TEST(parent.held.valid());
        parent.context->stop();
        runs.join();
        parent.context->restart();
    }
    parent.check_unharmed();
}

/// That thread does not exist in the child: its work is half done permanently, and must not be touched.
// rule A3
BOOST_AUTO_TEST_CASE(fork_is_safe_while_another_thread_is_inside_a_turn)
{
    holder parent;
    parent.hold();
    {
        std::latch inside(1);
        std::latch forked(1);
        mutex another(*parent.locks, "another", long_lived);
        another.acquire([&](error_code, lease) {
            inside.count_down();
            forked.wait();
        });
        auto const stays = asio::make_work_guard(*parent.context);
        std::thread runs([&] { parent.context->run(); });
        inside.wait();
        child copy([&] {
            parent.require_lost();
            asio::io_context own;
            parent.require_new_client_works(own);
            parent.held = {};
            require(parent.locks->node_table()[0].state == node_state::ready,
                    "what is half done was touched");
            parent.lock.reset();
            parent.locks.reset();
        });
        BOOST_TEST(copy.join());
        forked.count_down();
        parent.context->stop();
        runs.join();
        parent.context->restart();
    }
    parent.check_unharmed();
}

BOOST_AUTO_TEST_CASE(inspection_in_forked_child_fails_with_forked)
{
    holder parent;
    parent.hold();
    std::optional<error_code> seen;
    asio::post(*parent.context, [&] { parent.lock->inspect([&](error_code ec, inspection) { seen = ec; }); });
    parent.context->run_one(); // begun, and not sent yet
    parent.context->notify_fork(asio::io_context::fork_prepare);
    child copy([&] {
        parent.context->notify_fork(asio::io_context::fork_child);
        run_until(*parent.context, [&] { return seen.has_value(); });
        require(*seen == errc::forked, "one that was pending");
        seen.reset();
        parent.lock->inspect([&](error_code ec, inspection) { seen = ec; });
        run_until(*parent.context, [&] { return seen.has_value(); });
        require(*seen == errc::forked, "another one");
    });
    parent.context->notify_fork(asio::io_context::fork_parent);
    BOOST_TEST(copy.join());
    run_until(*parent.context, [&] { return seen.has_value(); });
    BOOST_TEST(*seen == error_code());
    parent.check_unharmed();
}

/// Unread bytes are the parent's.
BOOST_AUTO_TEST_CASE(forked_child_that_destroys_client_reads_nothing)
{
    holder parent;
    parent.hold();
    std::optional<error_code> extended;
    parent.held.extend([&](error_code ec) { extended = ec; });
    parent.context->poll();
    parent.servers.command({"PING"}); // all that was said before has been answered
    child copy([&] { parent.destroy(); });
    BOOST_TEST(copy.join());
    run_until(*parent.context, [&] { return extended.has_value(); });
    BOOST_TEST(*extended == error_code());
    parent.check_unharmed();
}

BOOST_AUTO_TEST_CASE(forked_child_leaves_handshake_to_the_parent)
{
    asio::io_context context;
    server_group servers(1);
    probe eye(servers[0].port());
    config settings = patient(servers.urls());
    settings.reconnect.connect_timeout = 10min; // it is not made anew
    std::optional<client> locks(std::in_place, context.get_executor(), settings);
    std::optional<mutex> lock(std::in_place, *locks, "lock", long_lived);
    std::optional<error_code> acquired;
    lease held;
    lock->acquire([&](error_code ec, lease granted) {
        acquired = ec;
        held = std::move(granted);
    });
    while (
        !contains(eye.command({"CLIENT", "LIST"}), " name=redlock ")) // greeted, and the answer not read yet
        context.poll_one();
    child copy([&] {
        lock.reset();
        locks.reset();
    });
    BOOST_TEST(copy.join());
    run_until(context, [&] { return acquired.has_value(); });
    BOOST_TEST(*acquired == error_code());
    BOOST_TEST(held.valid());
}

/// The observer is the parent's, too.
BOOST_AUTO_TEST_CASE(forked_child_reports_nothing_to_observer)
{
    asio::io_context context;
    server_group servers(1);
    auto const told = std::make_shared<recorder>();
    config settings = patient(servers.urls());
    settings.observer = told;
    client locks(context.get_executor(), settings);
    mutex lock(locks, "lock", long_lived);
    std::optional<lease> held;
    lock.acquire([&](error_code, lease granted) { held = std::move(granted); });
    run_until(context, [&] { return held.has_value(); });
    context.notify_fork(asio::io_context::fork_prepare);
    child copy([&] {
        context.notify_fork(asio::io_context::fork_child);
        auto const nodes = told->nodes.size();
        auto const leases = told->leases.size();
        std::optional<error_code> ended;
        held->release([&](error_code ec) { ended = ec; });
        run_until(context, [&] { return ended.has_value(); });
        held.reset();
        require(told->nodes.size() == nodes && told->leases.size() == leases, "somebody was told");
    });
    context.notify_fork(asio::io_context::fork_parent);
    BOOST_TEST(copy.join());
    BOOST_TEST(held->valid());
}

BOOST_AUTO_TEST_CASE(with_lock_in_forked_child_fails_with_forked)
{
    holder parent;
    parent.context->notify_fork(asio::io_context::fork_prepare);
    child copy([&] {
        parent.context->notify_fork(asio::io_context::fork_child);
        test::run(*parent.context, [&]() -> asio::awaitable<void> {
            auto const body = [](lease&) -> asio::awaitable<void> { co_return; };
            require(co_await error_of(with_lock(*parent.lock, body)) == errc::forked, "with_lock");
            try {
                co_await parent.lock->acquire();
                require(false, "acquired");
            } catch (lock_error const& e) {
                require(e.code() == errc::forked, "another error");
            }
        });
    });
    parent.context->notify_fork(asio::io_context::fork_parent);
    BOOST_TEST(copy.join());
}

BOOST_AUTO_TEST_SUITE_END()
