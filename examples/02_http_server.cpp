// SPDX-License-Identifier: BSL-1.0
// An HTTP server that books seats and writes invoices. For a seat one attempt is made to take its lock; invoices of one
// customer are written one after the other, and a request waits for its turn, but not longer than its client does.
//   200 done; or ready, at /ready
//   423 somebody else is booking the seat, or the invoice's turn did not come in time (with Retry-After)
//   503 no quorum (with what each node said)
// On SIGINT or SIGTERM it accepts no more connections, answers what it was asked, closes connections on which nothing is
// being asked, and ends.
// Run: 02_http_server                               checks itself, with three Redis servers of its own
//      02_http_server --serve 8080 redis://a:6379…  serves http://127.0.0.1:8080/seat/42 until interrupted
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <list>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

response answer(request const& to, http::status status, std::string text)
{
    response result(status, to.version());
    result.set(http::field::content_type, "text/plain");
    result.keep_alive(to.keep_alive());
    result.body() = std::move(text);
    result.prepare_payload();
    return result;
}

/// Stands for the payment, the database and the mail.
asio::awaitable<void> work(std::string_view)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, 10ms);
    co_await timer.async_wait(asio::use_awaitable);
}

constexpr auto patience = 2s; // shorter than that of the clients, who would otherwise get no answer

/// A wait ends with `timed_out` both if another client has the lock and if servers are missing.
bool held_by_others(redlock::lock_error const& refused)
{
    error_code const why =
        refused.code() == redlock::errc::timed_out ? refused.last_failure() : refused.code();
    return !why || why == redlock::errc::contended; // none: requests of this process were before it
}

response refusal(request const& asked, redlock::lock_error const& refused)
{
    if (refused.code() == redlock::errc::misconfigured)
        return answer(asked, http::status::bad_request, std::string(refused.what()) + "\n");
    if (!held_by_others(refused))
        return answer(asked, http::status::service_unavailable,
                      refused.code().message() + "\n" + redlock::to_string(refused.outcomes()) + "\n");
    response busy = answer(asked, http::status::locked, "somebody is there\n");
    busy.set(http::field::retry_after, "1");
    return busy;
}

/// For the load balancer: can this process lock at all? The first request connects.
asio::awaitable<response> ready(redlock::client& locks, request const& asked)
{
    redlock::mutex probe(locks, "web:ready", {.ttl = 1s});
    try {
        redlock::lease const lease =
            co_await probe.acquire_for(500ms); // behind other requests of this process
    } catch (redlock::lock_error const& refused) {
        if (!held_by_others(refused))
            co_return refusal(asked, refused);
    }
    co_return answer(asked, http::status::ok, "ready\n");
}

asio::awaitable<response> handle(redlock::client& locks, request const& asked)
{
    std::string const path(asked.target());
    if (path == "/ready")
        co_return co_await ready(locks, asked);
    bool const seat = path.starts_with("/seat/");
    if ((!seat && !path.starts_with("/invoice/")) || path.size() > 100)
        co_return answer(asked, http::status::not_found, "no such page\n");

    redlock::lease lease;
    try {
        redlock::mutex const lock(locks, "web:" + path, {.ttl = 5s}); // throws if no lock may have that name
        if (seat)
            lease = co_await lock.try_acquire();
        else
            lease = co_await lock.acquire_for(patience);
    } catch (redlock::lock_error const& refused) {
        co_return refusal(asked, refused);
    }

    co_await work(path);
    bool const ours = lease.valid(); // asked before the answer that other services rely on
    error_code ec;
    co_await lease.release(asio::redirect_error(asio::use_awaitable, ec));
    if (!ours)
        co_return answer(asked, http::status::service_unavailable, "took too long\n");
    co_return answer(asked, http::status::ok, "done: " + path + "\n");
}

using incoming = http::request_parser<http::string_body>;

/// A connection that waits for the next request, or reads it.
struct reading {
    beast::tcp_stream& stream;
    incoming const& asked;
};

struct service {
    redlock::client& locks;
    tcp::acceptor acceptor;
    std::list<reading> readings{};

