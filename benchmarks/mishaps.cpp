// SPDX-License-Identifier: BSL-1.0
#include "mishaps.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <thread>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

void send_and_await(pid_t process, int signal)
{
    ::kill(process, signal);
    siginfo_t how{};
    ::waitid(P_PID, static_cast<id_t>(process), &how, WSTOPPED | WEXITED | WNOWAIT);
}

class fate {
public:
    fate(contest const& what, board& seen, std::vector<std::unique_ptr<child>> const& all)
        : what_(what), seen_(seen), all_(all)
    {}

    /// Chooses a process that began to wait a short time ago: it is neither first in the queue nor about to be granted.
    void strike(clock::time_point until)
    {
        for (; clock::now() < until; std::this_thread::sleep_for(50us))
            for (unsigned i = 0; i != what_.processes; ++i)
                if (waits_in_the_middle(i) && hit(i))
                    return;
    }

    [[nodiscard]] std::vector<mishap> const& done() const { return done_; }

private:
    [[nodiscard]] bool waits_in_the_middle(unsigned process) const
    {
        auto const& mine = seen_.seats[process];
        auto const since = seen_.tenures.load() - mine.asked_after.load();
        return !mine.holding.load() && since >= 1 && since <= std::max(1U, what_.processes / 2) &&
               std::ranges::find(done_, process, &mishap::process) == done_.end();
    }

    /// \return false if it came to hold the lock meanwhile, and goes on
    bool hit(unsigned process)
    {
        auto const id = all_[process]->id();
        send_and_await(id, what_.with == trouble::killed ? SIGKILL : SIGSTOP);
        bool const held = seen_.seats[process].holding.load();
        if (held && what_.with == trouble::paused) {
            ::kill(id, SIGCONT);
            return false;
        }
        done_.push_back({process, seen_.samples.load(), held});
        return true;
    }

    contest const& what_;
    board& seen_;
    std::vector<std::unique_ptr<child>> const& all_;
    std::vector<mishap> done_;
};

} // namespace

std::vector<mishap> pass_window(contest const& what, board& seen,
                                std::vector<std::unique_ptr<child>> const& all)
{
    auto const window = std::chrono::duration_cast<clock::duration>(what.window);
    auto const end = clock::now() + window;
    fate how{what, seen, all};
    unsigned const victims = what.with == trouble::none ? 0 : std::max(1U, what.processes / 4);
    for (unsigned i = victims; i != 0; --i) {
        std::this_thread::sleep_until(end - window * i / (victims + 1));
        how.strike(end);
    }
    std::this_thread::sleep_until(end);
    return how.done();
}

void resume(std::vector<std::unique_ptr<child>> const& all, std::vector<mishap> const& mishaps)
{
    for (auto const& one : mishaps)
        if (all[one.process]->running())
            ::kill(all[one.process]->id(), SIGCONT);
}

} // namespace redlock::bench
