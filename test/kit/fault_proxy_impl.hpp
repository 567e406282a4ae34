// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/fault_proxy_session.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <array>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

namespace redlock::test {

using namespace proxy;

/// The proxy's thread, which accepts connections and carries out orders.
class fault_proxy::impl {
public:
    impl(std::uint16_t server_port, clock::duration patience);
    ~impl();
    impl(impl const&) = delete;
    impl& operator=(impl const&) = delete;

    std::uint16_t port() const noexcept { return here_.port(); }
    board const& news() const noexcept { return news_; }

    /// Carries out `act(*this)` on the proxy's thread and returns when it is done.
    template <class Act>
    void order(Act act)
    {
        auto const task = std::make_shared<std::packaged_task<void()>>([this, act] { act(*this); });
        auto done = task->get_future();
        asio::post(context_, [task] { (*task)(); });
        if (done.wait_for(news_.patience()) != std::future_status::ready)
            throw std::runtime_error("fault_proxy: hangs");
        done.get();
    }

    template <class Act>
    void each(Act act)
    {
        // A copy, because a session may leave the set while it is acted on.
        for (auto const& one : session_set(sessions_))
            act(*one);
    }

    void set(direction way, mode how, clock::duration by = {});
    orders& wanted(direction way) { return orders_[index(way)]; }

    void listen();
    void refuse() { acceptor_.close(); }
    void black_hole();
    void redirect(std::uint16_t server_port) { server_port_ = server_port; }

private:
    void accept_next();
    void begin(tcp::socket accepted);

    asio::io_context context_{1};
    std::array<orders, 2> orders_{};
    board news_;
    session_set sessions_;
    tcp::socket reserved_;
    tcp::acceptor acceptor_;
    tcp::endpoint here_;
    std::uint16_t server_port_;
    bool swallowing_ = false;
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
    std::thread thread_;
};

} // namespace redlock::test
