// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace redlock::test {

/// For exec(3); it lives as long as the words.
std::vector<char*> arguments_of(std::vector<std::string> const& words);

/// For a child that is to become another program: signals that the parent of the tests ignores, as a shell does for what it
/// starts in the background, or that are blocked here, mean to it what they mean to others.
void expect_signals() noexcept;

/// The third field of /proc/PID/stat, proc(5): 'R', 'S', 'T' and so on. '\0' if there is no such process.
char process_state(pid_t);

/// A process of our own, dead at the latest with the thread that started it (prctl(2), PR_SET_PDEATHSIG). It has none of
/// our open files.
/// Failures of the system throw std::system_error.
class child_process {
public:
    /// Nobody yet.
    child_process() = default;
    /// The command is a path and its arguments; what it prints is appended to the log.
    child_process(std::vector<std::string> const& command, std::string const& log_path);
    ~child_process();
    child_process(child_process&& other) noexcept;
    child_process& operator=(child_process&& other) noexcept;

    /// -1 once its end has been seen.
    pid_t pid() const noexcept { return pid_; }
    bool running() { return !ended_within(0); }
    bool ended_within(int milliseconds);
    /// What it returned; nothing while it runs, and if a signal ended it.
    std::optional<int> exit_status() const noexcept { return exit_status_; }

    /// SIGKILL; returns when it is gone.
    void kill();
    /// SIGTERM; returns when it is gone.
    void terminate();
    /// False: it has ended by itself. Otherwise returns when it stands still.
    bool pause();
    /// False: it has ended by itself.
    bool resume();
    bool paused() const noexcept { return paused_; }

private:
    bool signal_and_wait(int signal, int report);
    void forget();

    pid_t pid_ = -1;
    int handle_ = -1;
    bool paused_ = false;
    std::optional<int> exit_status_{};
};

} // namespace redlock::test
