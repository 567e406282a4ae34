// SPDX-License-Identifier: BSL-1.0
// A fleet of workers that call a backend which can take four calls at once. Each call needs a permit, so there are never more
// of them, over all processes. A call that is as much work as two needs two permits. One of the workers dies with its
// permit, which comes back by itself.
//
//   14_rate_limited_fleet [redis-url...]     without URLs it starts three servers of its own
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr unsigned capacity = 4;
constexpr unsigned workers = 6;
constexpr unsigned calls_each = 30;
constexpr unsigned heavy_each = 5; // each is as much work as two
constexpr unsigned all_calls = workers * (calls_each + heavy_each) + 1;
constexpr redlock::lock_options quickly{.ttl = 3s}; // for the demonstration; start with 10 s

redlock::config settings(std::vector<std::string> const& urls)
{
    return {
        .nodes = urls,
        .admission = {.assume_fresh = true}}; // the servers are new: nothing can have been lost by a restart
}

/// A backend without a limit of its own: it counts concurrent calls.
class backend {
public:
    explicit backend(asio::io_context& context)
        : acceptor_(context, {asio::ip::address_v4::loopback(), 0}), finished_(context, 90s)
    {}
    [[nodiscard]] tcp::endpoint where() const { return acceptor_.local_endpoint(); }
    [[nodiscard]] unsigned most() const { return most_; }
    [[nodiscard]] unsigned calls() const { return calls_; }

    asio::awaitable<void> serve()
    {
        for (;;) {
            tcp::socket caller = co_await acceptor_.async_accept(asio::use_awaitable);
            asio::co_spawn(acceptor_.get_executor(), answer(std::move(caller)), asio::detached);
        }
    }
    /// Until all calls have been made.
    asio::awaitable<void> finished()
    {
        error_code ec;
        co_await finished_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }

private:
    asio::awaitable<void> answer(tcp::socket caller)
    {
        error_code ec;
        char work = 0;
        co_await asio::async_read(caller, asio::buffer(&work, 1),
                                  asio::redirect_error(asio::use_awaitable, ec));
        if (ec)
            co_return;
        auto const weight = static_cast<unsigned>(work);
        in_flight_ += weight;
        most_ = std::max(most_, in_flight_);
        asio::steady_timer busy(acceptor_.get_executor(), 10ms);
        co_await busy.async_wait(asio::use_awaitable);
        in_flight_ -= weight;
        if (++calls_ == all_calls)
            finished_.cancel();
        co_await asio::async_write(caller, asio::buffer(&work, 1),
                                   asio::redirect_error(asio::use_awaitable, ec));
    }

    tcp::acceptor acceptor_;
    asio::steady_timer finished_;
    unsigned in_flight_ = 0;
    unsigned most_ = 0;
    unsigned calls_ = 0;
};

asio::awaitable<void> call(tcp::endpoint where, char work)
{
    tcp::socket server(co_await asio::this_coro::executor);
    co_await server.async_connect(where, asio::use_awaitable);
    co_await asio::async_write(server, asio::buffer(&work, 1), asio::use_awaitable);
    co_await asio::async_read(server, asio::buffer(&work, 1), asio::use_awaitable);
}

asio::awaitable<void> work(redlock::client& locks, tcp::endpoint where)
{
    redlock::semaphore calls(locks, "backend-calls", capacity, quickly);
    auto light = [&](redlock::lease&) { return call(where, 1); };
    auto heavy = [&](redlock::lease&) { return call(where, 2); };
    for (unsigned i = 0; i != calls_each; ++i)
        co_await redlock::with_lock(calls, light);
    for (unsigned i = 0; i != heavy_each; ++i)
        co_await redlock::with_lock(calls.taking(2), heavy);
}

asio::awaitable<void> die_after_work(redlock::client& locks, tcp::endpoint where)
{
    redlock::semaphore calls(locks, "backend-calls", capacity, quickly);
    redlock::lease lease = co_await calls.acquire();
    co_await call(where, 1);
    ::_exit(EXIT_SUCCESS); // and gives nothing back
}

using role = asio::awaitable<void> (*)(redlock::client&, tcp::endpoint);

/// Workers as processes of their own, which end with this one.
class fleet {
public:
    fleet(std::vector<std::string> const& urls, tcp::endpoint where)
    {
        for (unsigned i = 0; i != workers; ++i)
            start(work, urls, where);
        start(die_after_work, urls, where);
    }
    fleet(fleet const&) = delete;
    fleet& operator=(fleet const&) = delete;
    ~fleet()
    {
        for (pid_t const pid : pids_)
            ::kill(pid, SIGKILL);
        (void)all_ended_well();
    }
    [[nodiscard]] bool all_ended_well()
    {
        bool well = true;
        for (pid_t const pid : std::exchange(pids_, {})) {
            int status = 0;
            well = ::waitpid(pid, &status, 0) == pid && status == 0 && well;
        }
        return well;
    }

private:
    void start(role what, std::vector<std::string> const& urls, tcp::endpoint where)
    {
        pid_t const pid = ::fork();
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::_exit(run(what, urls, where));
        }
        pids_.push_back(pid);
    }
    static int run(role what, std::vector<std::string> const& urls, tcp::endpoint where)
    {
        asio::io_context context;
        redlock::client locks(context, settings(urls));
        std::exception_ptr failure;
        asio::co_spawn(context, what(locks, where), [&](std::exception_ptr thrown) { failure = thrown; });
        context.run();
        if (!failure)
            return EXIT_SUCCESS;
        try {
            std::rethrow_exception(failure);
        } catch (std::exception const& e) {
            std::cerr << ::getpid() << ": " << e.what() << '\n';
        }
        return EXIT_FAILURE;
    }

    std::vector<pid_t> pids_;
};

asio::awaitable<void> check(backend& called, fleet& callers, redlock::client& locks,
                            example::promises& promises)
{
    co_await called.finished();
    std::cout << called.calls() << " calls of " << workers + 1 << " processes, at most " << called.most()
              << " at once\n";
    promises.keep(called.calls() == all_calls, "all calls were made");
    promises.keep(called.most() <= capacity, "never more at once than the backend can take");
    promises.keep(callers.all_ended_well(), "all workers ended well, or died where they should");

    redlock::semaphore calls(locks, "backend-calls", capacity, quickly);
    redlock::lease all = co_await calls.acquire_for(capacity, 30s);
    promises.keep(all.permits().size() == capacity, "the permit of the one that died has come back");
    co_await all.release();
}

int main(int argc, char** argv)
{
    example::nodes const servers(argc, argv);
    asio::io_context context;
    example::promises promises;
    backend called(context);
    fleet callers(servers.urls, called.where());
    redlock::client locks(context, settings(servers.urls));
    std::exception_ptr failure;
    asio::co_spawn(context, called.serve(), asio::detached);
    asio::co_spawn(context, check(called, callers, locks, promises), [&](std::exception_ptr thrown) {
        failure = thrown;
        context.stop();
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return promises.exit_code();
}
