// SPDX-License-Identifier: BSL-1.0
// Metrics of locks for Prometheus, with prometheus-cpp: an observer that counts, an exposer that is scraped.
// Run: 12_metrics_prometheus          starts three Redis servers of its own, kills two, scrapes and checks itself
//      12_metrics_prometheus cost     what the observer takes of this machine's time, per event
#include "local_redis.hpp"
#include "lock_metrics.hpp"
#include "scrape.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <prometheus/exposer.h>

#include <ctime>
#include <sstream>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

asio::awaitable<void> workload(redlock::client& locks, example::nodes& servers, std::uint16_t port,
                               example::promises& promises)
{
    std::string const unreachable =
        "redlock_node_errors_total" + example::of_node(servers.urls[2], "kind=\"unreachable\",");
    redlock::mutex seat{locks, "seat"};
    for (int i = 0; i != 20; ++i) {
        redlock::lease held = co_await seat.acquire();
        co_await held.release();
    }
    redlock::mutex report{locks, "report", {.ttl = 2s, .node_timeout = 500ms}};
    redlock::lease held = co_await report.acquire();
    error_code busy;
    redlock::lease none = co_await report.try_acquire(asio::redirect_error(asio::use_awaitable, busy));
    std::string page = co_await example::scrape_until(port, [](auto const& p) {
        return example::value(p, "redlock_extend_total{result=\"renewed\"}") >= 1;
    });
    promises.keep(example::value(page, "redlock_held") == 1, "one lease is held");
    servers.own[2]->kill();
    page = co_await example::scrape_until(port,
                                          [&](auto const& p) { return example::value(p, unreachable) >= 1; });
    promises.keep(example::value(page, unreachable) >= 1 && example::value(page, "redlock_held") == 1,
                  "a dead node costs no lease");
    servers.own[1]->kill();
    co_await held.ended();
    none = co_await seat.acquire_for(100ms, asio::redirect_error(asio::use_awaitable, busy));
}

/// Each metric of locks has a line that says what it counts.
bool is_explained(std::string const& page)
{
    std::istringstream lines(page);
    std::string before;
    bool any = false;
    for (std::string line; std::getline(lines, line); before = line) {
        std::string const type = "# TYPE redlock_";
        if (!line.starts_with(type))
            continue;
        std::string const name = line.substr(7, line.find(' ', type.size()) - 7);
        if (!before.starts_with("# HELP " + name + ' '))
            return false;
        any = true;
    }
    return any;
}

void check(std::string const& page, example::nodes const& servers, example::promises& promises)
{
    auto const keep = [&](std::string const& series, auto wanted, std::string const& words) {
        double const found = example::value(page, series);
        promises.keep(wanted(found), series + ' ' + std::to_string(found) + ": " + words);
    };
    auto const is = [](double n) { return [n](double found) { return found == n; }; };
    auto const above = [](double n) { return [n](double found) { return found > n; }; };
    auto const ends = [](std::string const& result, std::string const& last) {
        return "redlock_acquire_total{last=\"" + last + "\",result=\"" + result + "\"}";
    };
    keep(ends("acquired", "none"), is(21), "leases were acquired");
    keep(ends("contended", "contended"), is(1), "met another holder");
    keep(ends("timed_out", "no_quorum"), is(1), "met too few servers until its time was over");
    keep("redlock_release_total{result=\"released\"}", is(20), "were released");
    keep("redlock_lost_total{cause=\"expired\"}", is(1), "was lost");
    keep("redlock_extend_total{result=\"renewed\"}", above(0), "renewals");
    keep("redlock_extend_total{result=\"failed\"}", above(0), "renewals found no majority");
    keep("redlock_held", is(0), "are held");
    keep(
        "redlock_smallest_spare_seconds", [](double found) { return found > 0 && found < 2; },
        "seconds were left when it was closest");
    keep("redlock_acquire_seconds_count", is(21), "waits were measured");
    keep("redlock_hold_seconds_count", is(21), "leases, too");
    keep("redlock_round_trip_seconds_count" + example::of_node(servers.urls[0]), above(21), "answers, too");
    promises.keep(is_explained(page), "each metric has a HELP text");
    for (std::size_t i = 0; i != servers.urls.size(); ++i)
        keep("redlock_node_up" + example::of_node(servers.urls[i]), is(i == 0 ? 1 : 0),
             i == 0 ? "is up" : "is not");
}

double cpu_nanoseconds()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

template <class Event>
void measure(char const* name, Event event)
{
    constexpr int events = 2'000'000;
    double const start = cpu_nanoseconds();
    for (int i = 0; i != events; ++i)
        event();
    std::cout << name << ": " << (cpu_nanoseconds() - start) / events << " ns\n";
}

void cost()
{
    prometheus::Registry registry;
    lock_metrics metrics(registry);
    std::string const urls[]{"redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379"};
    for (auto const& url : urls)
        metrics.on_node({url, redlock::node_state::ready, ""});
    using enum redlock::lease_event::kind;
    redlock::lease_event lease{acquired, "seat", 3, 3, 9s, 6s, 3s, redlock::loss_cause::none};
    measure("on_vote, of the last of three nodes", [&] {
        metrics.on_vote({"seat", urls[2], false, redlock::node_result::granted, 300us});
    });
    measure("on_acquire", [&] { metrics.on_acquire({"seat", {}, 1, 400us}); });
    for (auto what : {acquired, renewed, released}) {
        lease.what = what;
        measure(("on_lease, " + std::string(to_string(what))).c_str(), [&] { metrics.on_lease(lease); });
    }
}

int main(int argc, char** argv)
{
    if (argc > 1 && std::string(argv[1]) == "cost") {
        cost();
        return EXIT_SUCCESS;
    }
    example::nodes servers(3);
    example::promises promises;
    auto const registry = std::make_shared<prometheus::Registry>();
    prometheus::Exposer exposer("127.0.0.1:0", 1); // its thread answers; a port of your own choice, of course
    exposer.RegisterCollectable(registry);
    auto const port = static_cast<std::uint16_t>(exposer.GetListeningPorts().at(0));

    asio::io_context context;
    redlock::client locks{
        context.get_executor(),
        {.nodes = servers.urls,
         .admission = {.assume_fresh = true}, // the servers are new: nothing was lost by a restart
         .observer = std::make_shared<lock_metrics>(*registry)}};
    auto done = asio::co_spawn(context, workload(locks, servers, port, promises), asio::use_future);
    context.run();
    done.get();
    context.restart();
    auto page = asio::co_spawn(context, example::scrape(port), asio::use_future);
    context.run();
    check(page.get(), servers, promises);
    return promises.exit_code();
}
