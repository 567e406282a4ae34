// SPDX-License-Identifier: BSL-1.0
#include "cli/supervisor.hpp"

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <boost/system/error_code.hpp>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

namespace redlock::cli {

using namespace std::chrono_literals;

namespace {

/// Timers stop while the machine is suspended, and leases do not.
constexpr std::chrono::nanoseconds longest_pause = 1s;
constexpr std::chrono::nanoseconds shortest_pause = 1ms;
/// The pause while the command is being stopped.
constexpr std::chrono::nanoseconds pause_to_end = 20ms;
/// The time between the signal and KILL, if the ttl is long enough for it.
constexpr std::chrono::milliseconds usual_kill_after = 5s;

/// Is the signal meant to end the command?
bool ends(int signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

void pass_on(child& command, int signal)
{
    command.send(signal);
    if (ends(signal))
        command.send(SIGCONT); // a stopped process cannot end, and would keep the lock
}

} // namespace

std::chrono::milliseconds stop_margin(lock_options const& lock)
{
    return std::max<std::chrono::milliseconds>(lock.ttl / 50, 50ms);
}

std::chrono::milliseconds longest_kill_after(lock_options const& lock)
{
    return std::min(lock.ttl, lock.max_hold.value_or(lock.ttl)) / 2 - stop_margin(lock);
}

namespace {

/// Returns the option that limits the time for stopping the command.
std::string limiting_option(options const& o)
{
    auto const limit = o.lock.max_hold;
    return limit && *limit < o.lock.ttl ? "--max-lifetime " + seconds(*limit) : "--ttl " + o.ttl_as_typed;
}

} // namespace

void check_times(options const& o)
{
    auto const longest = longest_kill_after(o.lock);
    if (o.when_lost != on_loss::stop || (longest > 0ms && o.kill_after.value_or(0ms) <= longest))
        return;
    if (longest <= 0ms)
        throw failure(exit_status::usage,
                      limiting_option(o) + " is too short to stop a command in time: more than 100 ms");
    throw failure(exit_status::usage,
                  "--kill-after " + o.kill_after_as_typed + " and a margin of " +
                      seconds(stop_margin(o.lock)) + " do not fit into half of " + limiting_option(o) +
                      ": the command has to be gone before the lease ends; --kill-after may be " +
                      std::to_string(longest.count()) + " ms at most");
}

supervisor::supervisor(session& s, lease const& held, options const& o, output const& out)
    : session_(s), lease_(held), options_(o), out_(out), timer_(s.context()), margin_(stop_margin(o.lock)),
      kill_after_(o.kill_after.value_or(std::min(usual_kill_after, longest_kill_after(o.lock))))
{}

int supervisor::watch(child& command)
{
    child_ = &command;
    command.on_end([this] { look_for_end(); });
    session_.caught().on_signal([&command](int signal) { pass_on(command, signal); });
    lease_.ended([this](boost::system::error_code, lease_end) { look(); });
    look();
    session_.run_until(over_);
    timer_.cancel();
    session_.caught().on_signal({});
    if (stage_ != stage::running)
        tell_why_at_last();
    return stage_ == stage::running ? shell_status(*command.ended()) : exit_status::lost;
}

void supervisor::look_for_end()
{
    over_ = over_ || (child_->ended() && (stage_ == stage::running || child_->all_gone()));
}

void supervisor::look_again_in(std::chrono::nanoseconds time)
{
    timer_.expires_after(std::clamp(time, shortest_pause, longest_pause));
    timer_.async_wait([this](boost::system::error_code ec) {
        if (!ec)
            look();
    });
}

void supervisor::look()
{
    if (!over_)
        child_->reap(); // SIGCHLD may be blocked, and a process with another parent ends without it
    if (over_)
        return;
    auto const remaining = lease_.remaining();
    if (options_.when_lost == on_loss::warn) {
        if (remaining != 0ns)
            return look_again_in(remaining);
        return knows_cause() ? warn() : look_again_in(pause_to_end);
    }
    if (stage_ == stage::running && remaining <= kill_after_ + margin_)
        stop(remaining);
    if (stage_ == stage::running)
        return look_again_in(remaining - kill_after_ - margin_);
    tell_why();
    if (clock::now() >= kill_at_) {
        stage_ = stage::killed;
        child_->send(SIGKILL);
    }
    look_again_in(stage_ == stage::killed
                      ? pause_to_end
                      : std::min<std::chrono::nanoseconds>(kill_at_ - clock::now(), pause_to_end));
}

/// If a lease is lost without warning, there is no time left; then the command has the margin to end by itself.
void supervisor::stop(std::chrono::nanoseconds remaining)
{
    stage_ = stage::stopping;
    std::chrono::nanoseconds const left = remaining > margin_ ? remaining - margin_ : margin_;
    kill_at_ = clock::now() + std::min(left, kill_after_);
    stoppable_ = child_->send(options_.stop_signal); // before any output, which may take time
    child_->send(SIGCONT);                           // a stopped process cannot end
    left_at_stop_ = remaining;
}

/// The lease reports its loss when its own timer expires, and our look at the clock may come before that.
bool supervisor::knows_cause() const
{
    return lease_.cause() != loss_cause::none || over_;
}

/// The command may have ended before the lease reported its loss.
void supervisor::tell_why_at_last()
{
    auto const end = clock::now() + margin_;
    while (!told_ && lease_.cause() == loss_cause::none && clock::now() < end)
        session_.context().run_one_until(end);
    tell_why();
}

void supervisor::tell_why()
{
    if (told_ || (left_at_stop_ == 0ns && !knows_cause()))
        return;
    told_ = true;
    std::string const what = stoppable_
                                 ? "stopping the command"
                                 : "the command runs on: it has another user and takes no signal of ours";
    out_.warn(
        "stopping", "'" + options_.shown_name() + "' " + fate(left_at_stop_) + ": " + what + troubles(),
        {{"name", options_.name}, {"valid_ms", left_at_stop_ / 1ms}, {"cause", to_string(lease_.cause())}});
}

std::string supervisor::fate(std::chrono::nanoseconds remaining) const
{
    loss_cause const cause = lease_.cause();
    if (remaining == 0ns)
        return "is lost" + (cause == loss_cause::none ? "" : " (" + std::string(to_string(cause)) + ')');
    std::string const end = " and ends in " + seconds(remaining);
    if (!options_.lock.renew)
        return "is not renewed (--no-extend)" + end;
    // The limit began a little before we did, and its end shows as the end of the validity.
    auto const limit = options_.lock.max_hold;
    if (limit && clock::now() + remaining >= began_ + *limit - options_.lock.ttl / 4)
        return "is not renewed any more (--max-lifetime)" + end;
    return "cannot be renewed" + end;
}

std::string supervisor::troubles() const
{
    std::string const known = session_.troubles();
    return known.empty() ? "" : "; " + known;
}

void supervisor::warn()
{
    if (std::exchange(told_, true))
        return;
    out_.warn("lost",
              "'" + options_.shown_name() + "' " + fate(0ns) + ", and the command runs on" + troubles(),
              {{"name", options_.name}, {"cause", to_string(lease_.cause())}});
}

} // namespace redlock::cli
