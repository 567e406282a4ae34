// SPDX-License-Identifier: BSL-1.0
// ppoll for hiredis' asynchronous connections, and timers.
#pragma once

#include "../driver.hpp"

#include <hiredis/async.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <stdexcept>
#include <vector>

namespace comparison {

class event_loop {
public:
    redisAsyncContext* connect(node_address const& node)
    {
        redisAsyncContext* const context = redisAsyncConnect(node.host.c_str(), node.port);
        if (context == nullptr || context->err != 0)
            throw std::runtime_error{"cannot connect"};
        sockets_.push_back(std::make_unique<socket>(socket{context, 0}));
        context->ev.data = sockets_.back().get();
        context->ev.addRead = [](void* of) { static_cast<socket*>(of)->events |= POLLIN; };
        context->ev.delRead = [](void* of) { static_cast<socket*>(of)->events &= ~POLLIN; };
        context->ev.addWrite = [](void* of) { static_cast<socket*>(of)->events |= POLLOUT; };
        context->ev.delWrite = [](void* of) { static_cast<socket*>(of)->events &= ~POLLOUT; };
        context->ev.cleanup = [](void* of) { static_cast<socket*>(of)->context = nullptr; };
        redisAsyncSetConnectCallback(context, [](redisAsyncContext const*, int) {}); // arms the first write
        return context;
    }

    void after_us(std::int64_t time, std::function<void()> what)
    {
        timers_.push({now_ns() + time * 1000, std::move(what)});
    }

    void turn()
    {
        std::vector<pollfd>& asked = asked_;
        asked.clear();
        for (auto const& each : sockets_) {
            if (each->context == nullptr)
                throw std::runtime_error{"a connection ended"};
            asked.push_back({each->context->c.fd, static_cast<short>(each->events), 0});
        }
        timespec const limit = until_next_timer();
        ::ppoll(asked.data(), asked.size(), &limit, nullptr);
        for (std::size_t i = 0; i != asked.size(); ++i) {
            if ((asked[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0)
                redisAsyncHandleRead(sockets_[i]->context);
            if ((asked[i].revents & POLLOUT) != 0 && sockets_[i]->context != nullptr)
                redisAsyncHandleWrite(sockets_[i]->context);
        }
        run_timers();
    }

private:
    struct socket {
        redisAsyncContext* context;
        int events;
    };
    struct timer {
        std::int64_t at;
        std::function<void()> what;
        bool operator<(timer const& other) const { return at > other.at; }
    };

    timespec until_next_timer() const
    {
        std::int64_t const longest = 100'000'000;
        std::int64_t const left =
            timers_.empty() ? longest : std::clamp<std::int64_t>(timers_.top().at - now_ns(), 0, longest);
        return {.tv_sec = 0, .tv_nsec = left};
    }

    void run_timers()
    {
        while (!timers_.empty() && timers_.top().at <= now_ns()) {
            auto const what = timers_.top().what;
            timers_.pop();
            what();
        }
    }

    std::vector<std::unique_ptr<socket>> sockets_;
    std::vector<pollfd> asked_;
    std::priority_queue<timer> timers_;
};

} // namespace comparison
