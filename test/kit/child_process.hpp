// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace redlock::test {

/// Returns pointers for exec(3). They are valid as long as the words.
std::vector<char*> arguments_of(std::vector<std::string> const& words);

/// Restores default signal handling in a child that is to become another program. The parent of the tests may ignore
/// signals, as a shell does for background jobs, and signals may be blocked here.
void expect_signals() noexcept;

/// The third field of /proc/PID/stat, proc(5): 'R', 'S', 'T' and so on. '\0' if there is no such process.
char process_state(pid_t);

/// A process of our own. It ends at the latest with the thread that started it (prctl(2), PR_SET_PDEATHSIG), and has
/// none of our open files.
/// Failures of the system throw std::system_error.
class child_process {
public:
    /// No process yet.
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
    /// Its exit status; empty while it runs, and if a signal ended it.
    std::optional<int> exit_status() const noexcept { return exit_status_; }

    /// SIGKILL; returns when it is gone.
    void kill();
    /// SIGTERM; returns when it is gone.
    void terminate();
    /// False: it has ended by itself. Otherwise returns when it is stopped.
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
