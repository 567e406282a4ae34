// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

namespace redlock::test {

/// Sends without waiting for replies, and tells a quiet, an ended and a reset connection apart.
class wire {
public:
    explicit wire(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        timeval const limit{10, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        BOOST_REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    }

    ~wire() { ::close(socket_); }
    wire(wire const&) = delete;
    wire& operator=(wire const&) = delete;

    void send(std::string const& text)
    {
        BOOST_REQUIRE(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
                      static_cast<ssize_t>(text.size()));
    }

    std::string receive(std::size_t count)
    {
        std::string text(count, '\0');
        auto const got = ::recv(socket_, text.data(), count, MSG_WAITALL);
        text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return text;
    }

    /// "bytes", "end", "reset" or "silence" (nothing within the time-out).
    std::string next()
    {
        char byte = 0;
        auto const got = ::recv(socket_, &byte, 1, 0);
        if (got > 0)
            return "bytes";
        if (got == 0)
            return "end";
        return errno == ECONNRESET ? "reset" : "silence";
    }

    bool quiet() const
    {
        pollfd watched{socket_, POLLIN, 0};
        return ::poll(&watched, 1, 0) == 0;
    }

    void end() { ::shutdown(socket_, SHUT_WR); }

    unsigned segments() const
    {
        tcp_info facts{};
        socklen_t size = sizeof facts;
        ::getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &facts, &size);
        return facts.tcpi_data_segs_in;
    }

private:
    int socket_;
};

} // namespace redlock::test
