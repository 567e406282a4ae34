// SPDX-License-Identifier: BSL-1.0
#include "kit/last_words.hpp"
#include "simulation/actor.hpp"
#include "simulation/politician.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

// A program forks. The copy is a copy of this process, in which nothing else runs (docs/protocol.md, rule A3).
namespace redlock::simulation {

namespace {

/// In real time; the system ends a copy that lives longer.
constexpr unsigned longest_life_s = 60;

void check_system(bool good, char const* what)
{
    if (!good)
        throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

/// Forks inside a handler, or between two. The copy returns from it, too, and does nothing more of its own.
void schedule::fork(program& p)
{
    p.forks = false;
    note(p.name() + " forks");
    ++seen_.copies;
    std::array<int, 2> ends{};
    check_system(::pipe(ends.data()) == 0, "pipe");
    pid_t const child = ::fork();
    check_system(child != -1, "fork");
    if (child != 0) {
        auto const [said, status] = test::hear_out(ends, child);
        if (!said.empty() || status != 0)
            flaw(p.name() +
                 "'s copy: " + (said.empty() ? "it ended with the status " + std::to_string(status) : said));
        return;
    }
    ::alarm(longest_life_s);
    report_ = ends[1];
    copied_ = &p;
    stage_ = stage::quiet; // no further disturbances
    touched_before_ = net_->touched(p.host);
    p.process->machine().be_copied();
    copied_at_ = time_.now();
    for (auto const& a : p.actors)
        a->be_copied();
    for (auto const& one : p.politicians)
        one->be_copied();
}

void schedule::check_lost(char const* when)
{
    for (auto const& a : copied_->actors) {
        if (a->held.valid() || a->held.remaining() != 0ns || a->held.state() == lease_state::held ||
            a->held.state() == lease_state::suspect)
            flaw(a->name + "'s lease looks valid " + when);
    }
    for (auto const& one : copied_->politicians)
        if (one->held.valid())
            flaw(one->name + "'s leadership looks valid " + when);
}

void schedule::run_copy(duration time)
{
    constexpr unsigned most_rounds = 100'000;
    duration const until = time_.now() + time;
    unsigned rounds = 0;
    for (bool goes_on = true; goes_on; goes_on = time_.now() < until) {
        while (copied_->process->run() && rounds++ < most_rounds)
            check_lost("while it runs");
        (void)time_.step(until);
    }
    if (rounds >= most_rounds)
        flaw("it never stands still");
}

void schedule::use_copy()
{
    test::dice dice(seed_ ^ (seen_.copies << 32U));
    check_lost("at first");
    bool const told = dice.one_in(2);
    if (told)
        copied_->process->context().notify_fork(boost::asio::io_context::fork_child);
    bool used = false;
    for (auto const& a : copied_->actors)
        if (dice.one_in(2)) {
            a->misuse();
            used = true;
        }
    for (auto const& one : copied_->politicians)
        if (dice.one_in(2)) {
            one->misuse();
            used = true;
        }
    check_lost("when it has been told, or used");
    if ((told || used) && dice.one_in(2))
        run_copy(1s);
    end(*copied_);
    if (!dice.one_in(4)) {
        run_copy(2 * world::names::patience);
        check_forgotten(*copied_);
    }
    if (net_->touched(copied_->host) != touched_before_)
        flaw("it used its connections");
}

/// In some copies all actors use what they have. Then the copy is destroyed.
void schedule::be_copied()
{
    try {
        use_copy();
        copied_->actors.clear();
        copied_->politicians.clear();
        time_.end();
        copied_->process.reset();
    } catch (std::exception const& e) {
        flaw(e.what());
    }
    std::string const& said = seen_.flaw;
    bool const told = ::write(report_, said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(said.empty() && told ? 0 : 1);
}

void schedule::actor::be_copied()
{
    over = true;
    before_copy_ = operations_;
}

/// After a fork inside a handler, both processes run the handlers behind it, whose operations had ended.
bool schedule::actor::had_ended(unsigned number) const
{
    return number <= before_copy_ && all.time_.now() == all.copied_at_;
}

void schedule::actor::misuse()
{
    auto const done = [this](char const* what) { return noted(what, for_ever); };
    if (lock) {
        lock->acquire(done("acquire in a copy"));
        lock->try_acquire(done("try_acquire in a copy"));
        lock->acquire_for(1s, done("acquire_for in a copy"));
    }
    if (asked)
        asked->inspect(done("inspect in a copy"));
    if (!held.empty()) {
        held.extend(done("extend in a copy"));
        held.ended([said = done("ended in a copy")](error_code ec, lease_end end) {
            said(ec || end != lease_end::forked ? ec : make_error_code(errc::forked));
        });
        held.release(done("release in a copy"));
    }
    home.locks->shutdown(done("shutdown in a copy"));
}

} // namespace redlock::simulation
