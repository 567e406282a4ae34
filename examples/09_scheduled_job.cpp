// SPDX-License-Identifier: BSL-1.0
// A job that must run once per period in a fleet: every server runs this program, and one of them at a time is the leader.
// If it dies, another one continues where it stopped. The lock chooses the leader. The fencing token, which is compared
// where the result is written, makes sure that no period is run twice, not even by a leader that was paused beyond its
// lease.
//
//   09_scheduled_job                        three processes, leaders are killed and stopped; checks itself
//   09_scheduled_job DATABASE redis-url...  one member of the fleet, until interrupted

#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr auto period_length = 200ms; // for the demonstration; a real one is an hour or a day

/// Records which process ran which period: a table that all members of the fleet reach.
class ledger {
public:
    explicit ledger(std::string const& file)
    {
        sqlite3* opened = nullptr;
        int const result = sqlite3_open(file.c_str(), &opened);
        database_.reset(opened);
        if (result != SQLITE_OK)
            throw std::runtime_error("cannot open " + file);
        sqlite3_busy_timeout(opened, 10'000);
        (void)change("CREATE TABLE IF NOT EXISTS run (period INTEGER PRIMARY KEY, fence INTEGER NOT NULL, "
                     "process INTEGER NOT NULL)");
    }

    /// False: the period was run before, or a later leader has been here.
    bool write(std::int64_t period, std::uint64_t token)
    {
        return change("INSERT INTO run SELECT ?1, ?2, ?3 WHERE NOT EXISTS "
                      "(SELECT 1 FROM run WHERE period >= ?1 OR fence > ?2)",
                      period, token) == 1;
    }

    /// The process by period.
    std::map<std::int64_t, int> runs()
    {
        std::map<std::int64_t, int> found;
        auto const rows = prepare("SELECT period, process FROM run");
        while (sqlite3_step(rows.get()) == SQLITE_ROW)
            found[sqlite3_column_int64(rows.get(), 0)] = sqlite3_column_int(rows.get(), 1);
        return found;
    }

private:
    struct closer {
        void operator()(sqlite3* database) const { sqlite3_close(database); }
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };

    std::unique_ptr<sqlite3_stmt, closer> prepare(char const* sql)
    {
        sqlite3_stmt* prepared = nullptr;
        if (sqlite3_prepare_v2(database_.get(), sql, -1, &prepared, nullptr) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(database_.get()));
        return std::unique_ptr<sqlite3_stmt, closer>(prepared);
    }

    int change(char const* sql, std::int64_t period = 0, std::uint64_t token = 0)
    {
        auto const statement = prepare(sql);
        sqlite3_bind_int64(statement.get(), 1, period);
        sqlite3_bind_int64(statement.get(), 2, static_cast<sqlite3_int64>(token));
        sqlite3_bind_int(statement.get(), 3, ::getpid());
        if (sqlite3_step(statement.get()) != SQLITE_DONE)
            throw std::runtime_error(sqlite3_errmsg(database_.get()));
        return sqlite3_changes(database_.get());
    }

    std::unique_ptr<sqlite3, closer> database_;
};

/// Every member of the fleet reckons alike which period it is.
std::int64_t current_period()
{
    return std::chrono::system_clock::now().time_since_epoch() / period_length;
}

asio::awaitable<void> lead(redlock::lease& leadership, ledger& results)
{
    asio::steady_timer until_next(co_await asio::this_coro::executor);
    for (;;) {
        // Here the work is done; its result is written in one transaction with the ledger's row.
        (void)results.write(current_period(), leadership.fencing_token());
        until_next.expires_after(period_length / 4);
        co_await until_next.async_wait(asio::use_awaitable);
    }
}

/// Waits for its turn, leads until it loses the lock, waits again.
asio::awaitable<void> serve(redlock::client& locks, ledger& results)
{
    redlock::fenced_mutex leader(locks, "nightly-report", {.ttl = 1s});
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (;;) {
        auto body = [&results](redlock::lease& held) { return lead(held, results); };
        try {
            co_await with_lock(leader, body);
        } catch (redlock::lock_error const& e) { // it has not led, or leads no more
            if (e.code() != redlock::errc::lease_lost && e.code() != redlock::errc::no_quorum)
                throw;
            std::cerr << e.what() << '\n';
        }
        pause.expires_after(1s); // servers that refuse, a wrong password for example, do so at once
        co_await pause.async_wait(asio::use_awaitable);
    }
}

/// Success is to have been told to stop. After anything else a supervisor has to start the member again.
int status_of(std::exception_ptr const& end)
{
    try {
        if (end)
            std::rethrow_exception(end);
    } catch (boost::system::system_error const& e) {
        if (e.code() == asio::error::operation_aborted)
            return EXIT_SUCCESS;
        std::cerr << e.what() << '\n';
    } catch (std::exception const& e) {
        std::cerr << e.what() << '\n';
    }
    return EXIT_FAILURE;
}

int member(std::string const& database, std::vector<std::string> const& urls, bool fresh)
{
    ledger results(database);
    asio::io_context context;
    redlock::client locks(context.get_executor(), {.nodes = urls, .admission = {.assume_fresh = fresh}});
    asio::cancellation_signal stop;
    asio::signal_set interrupts(context, SIGINT, SIGTERM);
    interrupts.async_wait([&](error_code ec, int) {
        if (!ec)
            stop.emit(asio::cancellation_type::terminal); // the job unwinds, then its lock is released
    });
    int status = EXIT_FAILURE;
    auto ended = [&](std::exception_ptr end) {
        status = status_of(end);
        interrupts.cancel();
        locks.shutdown(asio::detached); // after the job, and then run() returns
    };
    asio::co_spawn(context, serve(locks, results), asio::bind_cancellation_slot(stop.slot(), ended));
    context.run();
    return status;
}

/// Members as processes of their own, which end with this one.
class fleet {
public:
    fleet(int size, std::string const& database, std::vector<std::string> const& urls)
    {
        for (int i = 0; i != size; ++i) {
            pid_t const pid = ::fork();
            if (pid == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                ::_exit(member(database, urls, true));
            }
            processes_.insert(pid);
        }
    }
    fleet(fleet const&) = delete;
    fleet& operator=(fleet const&) = delete;
    ~fleet()
    {
        for (pid_t const pid : std::set(processes_))
            end(pid, SIGKILL);
    }

