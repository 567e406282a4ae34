// SPDX-License-Identifier: BSL-1.0
// A scheduler in a fleet of processes: one of them leads and does the work, and each has a page that says who that is. A
// request to the leader carries its term. So a leader that was paused, and does not know yet that another one has taken
// over, refuses what is meant for it.
//   GET /             200 who leads, as this process knows it
//   GET /run/<term>   200 done; 409 this process does not lead in that term (any more)
//
//   13_election                     three processes, the leader is stopped and goes on; checks itself
//   13_election PORT redis-url...   one member of the fleet, until interrupted
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <csignal>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

constexpr redlock::lock_options quickly{.ttl = 1s}; // for the demonstration; start with 10 s

struct member {
    redlock::election seat;
    tcp::acceptor acceptor;
    redlock::leadership leader{};
    redlock::leader_info known{};
};

std::string address(tcp::endpoint const& at)
{
    return at.address().to_string() + ':' + std::to_string(at.port());
}

/// Waits for its turn, leads until the leadership is lost, waits again.
asio::awaitable<void> campaign(member& self)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (;;) {
        error_code ec;
        self.leader = co_await self.seat.campaign(address(self.acceptor.local_endpoint()),
                                                  asio::redirect_error(asio::use_awaitable, ec));
        if (ec) {
            std::cerr << ::getpid() << ": " << ec.message() << '\n';
        } else {
            redlock::lease_end const end = co_await self.leader.ended();
            std::cerr << ::getpid() << ": leadership " << end << '\n';
        }
        pause.expires_after(1s); // servers that refuse, a wrong password for example, do so at once
        co_await pause.async_wait(asio::use_awaitable);
    }
}

/// Keeps the present leader's information.
asio::awaitable<void> observe(member& self)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (;;) {
        error_code ec;
        auto now = co_await self.seat.observe(self.known, asio::redirect_error(asio::use_awaitable, ec));
        if (!ec) {
            self.known = std::move(now);
            continue;
        }
        pause.expires_after(1s); // no majority of the servers answers
        co_await pause.async_wait(asio::use_awaitable);
    }
}

response answer(request const& to, http::status status, std::string text)
{
    response result(status, to.version());
    result.keep_alive(false);
    result.body() = std::move(text);
    result.prepare_payload();
    return result;
}

response handle(member const& self, request const& asked)
{
    std::string const path(asked.target());
    if (path == "/run/" + std::to_string(self.leader.term()) && self.leader.valid())
        return answer(asked, http::status::ok, "done\n"); // send the term with everything that the job writes
    if (path.starts_with("/run/"))
        return answer(asked, http::status::conflict, "not the leader of that term\n");
    if (self.known.vacant)
        return answer(asked, http::status::ok, "nobody leads\n");
    return answer(asked, http::status::ok,
                  self.known.value + " leads in term " + std::to_string(self.known.term) + '\n');
}

asio::awaitable<void> session(member& self, tcp::socket socket)
{
    error_code ec;
    beast::flat_buffer buffer;
    request asked;
    co_await http::async_read(socket, buffer, asked, asio::redirect_error(asio::use_awaitable, ec));
    if (ec)
        co_return;
    response told = handle(self, asked);
    co_await http::async_write(socket, told, asio::redirect_error(asio::use_awaitable, ec));
}

asio::awaitable<void> serve(member& self)
{
    for (;;) {
        tcp::socket socket = co_await self.acceptor.async_accept(asio::use_awaitable);
        asio::co_spawn(self.acceptor.get_executor(), session(self, std::move(socket)), asio::detached);
    }
}

int run_member(asio::io_context& context, tcp::acceptor acceptor, std::vector<std::string> const& urls,
               bool fresh)
{
    redlock::client locks(context, {.nodes = urls, .admission = {.assume_fresh = fresh}});
    member self{redlock::election(locks, "scheduler", quickly), std::move(acceptor)};
    asio::signal_set interrupts(context, SIGINT, SIGTERM);
    interrupts.async_wait([&](error_code, int) {
        locks.shutdown([&](error_code) { context.stop(); }); // resigns: the next one leads at once
    });
    for (auto* const part : {campaign, observe, serve})
        asio::co_spawn(context, part(self), asio::detached);
    context.run();
    return EXIT_SUCCESS;
}