    [[nodiscard]] bool stopping() const { return !acceptor.is_open(); }
    void stop()
    {
        acceptor.close();
        for (reading& each : readings)
            if (!each.asked.got_some())
                each.stream.cancel();
    }
};

constexpr auto longest_silence = 60s; // then a connection without a request is closed

asio::awaitable<error_code> read(service& web, beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                 incoming& asked)
{
    error_code ec;
    auto const here = web.readings.insert(web.readings.end(), {stream, asked});
    stream.expires_after(longest_silence);
    co_await http::async_read(stream, buffer, asked, asio::redirect_error(asio::use_awaitable, ec));
    web.readings.erase(here);
    co_return ec;
}

asio::awaitable<void> session(service& web, tcp::socket socket)
{
    beast::tcp_stream stream(std::move(socket));
    beast::flat_buffer buffer;
    for (bool more = true; more && !web.stopping();) {
        incoming asked;
        error_code ec = co_await read(web, stream, buffer, asked);
        if (ec)
            co_return;
        response told = co_await handle(web.locks, asked.get());
        told.keep_alive(told.keep_alive() && !web.stopping());
        more = told.keep_alive();
        co_await http::async_write(stream, told, asio::redirect_error(asio::use_awaitable, ec));
        more = more && !ec;
    }
}

asio::awaitable<void> serve(service& web)
{
    while (!web.stopping()) {
        error_code ec;
        tcp::socket socket =
            co_await web.acceptor.async_accept(asio::redirect_error(asio::use_awaitable, ec));
        if (!ec)
            asio::co_spawn(web.acceptor.get_executor(), session(web, std::move(socket)), asio::detached);
    }
}

asio::awaitable<response> get(tcp::endpoint server, std::string target)
{
    beast::tcp_stream stream(co_await asio::this_coro::executor);
    stream.expires_after(10s);
    co_await stream.async_connect(server, asio::use_awaitable);
    request asked(http::verb::get, target, 11);
    asked.keep_alive(false);
    co_await http::async_write(stream, asked, asio::use_awaitable);
    beast::flat_buffer buffer;
    response told;
    co_await http::async_read(stream, buffer, told, asio::use_awaitable);
    std::cout << "GET " << target << ": " << told.result_int() << '\n' << told.body();
    co_return told;
}

asio::awaitable<void> check(service& web, example::nodes& nodes, example::promises& promises)
{
    auto const server = web.acceptor.local_endpoint();
    auto const executor = web.acceptor.get_executor();
    response told = co_await get(server, "/ready");
    promises.keep(told.result() == http::status::ok, "it is ready when its servers can be reached");
    told = co_await get(server, "/seat/42");
    promises.keep(told.result() == http::status::ok, "a free seat is booked");
    // Another server of the same service.
    redlock::client others(executor, {.nodes = nodes.urls, .admission = {.assume_fresh = true}});
    {
        redlock::mutex seat(others, "web:/seat/42");
        redlock::lease held = co_await seat.acquire();
        told = co_await get(server, "/seat/42");
        promises.keep(told.result() == http::status::locked, "a seat being booked is locked");
        told = co_await get(server, "/seat/43");
        promises.keep(told.result() == http::status::ok, "its neighbour is not");
        co_await held.release();
    }
    told = co_await get(server, "/seat/42");
    promises.keep(told.result() == http::status::ok, "afterwards it is free again");
    {
        redlock::mutex customer(others, "web:/invoice/7");
        redlock::lease held = co_await customer.acquire();
        told = co_await get(server, "/invoice/7");
        promises.keep(told.result() == http::status::locked, "an invoice waits for its turn, not for ever");
        co_await held.release();
    }

    nodes.own[1]->kill();
    nodes.own[2]->kill();
    told = co_await get(server, "/seat/42");
    promises.keep(told.result() == http::status::service_unavailable, "without a quorum nobody books");
    promises.keep(told.body().find(nodes.urls[2]) != std::string::npos,
                  "and the answer says what each node did");
    told = co_await get(server, "/invoice/7");
    promises.keep(told.result() == http::status::service_unavailable,
                  "nor waits for a turn that cannot come");
    told = co_await get(server, "/ready");
    promises.keep(told.result() == http::status::service_unavailable, "and the process is not ready");
}

