// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// The common parts of the examples: Redis servers of their own, so that they run without any preparation. Linux.
namespace example {

/// A `redis-server` on a free loopback port, in a directory of its own; it ends with this object or this
/// process.
class local_redis {
public:
    explicit local_redis(std::vector<std::string> arguments = {}) : arguments_(std::move(arguments))
    {
        std::string name = (std::filesystem::temp_directory_path() / "redlock-example-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no directory for a redis-server in " + name);
        directory_ = name;
        reserve_port();
        start();
    }

    ~local_redis()
    {
        kill();
        ::close(reservation_);
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    local_redis(local_redis const&) = delete;
    local_redis& operator=(local_redis const&) = delete;

    /// A crash: SIGKILL.
    void kill()
    {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

    /// A hang: the kernel goes on accepting connections for it, and nobody answers.
    void freeze()
    {
        ::kill(pid_, SIGSTOP);
        ::waitpid(pid_, nullptr, WUNTRACED);
    }

    /// Starts the server on its port, empty unless its arguments say that it persists. Returns when it
    /// answers.
    void start()
    {
        pid_t const parent = ::getpid();
        pid_ = ::fork();
        if (pid_ < 0)
            throw std::runtime_error("fork failed");
        if (pid_ == 0)
            become_server(parent);
        for (int tries = 0; tries != 1000; ++tries) {
            if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
                pid_ = -1;
                break;
            }
            if (!ask("PING").empty())
                return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        throw std::runtime_error("redis-server does not start; is it installed? See " + directory_.string() +
                                 "/log");
    }

    /// The first line of the answer to an inline command, read without the library: what is on the server
    /// itself.
    [[nodiscard]] std::string ask(std::string const& command) const
    {
        namespace asio = boost::asio;
        asio::io_context context;
        asio::ip::tcp::socket socket(context);
        boost::system::error_code ec;
        socket.connect({asio::ip::address_v4::loopback(), port_}, ec);
        if (!ec)
            asio::write(socket, asio::buffer(command + "\r\n"), ec);
        std::string answer;
        if (!ec)
            asio::read_until(socket, asio::dynamic_buffer(answer), "\r\n", ec);
        return ec ? std::string() : answer.substr(0, answer.find("\r\n"));
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] std::filesystem::path const& directory() const { return directory_; }

private:
    // Bound and never listening, so that the port is nobody else's between two lives of the server;
    // SO_REUSEADDR on both sockets lets the server listen there (ip(7), socket(7)).
    void reserve_port()
    {
        reservation_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int const on = 1;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const raw = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        if (reservation_ < 0 || ::setsockopt(reservation_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
            ::bind(reservation_, raw, size) != 0 || ::getsockname(reservation_, raw, &size) != 0)
            throw std::runtime_error("no free port on loopback");
        port_ = ntohs(address.sin_port);
    }

    [[noreturn]] void become_server(pid_t parent) const
    {
        ::setpgid(0, 0); // Ctrl-C at the terminal is for the example, which may still have locks to release
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) // it died before the line above
            ::_exit(126);
        ::syscall(SYS_close_range, 3, ~0U, 0); // the sockets of the clients in this process, above all
        std::vector<std::string> words{"redis-server",
                                       "--bind",
                                       "127.0.0.1",
                                       "--port",
                                       std::to_string(port_),
                                       "--dir",
                                       directory_,
                                       "--logfile",
                                       "log",
                                       "--save",
                                       "",
                                       "--appendonly",
                                       "no",
                                       "--maxmemory-policy",
                                       "noeviction"};
        words.insert(words.end(), arguments_.begin(), arguments_.end());
        std::vector<char*> pointers;
        for (std::string& word : words)
            pointers.push_back(word.data());
        pointers.push_back(nullptr);
        ::execvp(pointers[0], pointers.data());
        ::_exit(127);
    }

    std::vector<std::string> arguments_;
    std::filesystem::path directory_;
    int reservation_ = -1;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

/// The nodes that an example works with: those named on the command line, or servers of its own.
struct nodes {
    explicit nodes(std::size_t count, std::vector<std::string> const& arguments = {})
    {
        for (std::size_t i = 0; i != count; ++i) {
            own.push_back(std::make_unique<local_redis>(arguments));
            urls.push_back(own.back()->url());
        }
    }

    nodes(int argc, char** argv, std::size_t count = 3) : nodes(argc > 1 ? 0 : count)
    {
        urls.insert(urls.end(), argv + (argc > 0 ? 1 : 0), argv + argc);
    }

    std::vector<std::string> urls;
    std::vector<std::unique_ptr<local_redis>> own;
};

/// The examples check themselves: a broken promise is said, and makes the program's exit code non-zero.
class promises {
public:
    void keep(bool kept, std::string const& what)
    {
        std::cout << (kept ? "  kept:   " : "  BROKEN: ") << what << std::endl;
        broken_ += kept ? 0 : 1;
    }
    [[nodiscard]] int exit_code() const { return broken_ == 0 ? EXIT_SUCCESS : EXIT_FAILURE; }

private:
    int broken_ = 0;
};

} // namespace example
