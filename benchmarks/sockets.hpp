// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace redlock::bench {

class descriptor {
public:
    explicit descriptor(int fd) : fd_{fd}
    {
        if (fd < 0)
            throw std::runtime_error{"no descriptor"};
    }
    descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    descriptor& operator=(descriptor&&) = delete;
    ~descriptor()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }

    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

inline sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

inline void no_delay(int fd)
{
    int const on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

inline descriptor bind_loopback(std::uint16_t port, int type_flags = 0)
{
    descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | type_flags, 0)};
    int const on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in const address = loopback(port);
    if (::bind(socket.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
        throw std::runtime_error{"cannot bind 127.0.0.1:" + std::to_string(port)};
    return socket;
}

inline std::uint16_t local_port(descriptor const& socket)
{
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

/// Blocking; -1 when nobody listens.
inline int connect_loopback(std::uint16_t port)
{
    int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in const address = loopback(port);
    if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
        ::close(fd);
        return -1;
    }
    if (fd >= 0)
        no_delay(fd);
    return fd;
}

/// Blocking; -1 when nobody listens.
inline int connect_unix(std::string const& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw std::runtime_error{"too long for a unix socket: " + path};
    path.copy(address.sun_path, path.size());
    int const fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

} // namespace redlock::bench
