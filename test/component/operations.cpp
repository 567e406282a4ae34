// SPDX-License-Identifier: BSL-1.0
#include "component/lone_client.hpp"
#include "kit/reserved_port.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace redlock::test {

namespace {

void nothing(lone_client&) {}

void warm_up(lone_client& s)
{
    s.acquire("warm-up");
    s.release();
}

void hold(lone_client& s)
{
    s.acquire("held");
}

/// Another owner holds the resource on every node, so attempts and pauses alternate.
void contend(lone_client& s)
{
    real_servers::get().command({"SET", "resource", "somebody else"});
    warm_up(s);
}

asio::awaitable<void> busy_body(lease& held)
{
    for (int i = 0; i != 3 && held.valid(); ++i)
        co_await asio::post(asio::use_awaitable);
}

void start_with_lock(lone_client& s)
{
    with_lock(s.lock(), busy_body, s.handler());
}

} // namespace

config nobody_there()
{
    static std::vector<reserved_port> reserved;
    std::vector<std::string> urls;
    while (reserved.size() != 3)
        reserved.emplace_back(std::uint16_t{0});
    for (auto const& port : reserved)
        urls.push_back("redis://127.0.0.1:" + std::to_string(port.number()));
    return settings_for(urls);
}

std::vector<operation> const& all_operations()
{
    static std::vector<operation> const all{
        {"acquire, cold", nothing, [](lone_client& s) { s.lock().acquire(s.handler()); }},
        {"acquire, warm", warm_up, [](lone_client& s) { s.lock().acquire(s.handler()); }},
        {"acquire, contended", contend, [](lone_client& s) { s.lock().acquire(s.handler()); }},
        {"try_acquire, cold", nothing, [](lone_client& s) { s.lock().try_acquire(s.handler()); }},
        {"try_acquire, warm", warm_up, [](lone_client& s) { s.lock().try_acquire(s.handler()); }},
        {"acquire_for, warm", warm_up, [](lone_client& s) { s.lock().acquire_for(1min, s.handler()); }},
        {"acquire_for, contended", contend, [](lone_client& s) { s.lock().acquire_for(1min, s.handler()); }},
        {"extend", hold, [](lone_client& s) { s.held.extend(s.handler()); }},
        {"release", hold, [](lone_client& s) { s.held.release(s.handler()); }},
        {"ended", hold, [](lone_client& s) { s.held.ended(s.handler()); }},
        {"inspect, cold", nothing, [](lone_client& s) { s.lock().inspect(s.handler()); }},
        {"inspect, contended", contend, [](lone_client& s) { s.lock().inspect(s.handler()); }},
        {"inspect, holding", hold, [](lone_client& s) { s.lock("held").inspect(s.handler()); }},
        {"with_lock, cold", nothing, start_with_lock},
        {"with_lock, warm", warm_up, start_with_lock},
        {"shutdown, idle", warm_up, [](lone_client& s) { s.locks->shutdown(s.handler()); }},
        {"shutdown, holding", hold, [](lone_client& s) { s.locks->shutdown(s.handler()); }},
    };
    return all;
}

} // namespace redlock::test
