// SPDX-License-Identifier: BSL-1.0
// Table T10: what it costs to hold many leases that renew themselves, also while a node is silent.
#include "library.hpp"
#include "options.hpp"
#include "processes.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace redlock::bench {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto ttl = 10s;

/// Trivially copyable: it travels through a pipe from the process that was measured.
struct figures {
    char phase[16];
    double cpu_percent = 0;
    double server_percent = 0;
    double renewals_per_second = 0;
    double us_each = 0;
    double late_p50_ms = 0;
    double late_p99_ms = 0;
    double late_most_ms = 0;
    std::uint64_t failed_rounds = 0;
    std::uint64_t lost = 0;
};

struct outcome {
    double heap_bytes = 0;
    std::size_t phases = 0;
    figures of[3];

    void add(figures const& f) { of[phases++] = f; }
};

/// Hears of every renewal. How late one was sent shows in what is left of the lease: the deadlines of two rounds lie as
/// far apart as their sending.
class listener final : public observer {
public:
    explicit listener(std::size_t leases) : ends_(leases) {}

    void on_lease(lease_event const& e) noexcept override
    {
        lost += e.what == lease_event::kind::lost ? 1U : 0U;
        failed += e.what == lease_event::kind::renewed || e.what == lease_event::kind::lost ? e.failed : 0U;
        if (e.what != lease_event::kind::renewed && e.what != lease_event::kind::acquired)
            return;
        ++renewed;
        if (!timing)
            return;
        std::size_t slot = 0;
        std::from_chars(e.resource.data(), e.resource.data() + e.resource.size(), slot);
        auto const end = clock::now() + e.remaining;
        if (auto const before = std::exchange(ends_[slot], end); before != clock::time_point{})
            late.push_back(std::chrono::duration<double, std::milli>(end - before - ttl / 3.0).count());
    }

    void start_timing()
    {
        std::ranges::fill(ends_, clock::time_point{}); // renewals meanwhile were not noted
        late.clear();
        timing = true;
    }

    bool timing = false;
    std::uint64_t renewed = 0;
    std::uint64_t failed = 0;
    std::uint64_t lost = 0;
    std::vector<double> late;

private:
    std::vector<clock::time_point> ends_;
};

struct holding {
    asio::io_context context{1};
    std::shared_ptr<listener> heard;
    client locks;
    std::size_t begun = 0;
    std::vector<lease> held;

    holding(std::vector<std::uint16_t> const& ports, std::size_t leases)
        : heard(std::make_shared<listener>(leases)), locks(context.get_executor(), settings(ports))
    {
        held.reserve(leases);
    }

private:
    config settings(std::vector<std::uint16_t> const& ports)
    {
        config wanted = settings_for(ports);
        wanted.observer = heard;
        return wanted;
    }
};

asio::awaitable<void> take_some(holding& all)
{
    while (all.begun != all.held.capacity()) {
        lock_options options;
        options.ttl = ttl;
        mutex one(all.locks, std::to_string(all.begun++), options);
        all.held.push_back(co_await one.acquire());
    }
}