/// Members as processes of their own, which end with this one.
class fleet {
public:
    fleet(asio::io_context& context, int size, std::vector<std::string> const& urls)
    {
        for (int i = 0; i != size; ++i) {
            tcp::acceptor door(context, {asio::ip::address_v4::loopback(), 0});
            std::string const at = address(door.local_endpoint());
            pid_t const pid = ::fork();
            if (pid == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                asio::io_context own;
                ::_exit(run_member(own, tcp::acceptor(own, tcp::v4(), door.native_handle()), urls, true));
            }
            members_.push_back({at, pid});
        }
    }
    fleet(fleet const&) = delete;
    fleet& operator=(fleet const&) = delete;
    ~fleet()
    {
        for (auto const& [at, pid] : members_) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
    }
    void signal(std::string const& at, int number) const
    {
        for (auto const& one : members_)
            if (one.at == at)
                ::kill(one.pid, number);
    }
    [[nodiscard]] std::string other_than(std::string const& at) const
    {
        return members_.front().at == at ? members_.back().at : members_.front().at;
    }

private:
    struct process {
        std::string at;
        pid_t pid;
    };
    std::deque<process> members_;
};

asio::awaitable<response> get(std::string at, std::string target)
{
    beast::tcp_stream stream(co_await asio::this_coro::executor);
    stream.expires_after(10s);
    auto const colon = at.find(':');
    auto const port = static_cast<std::uint16_t>(std::stoul(at.substr(colon + 1)));
    tcp::endpoint const server(asio::ip::make_address(at.substr(0, colon)), port);
    co_await stream.async_connect(server, asio::use_awaitable);
    request asked(http::verb::get, target, 11);
    co_await http::async_write(stream, asked, asio::use_awaitable);
    beast::flat_buffer buffer;
    response told;
    co_await http::async_read(stream, buffer, told, asio::use_awaitable);
    std::cout << "GET http://" << at << target << ": " << told.result_int() << ' ' << told.body();
    co_return told;
}

/// The next leader that a majority confirms.
asio::awaitable<redlock::leader_info> next_leader(redlock::election seat, redlock::leader_info seen)
{
    do
        seen = co_await seat.observe(seen);
    while (seen.vacant || !seen.confirmed);
    co_return seen;
}

/// Until a process knows it, too.
asio::awaitable<bool> is_told(std::string at, redlock::leader_info leader)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (int tries = 0; tries != 100; ++tries) {
        response const page = co_await get(at, "/");
        if (page.body() == leader.value + " leads in term " + std::to_string(leader.term) + '\n')
            co_return true;
        pause.expires_after(100ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
    co_return false;
}

asio::awaitable<void> check(fleet& members, redlock::client& locks, example::promises& promises)
{
    redlock::election const seat(locks, "scheduler", quickly);
    redlock::leader_info const nobody;
    redlock::leader_info const first = co_await next_leader(seat, nobody);
    std::string const run_first = "/run/" + std::to_string(first.term);
    response told = co_await get(first.value, run_first);
    promises.keep(told.result() == http::status::ok, "the leader does what is asked of its term");
    promises.keep(co_await is_told(members.other_than(first.value), first), "the others know who leads");
    told = co_await get(members.other_than(first.value), run_first);
    promises.keep(told.result() == http::status::conflict, "and refuse what is meant for the leader");

    members.signal(first.value, SIGSTOP);
    redlock::leader_info const second = co_await next_leader(seat, first);
    promises.keep(second.term > first.term && second.value != first.value,
                  "the leader is paused, and another one leads in a later term");
    members.signal(first.value, SIGCONT);
    told = co_await get(first.value, run_first);
    promises.keep(told.result() == http::status::conflict,
                  "who was paused refuses what is asked of its term");
    told = co_await get(second.value, run_first);
    promises.keep(told.result() == http::status::conflict, "so does the new leader");
    told = co_await get(second.value, "/run/" + std::to_string(second.term));
    promises.keep(told.result() == http::status::ok, "which does what is asked of its own");
    promises.keep(co_await is_told(first.value, second), "who was paused learns who leads");
}

int main(int argc, char** argv)
{
    asio::io_context context;
    if (argc > 2) {
        auto const port = static_cast<std::uint16_t>(std::stoul(argv[1]));
        return run_member(context, tcp::acceptor(context, {tcp::v4(), port}), {argv + 2, argv + argc}, false);
    }
    if (argc != 1) {
        std::cerr << "usage: 13_election [PORT URL...]\n";
        return EXIT_FAILURE;
    }
    example::nodes const servers(3);
    example::promises promises;
    fleet members(context, 3, servers.urls);
    redlock::client locks(context, {.nodes = servers.urls, .admission = {.assume_fresh = true}});
    std::exception_ptr failure;
    asio::co_spawn(context, check(members, locks, promises),
                   [&](std::exception_ptr thrown) { failure = thrown; });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return promises.exit_code();
}