    /// Returns the status that `waitpid` reports.
    int end(pid_t pid, int signal)
    {
        int status = 0;
        ::kill(pid, signal);
        ::waitpid(pid, &status, 0);
        processes_.erase(pid);
        return status;
    }

private:
    std::set<pid_t> processes_;
};

/// Polls the database, as a person would.
pid_t wait_for_runs(ledger& results, std::size_t at_least, pid_t not_by = 0)
{
    for (int tries = 0; tries != 6000; ++tries) {
        auto const runs = results.runs();
        if (runs.size() >= at_least && runs.rbegin()->second != not_by)
            return runs.rbegin()->second;
        std::this_thread::sleep_for(10ms);
    }
    throw std::runtime_error("no leader");
}

int check()
{
    example::nodes const servers(3);
    example::promises promises;
    std::string const database = servers.own.front()->directory() / "ledger";

    fleet members(3, database, servers.urls);
    ledger results(database); // after the fork: SQLite's handles do not survive one
    pid_t const first = wait_for_runs(results, 3);
    members.end(first, SIGKILL);
    pid_t const second = wait_for_runs(results, results.runs().size() + 3, first);
    promises.keep(second != first, "the leader was killed, and another one has taken over");
    int const status = members.end(second, SIGTERM);
    promises.keep(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS, "one that is told to stop does");
    wait_for_runs(results, results.runs().size() + 3, second);

    auto const runs = results.runs();
    std::set<int> leaders;
    int changes = 0;
    int last = 0;
    for (auto const& [period, process] : runs) {
        changes += process == last ? 0 : 1;
        last = process;
        leaders.insert(process);
    }
    promises.keep(leaders.size() == 3 && changes == 3, "one after the other, never both in turns");
    promises.keep(!results.write(runs.begin()->first, 1), "no period is run twice");
    return promises.exit_code();
}

int main(int argc, char** argv)
{
    if (argc == 1)
        return check();
    if (argc < 3) {
        std::cerr << "usage: 09_scheduled_job [DATABASE URL...]\n";
        return EXIT_FAILURE;
    }
    return member(argv[1], {argv + 2, argv + argc}, false);
}
