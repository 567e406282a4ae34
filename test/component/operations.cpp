#include "component/stage.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace redlock::test {

namespace {

void nothing(stage&) {}

void warm_up(stage& s)
{
    s.acquire("warm-up");
    s.release();
}

void hold(stage& s)
{
    s.acquire("held");
}

/// Another owner holds the resource on every node, so that attempts and pauses alternate.
void contend(stage& s)
{
    for (std::size_t i = 0; i != 3; ++i)
        real_servers::get().eye(i).command({"SET", "resource", "somebody else"});
    warm_up(s);
}

asio::awaitable<void> busy_body(lease& held)
{
    for (int i = 0; i != 3 && held.valid(); ++i)
        co_await asio::post(asio::use_awaitable);
}

void start_with_lock(stage& s)
{
    with_lock(s.lock(), busy_body, s.handler());
}

} // namespace

config nobody_there()
{
    using asio::ip::tcp;
    static asio::io_context context;
    static std::vector<tcp::acceptor> reserved;
    std::vector<std::string> urls;
    while (reserved.size() != 3) {
        reserved.emplace_back(context, tcp::v4());
        reserved.back().bind({asio::ip::address_v4::loopback(), 0}); // and never listen
    }
    for (auto const& port : reserved)
        urls.push_back("redis://127.0.0.1:" + std::to_string(port.local_endpoint().port()));
    return settings_for(urls);
}

std::vector<operation> const& all_operations()
{
    static std::vector<operation> const all{
        {"acquire, cold", nothing, [](stage& s) { s.lock().acquire(s.handler()); }},
        {"acquire, warm", warm_up, [](stage& s) { s.lock().acquire(s.handler()); }},
        {"acquire, contended", contend, [](stage& s) { s.lock().acquire(s.handler()); }},
        {"try_acquire, cold", nothing, [](stage& s) { s.lock().try_acquire(s.handler()); }},
        {"try_acquire, warm", warm_up, [](stage& s) { s.lock().try_acquire(s.handler()); }},
        {"acquire_for, warm", warm_up, [](stage& s) { s.lock().acquire_for(1min, s.handler()); }},
        {"acquire_for, contended", contend, [](stage& s) { s.lock().acquire_for(1min, s.handler()); }},
        {"extend", hold, [](stage& s) { s.held.extend(s.handler()); }},
        {"release", hold, [](stage& s) { s.held.release(s.handler()); }},
        {"lost", hold, [](stage& s) { s.held.lost(s.handler()); }},
        {"inspect, cold", nothing, [](stage& s) { s.lock().inspect(s.handler()); }},
        {"inspect, contended", contend, [](stage& s) { s.lock().inspect(s.handler()); }},
        {"inspect, holding", hold, [](stage& s) { s.lock("held").inspect(s.handler()); }},
        {"with_lock, cold", nothing, start_with_lock},
        {"with_lock, warm", warm_up, start_with_lock},
        {"shutdown, idle", warm_up, [](stage& s) { s.locks->shutdown(s.handler()); }},
        {"shutdown, holding", hold, [](stage& s) { s.locks->shutdown(s.handler()); }},
    };
    return all;
}

} // namespace redlock::test
