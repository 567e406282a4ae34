// SPDX-License-Identifier: BSL-1.0
#include "interop_partner.hpp"

#include "kit/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace redlock::test {
namespace {

constexpr int patience_ms = 60'000;
constexpr int exit_skipped = 77;

[[noreturn]] void fail(int error, std::string const& what)
{
    throw std::system_error(error, std::generic_category(), "interop_partner: " + what);
}

struct pipe_ends {
    int read = -1;
    int write = -1;

    pipe_ends()
    {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            fail(errno, "pipe");
        read = ends[0];
        write = ends[1];
    }
};

pid_t spawn(std::vector<std::string> const& command, int input, int output)
{
    auto const words = arguments_of(command);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t child = -1;
    int const error = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT)
        return -1;
    if (error != 0)
        fail(error, command[0]);
    return child;
}

} // namespace

interop_partner::interop_partner(std::vector<std::string> const& command)
{
    pipe_ends const input;
    pipe_ends const output;
    to_ = input.write;
    from_ = output.read;
    pid_ = spawn(command, input.read, output.write);
    ::close(input.read);
    ::close(output.write);
    auto const first = pid_ < 0 ? "absent " + command[0] : read_line();
    if (first.starts_with("absent "))
        absent_ = first.substr(7);
    else if (first != "ready")
        throw std::runtime_error("interop_partner: began with: " + first);
}

interop_partner::~interop_partner()
{
    ::close(to_);
    ::close(from_);
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

std::string interop_partner::ask(std::string const& line)
{
    auto const sent = line + "\n";
    if (::write(to_, sent.data(), sent.size()) != static_cast<ssize_t>(sent.size()))
        fail(errno, "write");
    return read_line();
}

std::string interop_partner::read_line()
{
    for (;;) {
        if (auto const end = received_.find('\n'); end != std::string::npos) {
            auto line = received_.substr(0, end);
            received_.erase(0, end + 1);
            return line;
        }
        pollfd watched{from_, POLLIN, 0};
        std::array<char, 512> chunk{};
        ssize_t const size =
            ::poll(&watched, 1, patience_ms) == 1 ? ::read(from_, chunk.data(), chunk.size()) : -1;
        if (size <= 0)
            throw std::runtime_error("interop_partner: no answer");
        received_.append(chunk.data(), static_cast<std::size_t>(size));
    }
}

std::string interop_program(std::string const& name)
{
    return (std::filesystem::path(REDLOCK_INTEROP_PROGRAMS) / name).string();
}

std::string node_modules()
{
    static std::string const found = [] {
        auto const place =
            (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "interop").string();
        std::fflush(stdout);
        pid_t const child = spawn({interop_program("install.sh"), place}, STDIN_FILENO, STDOUT_FILENO);
        int status = -1;
        if (child > 0)
            ::waitpid(child, &status, 0);
        if (status == 0)
            return place;
        if (WIFEXITED(status) && WEXITSTATUS(status) == exit_skipped)
            return std::string(); // it has said why
        throw std::runtime_error("interop: install.sh failed");
    }();
    return found;
}

} // namespace redlock::test
