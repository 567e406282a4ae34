// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cluster.hpp"
#include "kit/patience.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The common parts of tests with several processes.
namespace redlock::test {

/// A copy of this process that does one thing and leaves as it is: the servers belong to the parent.
class child {
public:
    explicit child(std::function<void()> const& work)
    {
        pid_t const parent = ::getpid();
        pid_ = ::fork();
        if (pid_ != 0)
            return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            ::_exit(1);
        try {
            work();
            ::_exit(0);
        } catch (std::exception const& e) {
            std::fprintf(stderr, "child: %s\n", e.what());
            ::_exit(1);
        }
    }
    child(child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    child& operator=(child&&) = delete;
    ~child() { kill(); }

    void kill()
    {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        (void)join();
    }
    /// Returns when it stands still.
    void stop()
    {
        ::kill(pid_, SIGSTOP);
        int status = 0;
        ::waitpid(pid_, &status, WUNTRACED);
    }
    void go_on() { ::kill(pid_, SIGCONT); }
    /// Aborts a copy that hangs, so that a sanitizer tells where.
    bool join()
    {
        int status = -1;
        pid_t const pid = std::exchange(pid_, -1);
        try {
            wait_until([&] { return ::waitpid(pid, &status, WNOHANG) == pid; });
        } catch (std::runtime_error const&) {
            ::kill(pid, SIGABRT);
            ::waitpid(pid, &status, 0);
        }
        return status == 0;
    }

private:
    pid_t pid_ = -1;
};

/// Lines that any number of processes append, whole and in order (open(2), O_APPEND).
class journal {
public:
    void append(std::string const& line) const
    {
        int const file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        auto const text = line + '\n';
        if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            ::_exit(2);
        ::close(file);
    }
    std::vector<std::string> lines() const
    {
        std::ifstream file(path_);
        std::vector<std::string> all;
        for (std::string line; std::getline(file, line);)
            all.push_back(line);
        return all;
    }

private:
    temporary_directory directory_{"redlock-journal"};
    std::string path_ = directory_.file("journal");
};

} // namespace redlock::test
