// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/fault_proxy.hpp"
#include "kit/probe.hpp"
#include "kit/recorder.hpp"
#include "kit/redis_server.hpp"
#include "kit/running.hpp"
#include "kit/settings.hpp"
#include "kit/text.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace redlock::test {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// Votes end sooner than connections: a test that waits for a silent node waits for this.
inline config patient(std::vector<std::string> nodes)
{
    config settings = settings_for(std::move(nodes));
    settings.node_timeout = 8s;
    settings.health.response_timeout = 60s;
    return settings;
}

/// A quarantine for leases like these is over in a second.
inline constexpr lock_options short_lived{.ttl = 600ms, .slack = 100ms, .node_timeout = 300ms};

/// The keys still exist when the test looks for them after the loss.
inline constexpr lock_options outlived_by_keys{.ttl = 1s, .slack = 40s, .node_timeout = 300ms};

inline std::string const marker_key = "redlock-marker";
inline std::string const fence_key = "lock:redlock-fence";

/// The two values of a data-driven test.
inline constexpr bool either[] = {false, true};

/// The error of an operation that may throw, and success otherwise.
template <class Awaitable>
asio::awaitable<error_code> error_of(Awaitable operation)
{
    try {
        co_await std::move(operation);
    } catch (boost::system::system_error const& e) {
        co_return e.code();
    }
    co_return error_code{};
}

inline asio::awaitable<error_code> attempt_once(any_lock lock)
{
    error_code ec;
    lease const held = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    co_return ec;
}

inline node_status status(client const& locks, std::size_t node)
{
    return locks.node_table().at(node);
}

inline bool in_state(client const& locks, std::size_t node, node_state state)
{
    return status(locks, node).state == state;
}

/// Real servers, each behind a proxy that does nothing yet, and one client.
class cluster {
public:
    using change = std::function<void(config&)>;

    explicit cluster(std::size_t count, change const& adapt = {}, redis_server_options const& options = {})
        : servers(count, options)
    {
        for (auto const& server : servers)
            proxies.push_back(std::make_unique<fault_proxy>(server->port()));
        told = std::make_shared<recorder>();
        settings = patient(urls());
        settings.observer = told;
        if (adapt)
            adapt(settings);
        locks = std::make_unique<client>(context.get_executor(), settings);
    }

    std::vector<std::string> urls() const
    {
        std::vector<std::string> list;
        for (auto const& proxy : proxies)
            list.push_back(proxy->url());
        return list;
    }

    fault_proxy& proxy(std::size_t index) { return *proxies.at(index); }
    probe& ask(std::size_t index) { return servers.ask(index); }
    std::size_t size() const { return servers.size(); }

    mutex lock(std::string name = "lock", lock_options options = long_lived)
    {
        return {*locks, std::move(name), options};
    }

    void kill(std::size_t index) { servers[index].kill(); }
    void restart(std::size_t index) { servers.restart(index); }
    void everywhere(std::vector<std::string> const& command) { servers.command(command); }

    std::size_t holders(std::string const& key, std::string_view value)
    {
        return servers.holders(key, value);
    }
    std::size_t keys_left() { return servers.keys(); }
    bool no_keys() { return servers.no_keys(); }
    bool free_everywhere(std::string const& key = "lock") { return servers.is_free(key); }

    asio::awaitable<lease> voted_everywhere(any_lock lock)
    {
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == size(); });
        co_return held;
    }
    /// Also if a node was still connecting, and got no vote.
    asio::awaitable<lease> held_everywhere(any_lock lock)
    {
        lease held = co_await lock.acquire();
        while (held.votes() != size())
            co_await held.extend();
        co_return held;
    }

    template <class Coroutine>
    auto run(Coroutine coroutine, std::source_location where = std::source_location::current())
    {
        return test::run(context, std::move(coroutine), patience, where);
    }
    template <class Condition>
    void run_until(Condition holds, std::source_location where = std::source_location::current())
    {
        test::run_until(context, std::move(holds), where);
    }

    /// Connections made, scripts known: what follows is the only traffic.
    void warm_up()
    {
        run([this]() -> asio::awaitable<void> {
            mutex warm = lock("warm");
            lease held = co_await warm.acquire();
            co_await until([&] { return held.votes() == size(); });
            co_await held.extend();
            co_await held.release();
            co_await until([&] { return no_keys(); });
        });
    }

    server_group servers;
    std::vector<std::unique_ptr<fault_proxy>> proxies;
    std::vector<probe>& probes = servers.probes;
    config settings;
    std::shared_ptr<recorder> told;
    asio::io_context context;
    std::unique_ptr<client> locks;
};

} // namespace redlock::test
