// SPDX-License-Identifier: BSL-1.0
#include "kit/probe.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace redlock::test {

struct probe::reply {
    char type = '_';
    std::string text{};
    std::vector<reply> items{};

    bool is_error() const { return type == '-' || type == '!'; }
};

namespace {

[[noreturn]] void fail(char const* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

/// The socket's own time-outs bound connect, send and receive alike (socket(7), SO_RCVTIMEO).
int connected(int family, void const* address, socklen_t size, std::chrono::milliseconds timeout)
{
    int const socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
        fail("probe: socket");
    timeval const limit{timeout.count() / 1000, timeout.count() % 1000 * 1000};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    // An interruption, as by io_uring, does not end the attempt; the next call waits for it.
    while (::connect(socket, static_cast<sockaddr const*>(address), size) != 0) {
        int const reason = errno;
        if (reason == EINTR)
            continue;
        if (reason == EISCONN)
            break;
        ::close(socket);
        errno = reason;
        fail("probe: connect");
    }
    return socket;
}

} // namespace

probe::probe(std::uint16_t port, std::chrono::milliseconds timeout)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_ = connected(AF_INET, &address, sizeof address, timeout);
    int const on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

probe::probe(std::string const& unix_path, std::chrono::milliseconds timeout)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (unix_path.size() >= sizeof address.sun_path)
        throw std::runtime_error("probe: path too long: " + unix_path);
    std::memcpy(address.sun_path, unix_path.data(), unix_path.size());
    socket_ = connected(AF_UNIX, &address, sizeof address, timeout);
}

probe::~probe()
{
    if (socket_ >= 0)
        ::close(socket_);
}

probe::probe(probe&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_))
{}

probe& probe::operator=(probe&& other) noexcept
{
    std::swap(socket_, other.socket_);
    std::swap(received_, other.received_);
    return *this;
}

void probe::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        auto const sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            fail("probe: send");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void probe::fill()
{
    char buffer[4096];
    auto const count = ::recv(socket_, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR)
        return;
    if (count < 0)
        fail("probe: receive");
    if (count == 0)
        throw std::runtime_error("probe: the server closed the connection");
    received_.append(buffer, static_cast<std::size_t>(count));
}

std::string probe::exactly(std::size_t count)
{
    while (received_.size() < count)
        fill();
    auto part = received_.substr(0, count);
    received_.erase(0, count);
    return part;
}

std::string probe::line()
{
    auto end = received_.find("\r\n");
    for (; end == std::string::npos; end = received_.find("\r\n"))
        fill();
    auto text = exactly(end + 2);
    text.resize(end);
    return text;
}

probe::reply probe::read()
{
    auto head = line();
    if (head.empty())
        throw std::runtime_error("probe: empty reply line");
    reply result{head.front(), head.substr(1)};
    std::string_view const aggregates = "*~>%";
    std::string_view const blobs = "$=!";
    bool const aggregate = aggregates.find(result.type) != std::string_view::npos;
    if (!aggregate && blobs.find(result.type) == std::string_view::npos)
        return result;
    auto const length = std::stoll(result.text);
    if (length < 0)
        return {};
    if (aggregate) {
        result.text.clear();
        auto const count = result.type == '%' ? 2 * length : length;
        for (auto i = 0LL; i < count; ++i)
            result.items.push_back(read());
        return result;
    }
    result.text = exactly(static_cast<std::size_t>(length));
    exactly(2);
    return result;
}

probe::reply probe::ask(std::vector<std::string> const& arguments)
{
    std::string request = "*" + std::to_string(arguments.size()) + "\r\n";
    for (auto const& argument : arguments) {
        request += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
    }
    send(request);
    return read();
}

probe::reply probe::answer(std::vector<std::string> const& arguments)
{
    auto result = ask(arguments);
    if (result.is_error())
        throw std::runtime_error("probe: " + arguments.front() + ": " + result.text);
    return result;
}

std::string probe::readable(reply const& from)
{
    if (from.is_error())
        return "-" + from.text;
    switch (from.type) {
    case '_': return "(nil)";
    case '*':
    case '~':
    case '>':
    case '%': break;
    default: return from.text;
    }
    std::string list;
    for (auto const& item : from.items)
        list += (list.empty() ? "" : ", ") + readable(item);
    return "[" + list + "]";
}

std::string probe::command(std::vector<std::string> const& arguments)
{
    return readable(ask(arguments));
}

std::string probe::next()
{
    return readable(read());
}

std::optional<std::string> probe::get(std::string const& key)
{
    auto const value = answer({"GET", key});
    return value.type == '_' ? std::nullopt : std::optional(value.text);
}

long long probe::pttl(std::string const& key)
{
    return std::stoll(answer({"PTTL", key}).text);
}

bool probe::exists(std::string const& key)
{
    return answer({"EXISTS", key}).text == "1";
}

std::vector<std::string> probe::keys()
{
    std::vector<std::string> names;
    for (auto const& item : answer({"KEYS", "*"}).items)
        names.push_back(item.text);
    std::sort(names.begin(), names.end());
    return names;
}

std::string probe::info(std::string const& section)
{
    return answer({"INFO", section}).text;
}

long long probe::command_calls(std::string_view name)
{
    auto const statistics = info("commandstats");
    auto const label = "cmdstat_" + std::string(name) + ":calls=";
    auto const found = statistics.find(label);
    return found == std::string::npos ? 0 : std::stoll(statistics.substr(found + label.size()));
}

} // namespace redlock::test
