// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::cli {

/// Remembers the files that were open when the tool was started. The command inherits them, and not the tool's own
/// connections. If standard input, output or error output was closed, no file of ours takes its descriptor, and writing
/// there still fails. Call it first.
void remember_inherited_files();

/// The command, in a process group of its own, which is the terminal's foreground if the tool's was. If the tool dies,
/// the kernel kills the command, but not the processes that the command has started. While there is a command the tool
/// cannot be suspended (SIGTSTP, SIGTTOU, SIGTTIN): it would not renew, and the command would go on without the lock.
class child {
public:
    /// \throws failure 126 or 127, if it cannot be executed
    child(boost::asio::io_context&, std::vector<std::string> const& command,
          std::vector<std::pair<std::string, std::string>> const& environment);
    child(child const&) = delete;
    child& operator=(child const&) = delete;
    ~child();

    /// `told` is called once, when the command itself has ended.
    void on_end(std::function<void()> told) { told_ = std::move(told); }
    /// In the form of waitpid(2); empty while the command runs.
    [[nodiscard]] std::optional<int> const& ended() const { return ended_; }
    /// True if its process group is empty: processes that it has started have ended, too.
    [[nodiscard]] bool all_gone() const { return gone_; }

    /// Sends a signal to the whole group. Returns false if none of its processes may be sent signals: they run as another
    /// user.
    bool send(int signal);
    /// Collects processes that have ended.
    void reap();

private:
    void wait();

    std::shared_ptr<char> alive_ = std::make_shared<char>();
    boost::asio::signal_set changes_;
    std::function<void()> told_;
    std::optional<int> ended_;
    pid_t group_ = -1;
    int terminal_ = -1;                       ///< the terminal whose foreground the command is
    std::array<void (*)(int), 3> suspension_; ///< how the signals that suspend were handled before
    bool gone_ = false;
};

/// Returns the status as a shell does: the exit status, or 128 and the signal's number.
[[nodiscard]] int shell_status(int wait_status);

} // namespace redlock::cli
