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

/// The files that were open when the tool was started, which the command inherits; the tool's own connections it must
/// not have. Where standard input, output or errors were closed, nothing of ours is opened in their place, and writing
/// there goes on to fail. Call it first.
void remember_inherited_files();

/// The command, in a process group of its own, which is the terminal's foreground if the tool's was. The kernel kills
/// the command if the tool dies; what the command has started itself, it does not. While there is a command the tool is
/// not suspended (SIGTSTP, SIGTTOU): it would not renew, and the command would go on without the lock.
class child {
public:
    /// \throws failure 126 or 127, when it cannot be executed
    child(boost::asio::io_context&, std::vector<std::string> const& command,
          std::vector<std::pair<std::string, std::string>> const& environment);
    child(child const&) = delete;
    child& operator=(child const&) = delete;
    ~child();

    /// Told once, when the command itself has ended.
    void on_end(std::function<void()> told) { told_ = std::move(told); }
    /// As waitpid(2) has it; nothing while it runs.
    [[nodiscard]] std::optional<int> const& ended() const { return ended_; }
    /// Nobody is left in its group: what it has started is gone, too.
    [[nodiscard]] bool all_gone() const { return gone_; }

    /// To the whole group.
    void send(int signal);
    /// Looks who has ended.
    void reap();

private:
    void wait();

    std::shared_ptr<char> alive_ = std::make_shared<char>();
    boost::asio::signal_set changes_;
    std::function<void()> told_;
    std::optional<int> ended_;
    pid_t group_ = -1;
    int terminal_ = -1;                       ///< whose foreground it is
    std::array<void (*)(int), 2> suspension_; ///< what the signals that suspend did before
    bool gone_ = false;
};

/// What a shell makes of it: the exit status, or 128 and the signal's number.
[[nodiscard]] int shell_status(int wait_status);

} // namespace redlock::cli
