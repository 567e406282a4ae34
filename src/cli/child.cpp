// SPDX-License-Identifier: BSL-1.0
#include "cli/child.hpp"

#include "cli/exit_status.hpp"
#include "cli/note.hpp"

#include <boost/system/error_code.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

namespace redlock::cli {

namespace {

std::set<int> open_files()
{
    std::set<int> found;
    std::error_code ec;
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd", ec))
        found.insert(std::stoi(entry.path().filename().string()));
    return found;
}

std::set<int>& inherited_files()
{
    static std::set<int> files;
    return files;
}

/// Marks the library's sockets close-on-exec: an authenticated connection must not reach the command.
void keep_own_files()
{
    for (int const file : open_files())
        if (!inherited_files().contains(file))
            ::fcntl(file, F_SETFD, FD_CLOEXEC);
}

/// A script's shell ignores INT for a program that it starts in the background, in its own process group.
bool is_in_background()
{
    struct sigaction now {};
    ::sigaction(SIGINT, nullptr, &now);
    return now.sa_handler == SIG_IGN;
}

/// Returns the terminal whose foreground process group is ours, or -1.
int own_terminal()
{
    if (is_in_background()) // the script itself needs the terminal
        return -1;
    int const terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal >= 0 && ::tcgetpgrp(terminal) == ::getpgrp())
        return terminal;
    ::close(terminal);
    return -1;
}

/// SIGTTOU is ignored meanwhile: it would stop a process in the background.
void to_foreground(int terminal, pid_t group)
{
    auto const before = ::signal(SIGTTOU, SIG_IGN);
    ::tcsetpgrp(terminal, group);
    ::signal(SIGTTOU, before);
}

using suspension = std::array<void (*)(int), 3>;

/// Also another process of our group that reads the terminal would stop us (SIGTTIN).
suspension ignore_suspension()
{
    return {::signal(SIGTSTP, SIG_IGN), ::signal(SIGTTOU, SIG_IGN), ::signal(SIGTTIN, SIG_IGN)};
}

void restore_suspension(suspension const& before)
{
    ::signal(SIGTSTP, before[0]);
    ::signal(SIGTTOU, before[1]);
    ::signal(SIGTTIN, before[2]);
}

struct program {
    std::vector<char*> words;
    std::vector<char*> variables;
};

[[noreturn]] void become(program const& what, pid_t parent, int terminal, int report,
                         suspension const& before)
{
    ::setpgid(0, 0);
    if (terminal >= 0)
        to_foreground(terminal, ::getpid());
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) // the parent has died before prctl
        ::_exit(exit_status::internal);
    ::signal(SIGCHLD, SIG_DFL);
    restore_suspension(before);
    restore_broken_pipes();
    ::execvpe(what.words.front(), what.words.data(), what.variables.data());
    int const why = errno;
    [[maybe_unused]] auto const told = ::write(report, &why, sizeof why);
    ::_exit(exit_status::not_executable);
}

std::vector<char*> pointers(std::vector<std::string>& texts)
{
    std::vector<char*> all;
    for (std::string& text : texts)
        all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> environment_with(std::vector<std::pair<std::string, std::string>> const& added)
{
    std::vector<std::string> all;
    for (auto const& [name, value] : added)
        all.push_back(name + '=' + value);
    for (char** variable = environ; *variable; ++variable) {
        std::string_view const known(*variable);
        // These belong to a lock around this one.
        bool replaced = known.starts_with("REDLOCK_TOKEN=") || known.starts_with("REDLOCK_PERMITS=");
        for (auto const& [name, value] : added)
            replaced = replaced || known.starts_with(name + '=');
        if (!replaced)
            all.emplace_back(known);
    }
    return all;
}

[[noreturn]] void cannot(std::string const& what)
{
    throw failure(exit_status::internal, "cannot " + what + ": " + std::strerror(errno));
}

} // namespace

void remember_inherited_files()
{
    for (int const standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(standard, F_GETFD) < 0) // open() takes the lowest free descriptor
            ::open("/dev/null", (standard == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    inherited_files() = open_files();
}

child::child(boost::asio::io_context& context, std::vector<std::string> const& command,
             std::vector<std::pair<std::string, std::string>> const& environment)
    : changes_(context, SIGCHLD), suspension_(ignore_suspension())
{
    std::vector<std::string> words = command;
    std::vector<std::string> variables = environment_with(environment);
    program const what{pointers(words), pointers(variables)};
    int report[2];
    if (::pipe2(report, O_CLOEXEC) != 0)
        cannot("make a pipe");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1); // we must wait for processes in the command's group that outlive it
    keep_own_files();
    terminal_ = own_terminal();
    wait();
    pid_t const parent = ::getpid();
    group_ = ::fork();
    if (group_ == 0)
        become(what, parent, terminal_, report[1], suspension_);
    ::close(report[1]);
    if (group_ < 0)
        cannot("fork");
    ::setpgid(group_, group_); // in both processes, because a signal needs the group to exist
    int why = 0;
    ssize_t length = 0;
    do
        length = ::read(report[0], &why, sizeof why);
    while (length < 0 && errno == EINTR);
    ::close(report[0]);
    if (length != sizeof why)
        return;
    ::waitpid(group_, nullptr, 0);
    if (terminal_ >= 0)
        to_foreground(terminal_, ::getpgrp());
    throw failure(why == ENOENT ? exit_status::not_found : exit_status::not_executable,
                  command.front() + ": " + std::strerror(why));
}

child::~child()
{
    restore_suspension(suspension_);
    if (!ended_)
        ::kill(-group_, SIGKILL);
    if (terminal_ >= 0) {
        to_foreground(terminal_, ::getpgrp());
        ::close(terminal_);
    }
}

void child::wait()
{
    changes_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code ec, int) {
        if (ec || alive.expired()) // a signal may have come before the end, and be reported after it
            return;
        reap();
        wait();
    });
}

void child::reap()
{
    bool const ran = !ended_;
    int status = 0;
    // Waits for all: processes that have left the group and lost their parent are ours to wait for, too.
    for (pid_t changed = 0; (changed = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (WIFSTOPPED(status)) {
            // Nobody else could bring the group back to the foreground, and the lock would be held for nothing.
            if (terminal_ >= 0 && ::getpgid(changed) == group_)
                ::kill(-group_, SIGCONT);
        } else if (changed == group_) {
            ended_ = status;
        }
    }
    siginfo_t left{};
    gone_ = ::waitid(P_PGID, static_cast<id_t>(group_), &left, WEXITED | WNOHANG | WNOWAIT) != 0 &&
            errno == ECHILD;
    if (ended_ && told_ && (ran || gone_))
        told_();
}

bool child::send(int signal)
{
    return ::kill(-group_, signal) == 0 || errno != EPERM;
}

int shell_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? exit_status::by_signal + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

} // namespace redlock::cli
