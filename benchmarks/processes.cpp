// SPDX-License-Identifier: BSL-1.0
#include "processes.hpp"

#include "kit/certificates.hpp"
#include "null_responder.hpp"
#include "sockets.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

namespace redlock::bench {

namespace {

void pin(int cpu)
{
    if (cpu < 0)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    ::sched_setaffinity(0, sizeof set, &set);
}

std::uint16_t free_port()
{
    return local_port(bind_loopback(0));
}

/// Another process may take a port between our check and the server's bind: the answer must be our server's.
bool answers_as(std::uint16_t port, pid_t expected)
{
    int const fd = connect_loopback(port);
    if (fd < 0)
        return false;
    descriptor const socket{fd};
    std::string_view const question = "INFO server\r\n";
    if (::send(fd, question.data(), question.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(question.size()))
        return false;
    std::string text;
    std::array<char, 4096> chunk;
    pollfd readable{fd, POLLIN, 0};
    auto const wanted = "process_id:" + std::to_string(expected) + "\r\n";
    while (text.find(wanted) == std::string::npos) {
        if (::poll(&readable, 1, 200) != 1)
            return false;
        auto const size = ::read(fd, chunk.data(), chunk.size());
        if (size <= 0)
            return false;
        text.append(chunk.data(), static_cast<std::size_t>(size));
    }
    return true;
}

[[noreturn]] void exec_redis(std::vector<std::string> arguments)
{
    int const nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDIN_FILENO);
    ::dup2(nowhere, STDOUT_FILENO);
    std::vector<char*> words;
    for (auto& each : arguments)
        words.push_back(each.data());
    words.push_back(nullptr);
    ::execvp("redis-server", words.data());
    throw std::runtime_error{"redis-server cannot be started"};
}

bool comes_up(child& server, std::uint16_t port)
{
    for (int tries = 0; tries < 250 && server.running(); ++tries) {
        if (answers_as(port, server.id()))
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    return false;
}

} // namespace

placement choose_cpus()
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    placement out{-1, -1};
    for (int cpu = 0; cpu < CPU_SETSIZE && out.server_cpu < 0; ++cpu)
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed))
            (out.client_cpu < 0 ? out.client_cpu : out.server_cpu) = cpu;
    if (out.server_cpu < 0)
        out.server_cpu = out.client_cpu;
    return out;
}

double own_cpu_us()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    auto const microseconds = [](timeval const& time) {
        return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
    };
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

double cpu_time_us(pid_t process)
{
    std::ifstream file{"/proc/" + std::to_string(process) + "/schedstat"};
    double nanoseconds = 0;
    file >> nanoseconds;
    return nanoseconds / 1000.0;
}

child::child(int cpu, std::function<void()> const& body)
{
    std::fflush(nullptr);
    pid_t const parent = ::getpid();
    id_ = ::fork();
    if (id_ < 0)
        throw std::runtime_error{"fork"};
    if (id_ > 0)
        return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(1); // the parent died before the line above took effect
    int status = 0;
    try {
        pin(cpu);
        body();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        status = 1;
    }
    ::_exit(status);
}

child::~child()
{
    if (!reaped_) {
        ::kill(id_, SIGKILL);
        ::waitpid(id_, &status_, 0);
    }
}

bool child::running()
{
    if (!reaped_)
        reaped_ = ::waitpid(id_, &status_, WNOHANG) == id_;
    return !reaped_;
}

bool child::wait_for(std::chrono::duration<double> limit)
{
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (running()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

std::string unix_socket_in(std::string const& directory, std::uint16_t port)
{
    return directory + '/' + std::to_string(port) + ".sock";
}

struct redis_fleet::papers {
    test::temporary_directory directory{"redlock-bench"};
    test::certificate_authority authority{directory.path(), "authority"};
    test::tls_files const server = authority.issue_server({"IP:127.0.0.1"});
};

redis_fleet::redis_fleet(std::size_t nodes, int cpu, tls wanted) : papers_(std::make_unique<papers>())
{
    bool const has_tls = wanted == tls::where_it_can_be_had && add_server(cpu, true);
    for (int tries = 0; servers_.size() < nodes; ++tries) {
        if (tries == 20)
            throw std::runtime_error{"the redis-servers do not come up (is redis-server installed?)"};
        (void)add_server(cpu, has_tls);
    }
}

redis_fleet::~redis_fleet() = default;

std::string redis_fleet::directory() const
{
    return papers_->directory.path().string();
}

bool redis_fleet::add_server(int cpu, bool with_tls)
{
    auto const port = free_port();
    auto const tls_port = free_port();
    std::vector<std::string> arguments{"redis-server",
                                       "--port",
                                       std::to_string(port),
                                       "--bind",
                                       "127.0.0.1",
                                       "--unixsocket",
                                       unix_socket_in(directory(), port),
                                       "--save",
                                       "",
                                       "--appendonly",
                                       "no",
                                       "--loglevel",
                                       "warning"};
    if (with_tls) {
        auto const& files = papers_->server;
        arguments.insert(arguments.end(),
                         {"--tls-port", std::to_string(tls_port), "--tls-cert-file", files.certificate,
                          "--tls-key-file", files.key, "--tls-ca-cert-file", files.authority,
                          "--tls-auth-clients", "no"});
    }
    auto server = std::make_unique<child>(cpu, [&] { exec_redis(arguments); });
    if (!comes_up(*server, port))
        return false;
    servers_.push_back(std::move(server));
    ports_.push_back(port);
    if (with_tls)
        tls_ports_.push_back(tls_port);
    return true;
}

std::vector<pid_t> redis_fleet::ids(std::size_t nodes) const
{
    std::vector<pid_t> out;
    for (std::size_t index = 0; index < nodes; ++index)
        out.push_back(servers_[index]->id());
    return out;
}

null_fleet::null_fleet(std::size_t nodes, int cpu)
{
    std::vector<descriptor> listeners;
    for (std::size_t index = 0; index < nodes; ++index) {
        listeners.push_back(bind_loopback(0, SOCK_NONBLOCK));
        if (::listen(listeners.back().get(), 64) != 0)
            throw std::runtime_error{"listen"};
        ports_.push_back(local_port(listeners.back()));
    }
    server_ = std::make_unique<child>(cpu, [&] {
        std::vector<int> fds;
        for (auto const& listener : listeners)
            fds.push_back(listener.get());
        serve_null(fds);
    });
}

} // namespace redlock::bench
