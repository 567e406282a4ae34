// SPDX-License-Identifier: BSL-1.0
#include "kit/reserved_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace redlock::test {

reserved_port::reserved_port(std::uint16_t wanted) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
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
        throw std::system_error(reason, std::generic_category(), "reserved_port: " + std::to_string(wanted));
    }
    number_ = ntohs(address.sin_port);
}

reserved_port::~reserved_port()
{
    if (socket_ >= 0)
        ::close(socket_);
}

reserved_port::reserved_port(reserved_port&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), number_(other.number_)
{}

reserved_port& reserved_port::operator=(reserved_port&& other) noexcept
{
    std::swap(socket_, other.socket_);
    std::swap(number_, other.number_);
    return *this;
}

} // namespace redlock::test
