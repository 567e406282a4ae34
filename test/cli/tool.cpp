// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include "kit/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

namespace redlock::test {

tool::tool(std::vector<std::string> const& arguments, environment const& variables, start const& how)
{
    std::vector<std::string> words{REDLOCK_TOOL};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> settings{std::string("PATH=") + std::getenv("PATH")};
    for (auto const& [name, value] : variables)
        settings.push_back(name + '=' + value);
    write("stdin", how.input);
    auto const argv = arguments_of(words);
    auto const envp = arguments_of(settings);
    auto const where = directory_.path().string();
    pid_ = how.terminal ? ::forkpty(&terminal_, nullptr, nullptr, nullptr) : ::fork();
    if (pid_ < 0)
        throw std::runtime_error("fork");
    if (pid_ > 0)
        return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    expect_signals();
    if (how.ignored != 0)
        ::signal(how.ignored, SIG_IGN);
    if (how.blocked != 0) {
        sigset_t set;
        ::sigemptyset(&set);
        ::sigaddset(&set, how.blocked);
        ::sigprocmask(SIG_BLOCK, &set, nullptr);
    }
    if (::chdir(where.c_str()) != 0)
        ::_exit(99);
    if (!how.terminal)
        ::dup2(::open("stdin", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    if (!how.shows)
        ::dup2(::open("stdout", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), STDOUT_FILENO);
    int const said = ::open("stderr", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(how.errors >= 0 ? how.errors : said, STDERR_FILENO);
    ::execve(argv.front(), argv.data(), envp.data());
    ::_exit(99);
}

tool::~tool()
{
    if (terminal_ >= 0)
        ::close(terminal_);
    if (status_ >= 0)
        return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

int tool::wait()
{
    int raw = 0;
    if (status_ < 0) {
        int const handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U));
        pollfd watched{handle, POLLIN, 0};
        int ended = -1;
        do
            ended = ::poll(&watched, 1, static_cast<int>(patience.count()));
        while (ended < 0 && errno == EINTR);
        ::close(handle);
        if (ended != 1 || ::waitpid(pid_, &raw, WNOHANG) != pid_)
            throw std::runtime_error("waited in vain for the end of " REDLOCK_TOOL);
        killed_ = WIFSIGNALED(raw);
        status_ = killed_ ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
        if (std::string const told = err(); told.find("Sanitizer") != std::string::npos)
            throw std::runtime_error(told);
    }
    return status_;
}

void tool::send(int signal) const
{
    ::kill(pid_, signal);
}

void tool::type(char key) const
{
    if (::write(terminal_, &key, 1) != 1)
        throw std::runtime_error("no terminal");
}

std::string tool::shown_until(std::string const& text) const
{
    std::string shown;
    char chunk[4096];
    while (!contains(shown, text)) {
        pollfd watched{terminal_, POLLIN, 0};
        if (::poll(&watched, 1, static_cast<int>(patience.count())) != 1)
            throw std::runtime_error("waited in vain for '" + text + "' after: " + shown);
        auto const size = ::read(terminal_, chunk, sizeof chunk);
        if (size <= 0)
            throw std::runtime_error("the terminal ended after: " + shown);
        shown.append(chunk, static_cast<std::size_t>(size));
    }
    return shown;
}

std::string tool::read(std::string const& name) const
{
    return text_of(path(name));
}

void tool::write(std::string const& name, std::string const& text) const
{
    std::ofstream(path(name)) << text;
}

finished_run::finished_run(std::vector<std::string> const& arguments, environment const& variables)
{
    tool run(arguments, variables);
    status = run.wait();
    out = run.out();
    err = run.err();
}

bool is_running(std::string const& pid)
{
    char const state = process_state(std::stoi(pid));
    return state != '\0' && state != 'Z';
}

bool is_stopped(std::string const& pid)
{
    return process_state(std::stoi(pid)) == 'T';
}

bool is_pending(std::string const& pid, int signal)
{
    std::string const all = text_of("/proc/" + std::to_string(std::stol(pid)) + "/status");
    std::string const name = "\nShdPnd:";
    auto const at = all.find(name);
    return at != std::string::npos &&
           (std::stoull(all.substr(at + name.size()), nullptr, 16) >> (signal - 1) & 1U) != 0;
}

} // namespace redlock::test
