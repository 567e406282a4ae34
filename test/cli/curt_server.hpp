// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::test {

/// Has one answer for each thing that it is told, and hangs up when it has none left.
class curt_server {
public:
    explicit curt_server(std::vector<std::string> answers) : answers_(std::move(answers))
    {
        socklen_t size = sizeof address_;
        auto* const address = reinterpret_cast<sockaddr*>(&address_);
        BOOST_TEST_REQUIRE(::bind(socket_, address, size) == 0);
        BOOST_TEST_REQUIRE(::listen(socket_, 8) == 0);
        BOOST_TEST_REQUIRE(::getsockname(socket_, address, &size) == 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~curt_server()
    {
        ::shutdown(socket_, SHUT_RDWR);
        thread_.join();
        ::close(socket_);
    }
    curt_server(curt_server const&) = delete;
    curt_server& operator=(curt_server const&) = delete;

    /// The part of its URL after the scheme.
    [[nodiscard]] std::string place() const
    {
        return "://127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
    }

private:
    void serve() const
    {
        char told[65536]; // all that is asked at once
        for (int peer = 0; (peer = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ::close(peer)) {
            auto const heard = [&] { return ::recv(peer, told, sizeof told, 0) > 0; };
            for (std::string const& answer : answers_)
                if (heard())
                    ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
            heard();
        }
    }

    std::vector<std::string> answers_;
    int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address_{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    std::thread thread_;
};

} // namespace redlock::test