double at(std::vector<double> const& sorted, double share)
{
    return sorted.empty() ? 0
                          : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// CPU first, then, while each is renewed three times, how late that was.
asio::awaitable<figures> watch(holding& all, std::vector<pid_t> const& servers, char const* phase,
                               std::chrono::seconds window)
{
    asio::steady_timer timer(all.context);
    auto const wait = [&timer](clock::duration time) {
        timer.expires_after(time);
        return timer.async_wait(asio::use_awaitable);
    };
    auto const theirs = [&servers] {
        double sum = 0;
        for (pid_t const server : servers)
            sum += cpu_time_us(server);
        return sum;
    };
    figures out{};
    std::snprintf(out.phase, sizeof out.phase, "%s", phase);
    auto const began = clock::now();
    auto const renewed = all.heard->renewed;
    double const cpu = own_cpu_us();
    double const server_cpu = theirs();
    co_await wait(window);
    double const took = std::chrono::duration<double, std::micro>(clock::now() - began).count();
    auto const count = static_cast<double>(all.heard->renewed - renewed);
    out.cpu_percent = 100 * (own_cpu_us() - cpu) / took;
    out.server_percent = 100 * (theirs() - server_cpu) / took;
    out.renewals_per_second = 1e6 * count / took;
    out.us_each = count == 0 ? 0 : (own_cpu_us() - cpu) / count;
    all.heard->start_timing();
    co_await wait(ttl);
    all.heard->timing = false;
    std::ranges::sort(all.heard->late);
    out.late_p50_ms = at(all.heard->late, 0.5);
    out.late_p99_ms = at(all.heard->late, 0.99);
    out.late_most_ms = at(all.heard->late, 1);
    out.failed_rounds = std::exchange(all.heard->failed, 0);
    out.lost = std::exchange(all.heard->lost, 0);
    co_return out;
}

double heap_in_use()
{
    auto const heap = ::mallinfo2();
    return static_cast<double>(heap.uordblks) + static_cast<double>(heap.hblkhd);
}

asio::awaitable<void> hold(holding& all, std::vector<pid_t> servers, std::chrono::seconds window,
                           outcome& out)
{
    double const before = heap_in_use();
    for (int i = 0; i != 64; ++i)
        asio::co_spawn(all.context, take_some(all), asio::detached);
    asio::steady_timer timer(all.context);
    while (all.held.size() != all.held.capacity()) {
        timer.expires_after(100ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
    out.heap_bytes = (heap_in_use() - before) / static_cast<double>(all.held.size());
    timer.expires_after(ttl / 2); // all have been renewed once
    co_await timer.async_wait(asio::use_awaitable);
    out.add(co_await watch(all, servers, "all nodes", window));
    if (servers.size() > 1) {
        ::kill(servers.front(), SIGSTOP);
        out.add(co_await watch(all, servers, "one stopped", window));
        ::kill(servers.front(), SIGCONT);
        out.add(co_await watch(all, servers, "it is back", window));
    }
    all.context.stop();
}

outcome run(std::size_t nodes, std::size_t leases, std::chrono::seconds window, placement const& cpus)
{
    redis_fleet const fleet{nodes, cpus.server_cpu};
    std::vector<std::uint16_t> const ports{fleet.ports().begin(), fleet.ports().end()};
    return measure_in_child(cpus.client_cpu, 180s, [&] {
        outcome out;
        holding all(ports, leases);
        asio::co_spawn(all.context, hold(all, fleet.ids(nodes), window, out), [](std::exception_ptr error) {
            if (error)
                std::rethrow_exception(error);
        });
        all.context.run();
        return out;
    });
}

void print(std::size_t nodes, std::size_t leases, outcome const& told, std::FILE* json)
{
    for (std::size_t i = 0; i != told.phases; ++i) {
        figures const& f = told.of[i];
        std::printf("%2zu %7zu %-12s %8.2f %8.2f %10.0f %8.2f %8.1f %8.1f %8.1f %7llu %6llu %7.0f\n", nodes,
                    leases, f.phase, f.cpu_percent, f.server_percent, f.renewals_per_second, f.us_each,
                    f.late_p50_ms, f.late_p99_ms, f.late_most_ms,
                    static_cast<unsigned long long>(f.failed_rounds), static_cast<unsigned long long>(f.lost),
                    told.heap_bytes);
        if (json != nullptr)
            std::fprintf(json,
                         R"({"kind":"leases","nodes":%zu,"leases":%zu,"phase":"%s","cpu_percent":%.3f,)"
                         R"("server_percent":%.3f,"renewals":%.1f,"us_each":%.3f,"late_p50_ms":%.3f,)"
                         R"("late_p99_ms":%.3f,"late_most_ms":%.3f,"failed":%llu,"lost":%llu,"heap":%.1f})"
                         "\n",
                         nodes, leases, f.phase, f.cpu_percent, f.server_percent, f.renewals_per_second,
                         f.us_each, f.late_p50_ms, f.late_p99_ms, f.late_most_ms,
                         static_cast<unsigned long long>(f.failed_rounds),
                         static_cast<unsigned long long>(f.lost), told.heap_bytes);
    }
    std::fflush(nullptr);
}

bool lost_none(outcome const& told)
{
    return std::all_of(told.of, told.of + told.phases, [](figures const& f) { return f.lost == 0; });
}

} // namespace

} // namespace redlock::bench

int main(int argc, char** argv)
{
    using namespace redlock::bench;
    return run_with_few_options(argc, argv, [](bool quick, std::FILE* json) {
        auto const cpus = choose_cpus();
        std::vector<std::size_t> const sizes =
            quick ? std::vector<std::size_t>{1000} : std::vector<std::size_t>{10'000, 100'000};
        std::printf("T10: leases of 10 s, renewed after a third; CPU in per cent of one\n");
        std::printf("%2s %7s %-12s %8s %8s %10s %8s %8s %8s %8s %7s %6s %7s\n", "N", "leases", "", "client",
                    "servers", "renewals/s", "us each", "late p50", "p99 ms", "most", "failed", "lost",
                    "heap B");
        bool good = true;
        for (std::size_t const nodes : {std::size_t{1}, std::size_t{3}})
            for (std::size_t const leases : sizes) {
                auto const told =
                    run(nodes, leases, quick ? std::chrono::seconds{4} : std::chrono::seconds{10}, cpus);
                print(nodes, leases, told, json);
                good = lost_none(told) && good;
            }
        return good;
    });
}
