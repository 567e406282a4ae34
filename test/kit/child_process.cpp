// SPDX-License-Identifier: BSL-1.0
#include "kit/child_process.hpp"

#include "kit/text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace redlock::test {
namespace {

/// Generous, because sanitizers and a loaded machine stretch an end; reached only by a failure.
constexpr int end_limit_ms = 20'000;

[[noreturn]] void fail(std::string const& what)
{
    throw std::system_error(errno, std::generic_category(), "child_process: " + what);
}

[[noreturn]] void become(char* const* command, int log, pid_t parent)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before the line above: then nobody is left to end us.
    if (::getppid() != parent)
        ::_exit(126);
    expect_signals();
    int const nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    // A socket of ours that it had would stay open when we close it.
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    ::execv(command[0], command);
    ::_exit(127);
}

pid_t spawn(std::vector<std::string> const& command, std::string const& log_path)
{
    auto const arguments = arguments_of(command);
    int const log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0)
        fail(log_path);
    pid_t const parent = ::getpid();
    pid_t const child = ::fork();
    if (child == 0)
        become(arguments.data(), log, parent);
    ::close(log);
    if (child < 0)
        fail("fork");
    return child;
}

} // namespace

std::vector<char*> arguments_of(std::vector<std::string> const& words)
{
    std::vector<char*> pointers;
    for (auto const& word : words)
        pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

void expect_signals() noexcept
{
    for (int const signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2})
        ::signal(signal, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

char process_state(pid_t pid)
{
    std::string const text = text_of("/proc/" + std::to_string(pid) + "/stat");
    auto const name_end = text.rfind(") ");
    return name_end == std::string::npos ? '\0' : text[name_end + 2];
}

child_process::child_process(std::vector<std::string> const& command, std::string const& log_path)
    : pid_(spawn(command, log_path))
{
    // By number: the declaration in glibc 2.36 lacks extern "C".
    handle_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U));
    if (handle_ >= 0)
        return;
    int const reason = errno;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    errno = reason;
    fail("pidfd_open");
}

child_process::~child_process()
{
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(handle_);
}

child_process::child_process(child_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), handle_(std::exchange(other.handle_, -1)),
      paused_(std::exchange(other.paused_, false)), exit_status_(other.exit_status_)
{}

child_process& child_process::operator=(child_process&& other) noexcept
{
    std::swap(pid_, other.pid_);
    std::swap(handle_, other.handle_);
    std::swap(paused_, other.paused_);
    std::swap(exit_status_, other.exit_status_);
    return *this;
}

void child_process::forget()
{
    ::close(std::exchange(handle_, -1));
    // Never signal this number again: the kernel may have given it to a stranger.
    pid_ = -1;
    paused_ = false;
}

bool child_process::ended_within(int milliseconds)
{
    if (pid_ <= 0)
        return true;
    pollfd watched{handle_, POLLIN, 0};
    ::poll(&watched, 1, milliseconds);
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_)
        return false;
    if (WIFEXITED(status))
        exit_status_ = WEXITSTATUS(status);
    forget();
    return true;
}

void child_process::kill()
{
    if (!running())
        return;
    ::kill(pid_, SIGKILL);
    if (!ended_within(end_limit_ms))
        throw std::runtime_error("child_process: survives SIGKILL");
}

void child_process::terminate()
{
    if (!running())
        return;
    ::kill(pid_, SIGTERM);
    // A stopped process sees the signal only once it goes on.
    ::kill(pid_, SIGCONT);
    if (!ended_within(end_limit_ms))
        throw std::runtime_error("child_process: survives SIGTERM");
}

bool child_process::signal_and_wait(int signal, int report)
{
    ::kill(pid_, signal);
    int status = 0;
    if (::waitpid(pid_, &status, report) != pid_)
        fail("waitpid");
    if (WIFSTOPPED(status) || WIFCONTINUED(status))
        return true;
    forget();
    return false;
}

bool child_process::pause()
{
    paused_ = running() && signal_and_wait(SIGSTOP, WUNTRACED);
    return paused_;
}

bool child_process::resume()
{
    bool const goes_on = running() && signal_and_wait(SIGCONT, WCONTINUED);
    paused_ = false;
    return goes_on;
}

} // namespace redlock::test
