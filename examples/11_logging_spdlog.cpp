// SPDX-License-Identifier: BSL-1.0
// Logs the events of locks with spdlog: an observer turns each event into one line of key=value pairs, on a level that says
// whether it needs attention. The lines go to a queue, and a thread of spdlog's writes them: a slow disk must not hold up
// the renewals, which run where the observer is called.
// Run: 11_logging_spdlog. It starts three Redis servers of its own, with a password, and kills two of them.
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <spdlog/async.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

long long in_ms(std::chrono::nanoseconds time)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// Names and the servers' texts are quoted and escaped ({:?}): a user who chooses the name of a lock must not be
/// able to write lines of the log. spdlog reports its own errors itself and throws none.
class lock_log final : public redlock::observer {
public:
    explicit lock_log(std::shared_ptr<spdlog::logger> log) : log_(std::move(log)) {}

    void on_node(redlock::node_event const& e) noexcept override
    {
        log_->log(level_of(e), "event=node node={:?} state={} detail={:?}", e.node, to_string(e.state),
                  e.detail);
    }

    void on_wait(redlock::wait_event const& e) noexcept override
    {
        log_->debug("event=wait resource={:?} before={} held_here={}", e.resource, e.before, e.held_here);
    }

    void on_vote(redlock::vote_event const& e) noexcept override
    {
        log_->trace(
            "event=vote resource={:?} node={:?} extension={} result={:?} detail={:?} round_trip_us={}",
            e.resource, e.node, e.extension, to_string(e.result), e.detail, e.round_trip.count() / 1000);
    }

    void on_attempt(redlock::attempt_event const& e) noexcept override
    {
        if (log_->should_log(level::debug)) // otherwise the message need not be made
            log_->debug("event=attempt resource={:?} result={:?} granted={} nodes={} attempt={} took_us={}",
                        e.resource, e.result.message(), e.granted, e.node_count, e.attempt,
                        e.took.count() / 1000);
    }

    void on_acquire(redlock::acquire_event const& e) noexcept override
    {
        level const wanted = level_of(e);
        if (log_->should_log(wanted))
            log_->log(wanted, "event=acquire resource={:?} result={:?} last={:?} attempts={} waited_ms={}",
                      e.resource, e.result.message(), e.last_failure ? e.last_failure.message() : "none",
                      e.attempts, in_ms(e.waited));
    }

    void on_lease(redlock::lease_event const& e) noexcept override
    {
        log_->log(level_of(e),
                  "event=lease what={:?} resource={:?} cause={} votes={} nodes={} remaining_ms={} held_ms={} "
                  "failed={} detail={:?}",
                  to_string(e.what), e.resource, to_string(e.cause), e.votes, e.node_count,
                  in_ms(e.remaining), in_ms(e.held), e.failed, e.detail);
    }

    void on_release(redlock::release_event const& e) noexcept override
    {
        log_->log(e.result ? level::info : level::debug,
                  "event=release resource={:?} result={:?} answered={} nodes={}", e.resource,
                  e.result.message(), e.answered, e.node_count);
    }

    void on_linger(redlock::linger_event const& e) noexcept override
    {
        log_->warn("event=linger resource={:?} node={:?} remaining_ms={}", e.resource, e.node,
                   in_ms(e.remaining));
    }

    void on_warning(redlock::warning_event const& e) noexcept override
    {
        log_->warn("event=warning what={:?} node={:?} resource={:?} words={:?}", to_string(e.what), e.node,
                   e.resource, e.words);
    }

private:
    using level = spdlog::level::level_enum;

    /// A node that is down is tried again and again: only what is new is worth a warning.
    level level_of(redlock::node_event const& e)
    {
        using enum redlock::node_state;
        if (e.state == connecting || e.state == idle)
            return level::debug;
        bool const news = std::exchange(states_[std::string(e.node)], e.state) != e.state;
        if (!news)
            return level::debug;
        return e.state == ready && e.detail.empty() ? level::info : level::warn;
    }

    /// Contention is nobody's fault; too few servers are the operator's business.
    static level level_of(redlock::acquire_event const& e)
    {
        if (!e.result)
            return level::debug;
        bool const usual = e.result == redlock::errc::contended || e.result == redlock::errc::timed_out ||
                           e.result == redlock::errc::shut_down || e.result == asio::error::operation_aborted;
        return usual && e.last_failure != redlock::errc::no_quorum ? level::info : level::warn;
    }

    static level level_of(redlock::lease_event const& e)
    {
        using enum redlock::lease_event::kind;
        if (e.what == renewal_failed || e.what == suspect || e.what == stalled)
            return level::warn;
        return e.what == lost ? level::err : level::debug;
    }

    std::shared_ptr<spdlog::logger> log_;
    std::map<std::string, redlock::node_state> states_;
};

using memory = std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt>;

