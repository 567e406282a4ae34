// An HTTP server that books seats. The handler makes one attempt to take the seat's lock and answers
//   200 booked
//   423 somebody else is booking it (with Retry-After)
//   503 no quorum (with what each node said)
// Run: 02_http_server                               checks itself, with three Redis servers of its own
//      02_http_server --serve 8080 redis://a:6379…  serves http://127.0.0.1:8080/seat/42 until interrupted
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

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

std::string table(std::vector<redlock::node_outcome> const& nodes)
{
    std::string text;
    for (redlock::node_outcome const& row : nodes) {
        text += row.node + "  " + std::string(to_string(row.result));
        text += row.detail.empty() ? "\n" : "  " + row.detail + "\n";
    }
    return text;
}

/// Stands for the payment, the database and the mail.
asio::awaitable<void> book(std::string_view)
{
    asio::steady_timer work(co_await asio::this_coro::executor, 10ms);
    co_await work.async_wait(asio::use_awaitable);
}

asio::awaitable<response> handle(redlock::client& locks, request const& asked)
{
    std::string const path(asked.target());
    if (!path.starts_with("/seat/") || path.size() > 100)
        co_return answer(asked, http::status::not_found, "no such page\n");

    redlock::mutex seat(locks, "booking:" + path, {.ttl = 5s});
    error_code ec;
    redlock::lease lease = co_await seat.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    if (ec == redlock::errc::contended) {
        response busy = answer(asked, http::status::locked, "somebody is booking " + path + "\n");
        busy.set(http::field::retry_after, "1");
        co_return busy;
    }
    if (ec)
        co_return answer(asked, http::status::service_unavailable,
                         ec.message() + "\n" + table(seat.last_attempt()));

    co_await book(path);
    bool const ours = lease.valid(); // asked before the answer that others rely on
    co_await lease.release(asio::redirect_error(asio::use_awaitable, ec));
    if (!ours)
        co_return answer(asked, http::status::service_unavailable, "took too long\n");
    co_return answer(asked, http::status::ok, "booked " + path + "\n");
}

asio::awaitable<void> session(redlock::client& locks, tcp::socket socket)
{
    beast::tcp_stream stream(std::move(socket));
    beast::flat_buffer buffer;
    for (bool more = true; more;) {
        request asked;
        error_code ec;
        stream.expires_after(10s);
        co_await http::async_read(stream, buffer, asked, asio::redirect_error(asio::use_awaitable, ec));
        if (ec)
            co_return;
        response told = co_await handle(locks, asked);
        more = told.keep_alive();
        co_await http::async_write(stream, told, asio::redirect_error(asio::use_awaitable, ec));
        more = more && !ec;
    }
}

asio::awaitable<void> serve(redlock::client& locks, tcp::acceptor& acceptor)
{
    for (;;) {
        error_code ec;
        tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, ec));
        if (!acceptor.is_open())
            co_return;
        if (!ec)
            asio::co_spawn(acceptor.get_executor(), session(locks, std::move(socket)), asio::detached);
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

asio::awaitable<void> check(tcp::acceptor& acceptor, example::nodes& nodes, example::promises& promises)
{
    auto const server = acceptor.local_endpoint();
    response told = co_await get(server, "/seat/42");
    promises.keep(told.result() == http::status::ok, "a free seat is booked");
    {
        // Another server of the same service is booking this seat.
        redlock::client others(acceptor.get_executor(), {.nodes = nodes.urls, .assume_fresh = true});
        redlock::mutex seat(others, "booking:/seat/42");
        redlock::lease held = co_await seat.acquire();
        told = co_await get(server, "/seat/42");
        promises.keep(told.result() == http::status::locked, "a seat being booked is locked");
        told = co_await get(server, "/seat/43");
        promises.keep(told.result() == http::status::ok, "its neighbour is not");
        co_await held.release();
    }
    told = co_await get(server, "/seat/42");
    promises.keep(told.result() == http::status::ok, "afterwards it is free again");

    nodes.own[1]->kill();
    nodes.own[2]->kill();
    told = co_await get(server, "/seat/42");
    promises.keep(told.result() == http::status::service_unavailable, "without a quorum nobody books");
    promises.keep(told.body().find(nodes.urls[2]) != std::string::npos,
                  "and the answer says what each node did");
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
    redlock::client locks{context.get_executor(), {.nodes = nodes.urls, .assume_fresh = !forever}};
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
    asio::co_spawn(context, serve(locks, acceptor), asio::detached);

    asio::signal_set interrupts(context);
    if (forever) {
        interrupts.add(SIGINT);
        interrupts.add(SIGTERM);
        interrupts.async_wait([&](error_code, int) { acceptor.close(); });
        context.run(); // open sessions may end, and their locks are released
        return EXIT_SUCCESS;
    }
    std::exception_ptr failure;
    asio::co_spawn(context, check(acceptor, nodes, promises), [&](std::exception_ptr thrown) {
        failure = thrown;
        acceptor.close();
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return promises.exit_code();
}