/// Asks once, and keeps its connection until the server closes it.
asio::awaitable<bool> outlast(service& web, bool& idle)
{
    beast::tcp_stream stream(co_await asio::this_coro::executor);
    stream.expires_after(longest_silence / 2); // less than it would take without `stop`
    co_await stream.async_connect(web.acceptor.local_endpoint(), asio::use_awaitable);
    request const asked(http::verb::get, "/nothing", 11);
    co_await http::async_write(stream, asked, asio::use_awaitable);
    beast::flat_buffer buffer;
    response told;
    co_await http::async_read(stream, buffer, told, asio::use_awaitable);
    idle = told.keep_alive();
    error_code ec;
    response none;
    co_await http::async_read(stream, buffer, none, asio::redirect_error(asio::use_awaitable, ec));
    co_return idle&& ec == http::error::end_of_stream;
}

/// A request that waits for its turn, and a connection without one, when the server is told to stop.
asio::awaitable<void> check_stop(service& web, example::promises& promises)
{
    auto const executor = web.acceptor.get_executor();
    redlock::mutex customer(web.locks, "web:/invoice/8");
    redlock::lease held = co_await customer.acquire();
    std::optional<response> told;
    asio::co_spawn(executor, get(web.acceptor.local_endpoint(), "/invoice/8"),
                   [&](std::exception_ptr, response last) { told = std::move(last); });
    bool idle = false;
    std::optional<bool> closed;
    asio::co_spawn(executor, outlast(web, idle), [&](std::exception_ptr, bool in_time) { closed = in_time; });
    asio::steady_timer pause(executor);
    for (; customer.waiting() == 0 || !idle || web.readings.empty();
         co_await pause.async_wait(asio::use_awaitable))
        pause.expires_after(1ms);
    web.stop();
    co_await held.release();
    for (; !told || !closed; co_await pause.async_wait(asio::use_awaitable))
        pause.expires_after(1ms);
    promises.keep(told->result() == http::status::ok, "what was asked before the end is answered");
    promises.keep(*closed, "a connection on which nothing is asked does not delay the end");
}

int main(int argc, char** argv)
{
    bool const forever = argc > 3 && std::string_view(argv[1]) == "--serve";
    if (argc > 1 && !forever) {
        std::cerr << "usage: 02_http_server [--serve PORT URL...]\n";
        return EXIT_FAILURE;
    }
    auto const port = static_cast<std::uint16_t>(forever ? std::stoul(argv[2]) : 0);
    example::nodes nodes(forever ? argc - 2 : 1, forever ? argv + 2 : argv);
    example::promises promises;

    asio::io_context context;
    // The servers of the check are new: nothing can have been lost by a restart.
    redlock::client locks{context.get_executor(),
                          {.nodes = nodes.urls, .admission = {.assume_fresh = !forever}}};
    service web{locks, tcp::acceptor(context, {asio::ip::address_v4::loopback(), port})};
    asio::co_spawn(context, serve(web), asio::detached);

    asio::signal_set interrupts(context);
    if (forever) {
        interrupts.add(SIGINT);
        interrupts.add(SIGTERM);
        interrupts.async_wait([&](error_code, int) { web.stop(); });
        context.run(); // until the open sessions have ended, and their locks are released
        return EXIT_SUCCESS;
    }
    auto const all = [&]() -> asio::awaitable<void> {
        service second{locks, tcp::acceptor(context, {asio::ip::address_v4::loopback(), 0})};
        asio::co_spawn(context, serve(second), asio::detached);
        co_await check_stop(second, promises);
        co_await check(web, nodes, promises);
    };
    std::exception_ptr failure;
    asio::co_spawn(context, all, [&](std::exception_ptr thrown) {
        failure = thrown;
        web.stop();
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return promises.exit_code();
}
