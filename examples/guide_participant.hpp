// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// The participants in the stories of guide_stories.cpp.

namespace story_telling {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto ttl = 1000ms;
constexpr auto slack = 400ms;
inline steady::time_point story_began;

inline long long now_in_ms()
{
    return (steady::now() - story_began) / 1ms;
}

inline asio::awaitable<void> sleep(std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

/// How a participant uses the lock.
struct role {
    std::string name;
    std::chrono::milliseconds holds_for = 300ms;
    bool is_paused = false; ///< between asking `valid()` and writing
};

/// A participant, inside its process: tells what happens to it through a pipe.
class participant final : public redlock::observer {
public:
    participant(role does, int pipe, std::vector<std::string> const& servers)
        : role_(std::move(does)), pipe_(pipe)
    {
        for (std::string const& url : servers)
            names_[url] = "server " + std::to_string(names_.size() + 1);
    }

    void run(std::shared_ptr<participant> self, std::vector<std::string> const& servers)
    {
        asio::io_context context;
        // Started by this program. A restart that this client witnesses is quarantined all the same.
        redlock::client locks{context.get_executor(),
                              {.nodes = servers,
                               .node_timeout = 200ms,
                               .reconnect = {.max_delay = 100ms},
                               .admission = {.assume_fresh = true},
                               .observer = std::move(self)}};
        redlock::fenced_mutex ledger{locks, "ledger", {.ttl = ttl, .slack = slack}};
        asio::co_spawn(context, take_part(ledger), asio::detached);
        context.run();
    }

    void tell(std::string const& what, std::string const& text) const
    {
        std::string const said = std::to_string(now_in_ms()) + '\t' + what + '\t' + text + '\n';
        (void)!::write(pipe_, said.data(), said.size());
    }

    void on_lease(redlock::lease_event const& e) noexcept override
    {
        using enum redlock::lease_event::kind;
        if (e.what == acquired || e.what == renewed)
            tell("until", std::to_string(now_in_ms() + e.remaining / 1ms));
        if (e.what == acquired)
            tell("holds", "holds the lock: " + std::to_string(e.votes) + " of 3 votes so far");
        if (e.what == renewal_failed && !std::exchange(failed_, true))
            tell("note", "a renewal is not confirmed: " + std::to_string(e.votes) + " of 3");
        if (e.what == lost)
            tell("over", "is told that the lease is lost");
        if (e.what == released)
            tell("over", "releases the lock");
    }

    void on_node(redlock::node_event const& e) noexcept override
    {
        std::string const server = names_.at(std::string(e.node));
        if (e.state == redlock::node_state::quarantined && quarantined_.insert_or_assign(server, true).second)
            tell("quarantined", server);
        if (e.state == redlock::node_state::ready && quarantined_.erase(server) != 0)
            tell("votes", server);
    }

private:
    asio::awaitable<void> take_part(redlock::fenced_mutex ledger)
    {
        tell("waits", "wants the lock");
        auto body = [this](redlock::lease& held) { return work(held); };
        try {
            co_await redlock::with_lock(ledger, body);
        } catch (boost::system::system_error const& e) {
            tell("note", std::string("with_lock ends: ") + e.what());
        }
    }

    asio::awaitable<void> work(redlock::lease& held)
    {
        tell("write", std::to_string(held.fencing_token()));
        if (role_.is_paused) {
            co_await sleep(500ms);
            if (held.valid()) {
                tell("note", "asks valid(): yes. Then its process is stopped");
                (void)std::raise(SIGSTOP);
                tell("note", "goes on, and writes without having asked again");
                tell("write", std::to_string(held.fencing_token()));
            }
        }
        co_await sleep(role_.holds_for);
    }

    role role_;
    int pipe_;
    bool failed_ = false;
    std::map<std::string, std::string> names_;
    std::map<std::string, bool> quarantined_;
};

} // namespace story_telling
