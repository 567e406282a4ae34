// SPDX-License-Identifier: BSL-1.0
#include "slow_network.hpp"

#include "command_counter.hpp"
#include "sockets.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::bench {

namespace {

using clock = std::chrono::steady_clock; // CLOCK_MONOTONIC, as the timer

enum side : std::size_t { client_side, server_side };

struct connection;

/// The object that epoll reports.
struct socket_end {
    descriptor socket;
    connection* of = nullptr;
    std::string unsent{};
};

struct connection : std::enable_shared_from_this<connection> {
    connection(descriptor client, descriptor server)
        : ends{socket_end{std::move(client), this}, socket_end{std::move(server), this}}
    {}

    std::array<socket_end, 2> ends;
    command_counter asked{};
    bool over = false;
};

struct parcel {
    clock::time_point due;
    std::shared_ptr<connection> on;
    side to;
    std::string bytes; ///< empty: the other end has closed
};

class forwarder {
public:
    forwarder(std::vector<descriptor> const& listeners, std::span<std::uint16_t const> servers,
              std::chrono::microseconds one_way, std::atomic<std::uint64_t>& commands)
        : listeners_(listeners), servers_(servers), one_way_(one_way), commands_(commands),
          epoll_(::epoll_create1(EPOLL_CLOEXEC)),
          timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))
    {
        for (auto const& listener : listeners_)
            watch(listener, const_cast<descriptor*>(&listener), EPOLLIN);
        watch(timer_, &timer_, EPOLLIN);
    }

    [[noreturn]] void run()
    {
        std::array<epoll_event, 256> events;
        for (;;) {
            int const ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
            for (int i = 0; i < ready; ++i)
                serve(events[static_cast<std::size_t>(i)]);
            deliver();
            over_.clear();
        }
    }

private:
    void watch(descriptor const& which, void* what, std::uint32_t events, int how = EPOLL_CTL_ADD)
    {
        epoll_event wanted{events, {.ptr = what}};
        ::epoll_ctl(epoll_.get(), how, which.get(), &wanted);
    }

    void serve(epoll_event const& event)
    {
        for (std::size_t i = 0; i != listeners_.size(); ++i)
            if (event.data.ptr == &listeners_[i])
                return open(i);
        if (event.data.ptr == &timer_)
            return rest(); // run() delivers in any case
        auto& from = *static_cast<socket_end*>(event.data.ptr);
        if (from.of->over)
            return;
        if ((event.events & EPOLLOUT) != 0)
            send(from, {});
        if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
            receive(from);
    }

    /// An expired timer that nobody reads would be told of again and again.
    void rest()
    {
        std::uint64_t times = 0;
        (void)!::read(timer_.get(), &times, sizeof times);
        set_to_ = {};
    }

    void open(std::size_t which)
    {
        int const near = ::accept4(listeners_[which].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (near < 0)
            return;
        descriptor client{near};
        no_delay(near);
        int const far = connect_loopback(servers_[which]);
        if (far < 0)
            return;
        auto const made = std::make_shared<connection>(std::move(client), descriptor{far});
        for (auto& end : made->ends)
            watch(end.socket, &end, EPOLLIN);
        open_.push_back(made);
    }

    void receive(socket_end& from)
    {
        auto const bytes = ::recv(from.socket.get(), chunk_.data(), chunk_.size(), MSG_DONTWAIT);
        if (bytes < 0 && errno == EAGAIN)
            return;
        std::string_view const read{chunk_.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
        bool const asks = &from == &from.of->ends[client_side];
        if (asks)
            commands_ += from.of->asked.count(read);
        if (read.empty()) // the end, which epoll would go on to tell of
            watch(from.socket, &from, 0, EPOLL_CTL_DEL);
        under_way_.push_back({clock::now() + one_way_, from.of->shared_from_this(),
                              asks ? server_side : client_side, std::string{read}});
    }

    void deliver()
    {
        while (!under_way_.empty() && under_way_.front().due <= clock::now()) {
            parcel const next = std::move(under_way_.front());
            under_way_.pop_front();
            if (next.on->over)
                continue;
            if (next.bytes.empty())
                end(next.on);
            else
                send(next.on->ends[next.to], next.bytes);
        }
        if (!under_way_.empty())
            set_timer(under_way_.front().due);
    }

    void set_timer(clock::time_point due)
    {
        if (due == set_to_)
            return;
        set_to_ = due;
        auto const left = due.time_since_epoch();
        auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        itimerspec const wanted{{}, {seconds.count(), std::chrono::nanoseconds{left - seconds}.count()}};
        ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &wanted, nullptr);
    }

    void send(socket_end& to, std::string_view bytes)
    {
        bool const waited = !to.unsent.empty();
        to.unsent += bytes;
        auto const gone =
            ::send(to.socket.get(), to.unsent.data(), to.unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (gone > 0)
            to.unsent.erase(0, static_cast<std::size_t>(gone));
        if (waited != !to.unsent.empty())
            watch(to.socket, &to, waited ? EPOLLIN : EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
    }

    void end(std::shared_ptr<connection> const& which)
    {
        which->over = true;
        for (auto& each : which->ends) { // shutdown: events of this turn may still name the descriptors
            watch(each.socket, &each, 0, EPOLL_CTL_DEL);
            ::shutdown(each.socket.get(), SHUT_RDWR);
        }
        over_.push_back(which);
        std::erase(open_, which);
    }

    std::vector<descriptor> const& listeners_;
    std::span<std::uint16_t const> servers_;
    std::chrono::microseconds one_way_;
    std::atomic<std::uint64_t>& commands_;
    descriptor epoll_;
    descriptor timer_;
    clock::time_point set_to_{};
    std::vector<std::shared_ptr<connection>> open_;
    std::vector<std::shared_ptr<connection>> over_;
    std::deque<parcel> under_way_; // in the order in which they are due: all take equally long
    std::array<char, 1 << 16> chunk_;
};

void allow_many_sockets()
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace

slow_network::slow_network(std::span<std::uint16_t const> servers, std::chrono::microseconds one_way)
{
    std::vector<descriptor> listeners;
    for (std::size_t index = 0; index != servers.size(); ++index) {
        listeners.push_back(bind_loopback(0, SOCK_NONBLOCK));
        if (::listen(listeners.back().get(), 1024) != 0)
            throw std::runtime_error{"listen"};
        ports_.push_back(local_port(listeners.back()));
    }
    forwarder_ = std::make_unique<child>(-1, [&] {
        allow_many_sockets();
        forwarder{listeners, servers, one_way, *commands_}.run();
    });
}

} // namespace redlock::bench
