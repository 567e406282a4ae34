// SPDX-License-Identifier: BSL-1.0
#include "net/leaf/this_machine.hpp"

#include "core/backoff.hpp"
#include "core/instant.hpp"
#include "net/connect.hpp"
#include "net/coroutine.hpp"
#include "net/executor.hpp"
#include "net/leaf/handler_memory.hpp"
#include "net/leaf/platform.hpp"
#include "net/leaf/random.hpp"
#include "net/leaf/socket_stream.hpp"
#include "net/leaf/tls.hpp"
#include "net/process_page.hpp"
#include "net/stream.hpp"
#include <redlock/config.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

class asio_alarm final : public alarm {
public:
    asio_alarm(any_io_executor const& executor, alarm_listener& listener)
        : listener_(listener), timer_(executor)
    {}

    void set(core::duration delay, std::shared_ptr<void> owner, unsigned tag) override
    {
        timer_.expires_after(delay);
        // The handler holds the owner, and with it the memory that it lives in.
        timer_.async_wait(asio::bind_allocator(
            handler_allocator<void>(memory_),
            [this, owner = std::move(owner), tag](error_code ec) { listener_.on_alarm(ec, tag); }));
    }

    void cancel() override { timer_.cancel(); }

private:
    alarm_listener& listener_;
    handler_memory memory_;
    asio::steady_timer timer_;
};

class asio_resolver final : public resolver {
public:
    explicit asio_resolver(any_io_executor const& executor) : resolver_(executor) {}

    void resolve(std::string const& host, std::uint16_t port, std::vector<endpoint>& found,
                 resumption done) override
    {
        resolver_.async_resolve(host, std::to_string(port),
                                [&found, done = std::move(done)](error_code ec, auto const& all) mutable {
                                    for (auto const& one : all)
                                        found.emplace_back(one.endpoint());
                                    done(ec);
                                });
    }

    void cancel() override { resolver_.cancel(); }

private:
    asio::ip::tcp::resolver resolver_;
};

class real_machine final : public machine {
public:
    core::instant read_clocks() const noexcept override { return platform::read_clocks(); }
    std::chrono::milliseconds wall_clock() const noexcept override
    {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::system_clock::now().time_since_epoch());
    }
    core::random_fraction random_bits() noexcept override { return net::random_bits(); }
    bool draw(std::span<unsigned char> secret) noexcept override
    {
        ERR_set_mark();
        bool const drawn = RAND_bytes(secret.data(), static_cast<int>(secret.size())) == 1;
        ERR_pop_to_mark(); // the thread's queue of errors is its user's, too
        return drawn;
    }

    process_page make_page() override { return platform::make_page(); }
    std::unique_ptr<alarm> make_alarm(any_io_executor const& executor, alarm_listener& listener) override
    {
        return std::make_unique<asio_alarm>(executor, listener);
    }
    std::unique_ptr<resolver> make_resolver(any_io_executor const& executor) override
    {
        return std::make_unique<asio_resolver>(executor);
    }
    std::shared_ptr<stream> make_stream(any_io_executor const& executor) override
    {
        return make_plain_stream(executor);
    }
    std::shared_ptr<tls_context> make_tls_context(tls_settings const& settings) override
    {
        return net::make_tls_context(settings);
    }
    std::shared_ptr<stream> secure(std::shared_ptr<stream> plain, peer const& to,
                                   std::string const& server_name, error_code& ec) override
    {
        auto& socket = static_cast<socket_stream&>(*plain).transport();
        return make_tls_stream(std::move(socket), to.tls, server_name, to.verify, ec);
    }
};

} // namespace

std::shared_ptr<machine> this_machine()
{
    static real_machine here;
    return {std::shared_ptr<void>(), &here};
}

} // namespace redlock::net
