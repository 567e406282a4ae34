#include "support/redis_server.hpp"

#include "support/probe.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace redlock::test {
namespace {

using clock = std::chrono::steady_clock;

/// Generous, because sanitizers and a loaded machine stretch a start of 10 ms; reached only by a failure.
constexpr std::chrono::seconds start_limit{20};
constexpr int end_limit_ms = 20'000;
constexpr int start_poll_ms = 2;
constexpr int start_attempts = 5;

[[noreturn]] void fail(std::string const& what)
{
    throw std::system_error(errno, std::generic_category(), "redis_server: " + what);
}

/// Resolved before the fork: between fork and exec a process with threads may call next to nothing.
std::string find_binary()
{
    char const* chosen = std::getenv("REDLOCK_TEST_SERVER");
    std::string const name = chosen != nullptr && *chosen != '\0' ? chosen : "redis-server";
    auto const executable = [](std::string const& path) { return ::access(path.c_str(), X_OK) == 0; };
    if (name.find('/') != std::string::npos)
        return executable(name) ? name : std::string();
    char const* places = std::getenv("PATH");
    std::istringstream list(places != nullptr ? places : "/usr/bin:/usr/local/bin");
    for (std::string place; std::getline(list, place, ':');) {
        auto path = place + "/" + name;
        if (executable(path))
            return path;
    }
    return {};
}

[[noreturn]] void become(char* const* command, int log, pid_t parent)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before the line above: then nobody is left to end us.
    if (::getppid() != parent)
        ::_exit(126);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    int const nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(command[0], command);
    ::_exit(127);
}

pid_t spawn(std::vector<std::string> const& command, std::string const& log_path)
{
    std::vector<char*> pointers;
    for (auto const& word : command)
        pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    int const log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0)
        fail(log_path);
    pid_t const parent = ::getpid();
    pid_t const child = ::fork();
    if (child == 0)
        become(pointers.data(), log, parent);
    ::close(log);
    if (child < 0)
        fail("fork");
    return child;
}

} // namespace

redis_server::reserved_port::reserved_port(std::uint16_t wanted)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(wanted);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    int const on = 1;
    if (socket_ < 0 || ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(socket_, raw, size) != 0 || ::getsockname(socket_, raw, &size) != 0) {
        int const reason = errno;
        if (socket_ >= 0)
            ::close(socket_);
        errno = reason;
        fail("port " + std::to_string(wanted));
    }
    number_ = ntohs(address.sin_port);
}

redis_server::reserved_port::~reserved_port()
{
    if (socket_ >= 0)
        ::close(socket_);
}

redis_server::reserved_port::reserved_port(reserved_port&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), number_(other.number_)
{}

redis_server::reserved_port& redis_server::reserved_port::operator=(reserved_port&& other) noexcept
{
    std::swap(socket_, other.socket_);
    std::swap(number_, other.number_);
    return *this;
}

bool redis_server::available()
{
    return !find_binary().empty();
}

redis_server::redis_server(redis_server_options options) : options_(std::move(options)), port_(options_.port)
{
    if (options_.unix_path.empty())
        options_.unix_path = directory_.file("socket");
    if (options_.tls)
        tls_port_.emplace(std::uint16_t{0});
    if (!options_.acl.empty()) {
        std::ofstream file(directory_.file("users.acl"));
        for (auto const& entry : options_.acl)
            file << entry << '\n';
    }
    start();
}

redis_server::~redis_server()
{
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(handle_);
}

std::vector<std::string> redis_server::command_line() const
{
    std::vector<std::string> words{find_binary()};
    auto const add = [&words](auto... word) { (words.emplace_back(word), ...); };
    add("--port", std::to_string(port()), "--bind", "127.0.0.1", "--unixsocket", unix_path());
    add("--dir", directory_.path().string(), "--save", "", "--appendonly", "no", "--daemonize", "no");
    if (options_.tls) {
        add("--tls-port", std::to_string(tls_port()), "--tls-cert-file", options_.tls->certificate);
        add("--tls-key-file", options_.tls->key, "--tls-ca-cert-file", options_.tls->authority);
        add("--tls-auth-clients", options_.require_client_certificate ? "yes" : "no");
    }
    if (!options_.password.empty())
        add("--requirepass", options_.password);
    if (!options_.acl.empty())
        add("--aclfile", directory_.file("users.acl"));
    words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
    return words;
}

