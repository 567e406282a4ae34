#pragma once

#include "kit/any_lock.hpp"
#include "kit/coro.hpp"
#include "kit/fault_proxy.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "kit/text.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
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
#include <ostream>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace redlock {

/// For the test framework's reports.
inline std::ostream& operator<<(std::ostream& out, errc e)
{
    return out << make_error_code(e).message();
}

} // namespace redlock

namespace redlock::test {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// Keeps what the client told, in order.
class recorder final : public observer {
public:
    void on_attempt(attempt_event const& e) noexcept override { attempts.push_back(e.result); }
    void on_lease(lease_event const& e) noexcept override
    {
        leases.push_back(e.what);
        if (e.what == lease_event::kind::lost)
            causes.push_back(e.cause);
    }
    void on_node(node_event const& e) noexcept override { nodes.push_back(e.state); }

    [[nodiscard]] std::ptrdiff_t count(lease_event::kind what) const
    {
        return std::ranges::count(leases, what);
    }
    [[nodiscard]] std::ptrdiff_t count(error_code result) const
    {
        return std::ranges::count(attempts, result);
    }

    std::vector<error_code> attempts;
    std::vector<lease_event::kind> leases;
    std::vector<loss_cause> causes; ///< of the lost ones
    std::vector<node_state> nodes;
};

/// Limits that no machine reaches: what a test wants to see run out, it shortens itself.
inline config patient(std::vector<std::string> nodes)
{
    config settings{.nodes = std::move(nodes)};
    settings.node_timeout = 8s;
    settings.reconnect.connect_timeout = 20s;
    settings.health.response_timeout = 60s;
    settings.admission.assume_fresh = true;
    return settings;
}

/// Longer than any test waits: keys that are gone have been released, and did not expire.
inline lock_options long_lease()
{
    return {.ttl = 10min};
}

/// Its holder says nothing by itself, also where word of its key comes.
inline lock_options without_renewal()
{
    return {.ttl = 10min, .renew = false};
}

[[noreturn]] inline void give_up(std::source_location const& where)
{
    throw std::runtime_error("waited in vain at " + coro::position(where));
}

/// Runs the context until the condition holds, also while it has no work.
template <class Condition>
void run_until(asio::io_context& context, Condition holds,
               std::source_location where = std::source_location::current())
{
    auto const end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            give_up(where);
        if (context.stopped())
            context.restart();
        context.run_one_for(2ms);
    }
}

/// The same for a coroutine.
template <class Condition>
asio::awaitable<void> until(Condition holds, std::source_location where = std::source_location::current())
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    auto const end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            give_up(where);
        pause.expires_after(2ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

/// Runs all there is to run. False if something still keeps the context busy at the limit.
inline bool run_dry(asio::io_context& context)
{
    context.restart();
    context.run_for(patience);
    return context.stopped();
}

/// Real servers, each behind a proxy that does nothing yet, and one client.
class cluster {
public:
    using change = std::function<void(config&)>;

    explicit cluster(std::size_t count, change const& adapt = {}, redis_server_options const& options = {})
        : servers(count, options)
    {
        for (auto const& server : servers) {
            proxies.push_back(std::make_unique<fault_proxy>(server->port()));
            probes.emplace_back(server->port());
        }
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
    probe& ask(std::size_t index) { return probes.at(index); }
    std::size_t size() const { return servers.size(); }

    mutex lock(std::string name = "lock", lock_options options = long_lease())
    {
        return {*locks, std::move(name), options};
    }

    /// Kills the server; a probe to it has to be made anew after its restart.
    void kill(std::size_t index) { servers[index].kill(); }
    void restart(std::size_t index)
    {
        servers[index].restart();
        replace_probe(index);
    }

    /// Nodes that run and hold this key with this value.
    std::size_t holders(std::string const& key, std::string_view value)
    {
        return count_running([&](probe& p) { return p.get(key) == std::string(value); });
    }
    /// Keys of any name on all nodes that run.
    std::size_t keys_left()
    {
        std::size_t sum = 0;
        for (std::size_t i = 0; i != size(); ++i)
            sum += servers[i].running() ? probes[i].keys().size() : 0;
        return sum;
    }
    bool no_keys() { return keys_left() == 0; }

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
    std::vector<probe> probes;
    config settings;
    std::shared_ptr<recorder> told;
    asio::io_context context;
    std::unique_ptr<client> locks;

private:
    void replace_probe(std::size_t index)
    {
        std::vector<probe> fresh;
        for (std::size_t i = 0; i != size(); ++i) {
            if (i == index)
                fresh.emplace_back(servers[i].port());
            else
                fresh.push_back(std::move(probes[i]));
        }
        probes.swap(fresh);
    }

    template <class Condition>
    std::size_t count_running(Condition holds)
    {
        std::size_t sum = 0;
        for (std::size_t i = 0; i != size(); ++i)
            sum += servers[i].running() && holds(probes[i]) ? 1 : 0;
        return sum;
    }
};

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

} // namespace redlock::test