/// Shows important lines on the terminal, and keeps every formatted line in memory for this example's promises.
std::shared_ptr<spdlog::logger> make_log(memory const& lines)
{
    auto terminal = std::make_shared<spdlog::sinks::stdout_sink_mt>();
    terminal->set_level(spdlog::level::info);
    spdlog::sinks_init_list const sinks{terminal, lines};
    spdlog::init_thread_pool(8192, 1);
    auto log = std::make_shared<spdlog::async_logger>("redlock", sinks, spdlog::thread_pool(),
                                                      spdlog::async_overflow_policy::overrun_oldest);
    log->set_level(spdlog::level::debug); // votes are on trace: without a reader they are not even formatted
    return log;
}

/// Is there a line with all of these in it?
bool logged(memory const& lines, std::vector<std::string> const& words)
{
    auto const has_all = [&](std::string const& line) {
        return std::ranges::all_of(words, [&](auto const& w) { return line.find(w) != std::string::npos; });
    };
    return std::ranges::any_of(lines->last_formatted(), has_all);
}

template <class Condition>
asio::awaitable<void> until(Condition holds)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (int tries = 0; tries != 4000 && !holds(); ++tries) {
        pause.expires_after(5ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

/// Everything that the log is to tell, once.
asio::awaitable<void> live_through(example::nodes& servers, redlock::client& locks, memory const& lines)
{
    redlock::mutex report{locks, "report", {.ttl = 2s, .node_timeout = 500ms}};
    {
        redlock::lease held = co_await report.acquire();
        co_await until([&] { return logged(lines, {"what=\"renewed\""}); });
        servers.own[2]->kill();
        co_await until([&] { return logged(lines, {"event=node", servers.urls[2], "state=down"}); });
        co_await held.release();
        co_await until([&] { return logged(lines, {"event=linger"}); });
    }
    redlock::lease held = co_await report.acquire();
    servers.own[1]->kill();
    co_await held.ended();
    redlock::mutex invoice{locks, "invoice"};
    error_code why;
    redlock::lease none = co_await invoice.acquire_for(100ms, asio::redirect_error(asio::use_awaitable, why));
}

/// The log contains servers' answers, so these must not contain the password.
asio::awaitable<void> log_in_wrongly(redlock::client& locks)
{
    error_code why;
    redlock::mutex report{locks, "line one\nline two"};
    redlock::lease none = co_await report.try_acquire(asio::redirect_error(asio::use_awaitable, why));
}

redlock::config settings(std::vector<std::string> urls, std::string password,
                         std::shared_ptr<spdlog::logger> log)
{
    return {
        .nodes = std::move(urls),
        .password = std::move(password),
        .admission = {.assume_fresh = true}, // the servers are new: nothing can have been lost by a restart
        .observer = std::make_shared<lock_log>(std::move(log))};
}

void check(example::promises& promises, example::nodes const& servers, memory const& lines)
{
    std::string const dead = servers.urls[2];
    auto const keep = [&](std::vector<std::string> const& words, std::string const& what) {
        promises.keep(logged(lines, words), what);
    };
    keep({"[debug]", "what=\"acquired\"", "resource=\"report\""}, "an acquired lease");
    keep({"[debug]", "what=\"renewed\"", "votes=3"}, "its renewal");
    keep({"[info]", "event=node", dead, "state=ready"}, "a node that may vote");
    keep({"[warning]", "event=node", dead, "state=down"}, "a node that is down");
    keep({"[warning]", "event=linger", "resource=\"report\"", dead}, "a key that was left there");
    keep({"[warning]", "what=\"renewal failed\""}, "a renewal that failed");
    keep({"[warning]", "event=acquire", "result=\"timed out\"", "last=\"no quorum\""}, "an outage");
    keep({"[error]", "what=\"lost\"", "cause=expired"}, "a lost lease, with its cause");
    keep({"[warning]", "event=node", "WRONGPASS"}, "a node that refuses the password");
    keep({"[warning]", "event=acquire", "line one\\nline two"}, "a name with a newline, on one line");
    promises.keep(!logged(lines, {"a-good-password"}) && !logged(lines, {"a-bad-password"}), "no password");
}

int main()
{
    example::nodes servers(3, {"--requirepass", "a-good-password"});
    example::promises promises;
    auto const lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(8192);
    auto const log = make_log(lines);
    {
        asio::io_context context;
        redlock::client locks{context.get_executor(), settings(servers.urls, "a-good-password", log)};
        redlock::client stranger{context.get_executor(), settings({servers.urls[0]}, "a-bad-password", log)};
        auto story = asio::co_spawn(context, live_through(servers, locks, lines), asio::use_future);
        auto aside = asio::co_spawn(context, log_in_wrongly(stranger), asio::use_future);
        context.run();
        story.get();
        aside.get();
    }
    spdlog::shutdown(); // writes the lines that are still queued
    check(promises, servers, lines);
    return promises.exit_code();
}
