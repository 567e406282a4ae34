// SPDX-License-Identifier: BSL-1.0
#include "net/leaf/parting.hpp"

#include "core/memory.hpp"
#include "net/machine.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds longest_parting{500};

class parting : public std::enable_shared_from_this<parting> {
public:
    parting(std::shared_ptr<socket_stream> last, std::string rest)
        : last_(std::move(last)), rest_(std::move(rest)), limit_(peer().get_executor(), longest_parting)
    {}

    void start()
    {
        error_code ignored;
        peer().cancel(ignored); // ends the wait for the listener
        limit_.async_wait([self = shared_from_this()](error_code) { self->last_->close(); });
        asio::async_write(peer(), asio::buffer(rest_), [self = shared_from_this()](error_code, std::size_t) {
            error_code gone;
            self->peer().shutdown(socket::shutdown_send, gone);
        });
        read();
    }

private:
    socket& peer() { return last_->transport(); }

    void read()
    {
        peer().async_read_some(asio::buffer(nowhere_),
                               [self = shared_from_this()](error_code ec, std::size_t) {
                                   if (ec || !core::if_memory_allows([&] { self->read(); }))
                                       self->limit_.cancel(); // no more answers are awaited
                               });
    }

    std::shared_ptr<socket_stream> last_;
    std::string rest_;
    asio::steady_timer limit_;
    std::array<char, 4096> nowhere_{};
};

} // namespace

void part(std::shared_ptr<socket_stream> last, std::string rest)
{
    std::make_shared<parting>(std::move(last), std::move(rest))->start();
}

} // namespace redlock::net