void redis_server::start()
{
    if (!available())
        throw std::runtime_error("redis_server: no redis-server (PATH, REDLOCK_TEST_SERVER)");
    for (int attempt = 1; attempt <= start_attempts; ++attempt) {
        log_start_ = log().size();
        pid_ = spawn(command_line(), directory_.file("log"));
        // By number: the declaration in glibc 2.36 lacks extern "C".
        handle_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U));
        if (handle_ < 0)
            fail("pidfd_open");
        if (started())
            return;
        auto const said = log().substr(log_start_);
        if (said.find("Address already in use") == std::string::npos)
            break;
        if (options_.port == 0)
            port_ = reserved_port(0);
        if (tls_port_)
            *tls_port_ = reserved_port(0);
    }
    constexpr std::size_t tail = 2000;
    auto const said = log();
    throw std::runtime_error("redis_server: cannot start:\n" +
                             said.substr(said.size() - std::min(tail, said.size())));
}

/// A server binds its TCP ports before its Unix socket and gives up if one is taken, so an answer on the
/// socket in our own directory proves that the ports are served, and by our child.
bool redis_server::started()
{
    auto const deadline = clock::now() + start_limit;
    while (clock::now() < deadline) {
        if (ended_within(start_poll_ms))
            return false;
        if (answers())
            return true;
    }
    kill();
    return false;
}

bool redis_server::answers() const
{
    try {
        auto const said = probe(unix_path()).command({"PING"});
        // Whoever asks for a password, or serves no PING, has read its data and serves.
        return said.find("LOADING") == std::string::npos;
    } catch (std::exception const&) {
        return false;
    }
}

void redis_server::forget()
{
    ::close(std::exchange(handle_, -1));
    // Never signal this number again: the kernel may have given it to a stranger.
    pid_ = -1;
    paused_ = false;
}

bool redis_server::ended_within(int milliseconds)
{
    if (pid_ <= 0)
        return true;
    pollfd watched{handle_, POLLIN, 0};
    ::poll(&watched, 1, milliseconds);
    if (::waitpid(pid_, nullptr, WNOHANG) != pid_)
        return false;
    forget();
    return true;
}

bool redis_server::running()
{
    return !ended_within(0);
}

void redis_server::kill()
{
    if (!running())
        return;
    ::kill(pid_, SIGKILL);
    if (!ended_within(end_limit_ms))
        throw std::runtime_error("redis_server: survives SIGKILL");
}

void redis_server::terminate()
{
    if (!running())
        return;
    ::kill(pid_, SIGTERM);
    // A stopped process sees the signal only once it goes on.
    ::kill(pid_, SIGCONT);
    if (!ended_within(end_limit_ms))
        throw std::runtime_error("redis_server: survives SIGTERM");
}

void redis_server::signal_and_wait(int signal, int report)
{
    if (!running())
        throw std::runtime_error("redis_server: not running:\n" + log().substr(log_start_));
    ::kill(pid_, signal);
    int status = 0;
    if (::waitpid(pid_, &status, report) != pid_)
        fail("waitpid");
    if (WIFSTOPPED(status) || WIFCONTINUED(status))
        return;
    forget();
    throw std::runtime_error("redis_server: ended by itself:\n" + log().substr(log_start_));
}

void redis_server::pause()
{
    if (paused_)
        return;
    signal_and_wait(SIGSTOP, WUNTRACED);
    paused_ = true;
}

void redis_server::resume()
{
    if (!paused_)
        return;
    signal_and_wait(SIGCONT, WCONTINUED);
    paused_ = false;
}

void redis_server::restart()
{
    terminate();
    start();
}

std::string redis_server::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}

std::string redis_server::tls_url() const
{
    return "rediss://127.0.0.1:" + std::to_string(tls_port());
}

std::string redis_server::log() const
{
    std::ifstream file(directory_.file("log"));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

server_group::server_group(std::size_t count, redis_server_options const& options)
{
    while (servers_.size() < count)
        servers_.push_back(std::make_unique<redis_server>(options));
}

std::vector<std::string> server_group::urls() const
{
    std::vector<std::string> list;
    for (auto const& server : servers_)
        list.push_back(server->url());
    return list;
}

} // namespace redlock::test
