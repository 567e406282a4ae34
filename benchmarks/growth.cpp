// SPDX-License-Identifier: BSL-1.0
// How the cost of a cycle grows: with keys, nodes, waiters and held leases, by powers of ten; and with threads.
// Against the null responder, so that what is measured is the client.
#include "library.hpp"
#include "options.hpp"
#include "processes.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace redlock::bench {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct figures {
    double cycles_per_second = 0;
    double us_each = 0;
    std::uint64_t failed = 0;
};

/// Cycles of many coroutines, perhaps on several threads.
struct tally {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> cycles{0};
    std::atomic<std::uint64_t> failed{0};
};

asio::awaitable<void> cycle(std::vector<mutex>& locks, std::size_t first, std::size_t step, tally& all)
{
    for (std::size_t i = first; !all.stop.load(std::memory_order_relaxed); i = (i + step) % locks.size()) {
        try {
            lease held = co_await locks[i].acquire();
            co_await held.release();
        } catch (std::exception const&) {
            ++all.failed;
        }
        all.cycles.fetch_add(1, std::memory_order_relaxed);
    }
}

lock_options long_lived()
{
    lock_options options;
    options.ttl = 600s;
    options.node_timeout = 30s; // a neighbour's time slice is no fault of a node
    options.handover.batch = 1'000'000;
    options.handover.period = 24h;
    return options;
}

std::vector<mutex> make_locks(client& owner, std::size_t count, std::string const& name)
{
    std::vector<mutex> made;
    for (std::size_t i = 0; i != count; ++i)
        made.emplace_back(owner, name + std::to_string(i), long_lived());
    return made;
}

figures measure(tally& all, std::function<void(clock::duration)> const& wait, double seconds)
{
    auto const whole = [seconds](double share) {
        return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds * share));
    };
    wait(whole(0.3));
    auto const began = clock::now();
    double const cpu = own_cpu_us();
    auto const before = all.cycles.load();
    wait(whole(1));
    auto const cycles = static_cast<double>(all.cycles.load() - before);
    double const spent = own_cpu_us() - cpu;
    std::chrono::duration<double> const took = clock::now() - began;
    all.stop = true;
    return {cycles / took.count(), cycles == 0 ? 0 : spent / cycles, all.failed.load()};
}

struct size {
    std::size_t nodes = 3;
    std::size_t keys = 50;
    std::size_t waiters = 0; ///< all on one key, instead of keys of their own
    std::size_t held = 0;    ///< leases besides the cycles
    double seconds = 0.5;
};

asio::awaitable<void> take(mutex& one, std::vector<lease>& held)
{
    held.push_back(co_await one.acquire());
}

figures grow(std::vector<std::uint16_t> const& ports, size const& what)
{
    asio::io_context context{1};
    client locks(context.get_executor(), settings_for(ports));
    std::vector<mutex> beside = make_locks(locks, what.held, "held");
    std::vector<lease> held;
    for (auto& one : beside)
        asio::co_spawn(context, take(one, held), asio::detached);
    while (held.size() != what.held)
        context.run_one();
    std::vector<mutex> keys = make_locks(locks, what.waiters == 0 ? what.keys : 1, "key");
    tally all;
    std::size_t const flights = what.waiters == 0 ? std::min<std::size_t>(what.keys, 50) : what.waiters;
    for (std::size_t i = 0; i != flights; ++i)
        asio::co_spawn(context, cycle(keys, i % keys.size(), flights, all), asio::detached);
    auto const told = measure(
        all, [&](clock::duration time) { context.run_for(time); }, what.seconds);
    held.clear();
    return told;
}

/// Different locks, all wanted in one moment, each node with its usual time.
figures take_at_once(std::vector<std::uint16_t> const& ports, std::size_t count)
{
    asio::io_context context{1};
    client locks(context.get_executor(), settings_for(ports));
    std::vector<mutex> wanted;
    for (std::size_t i = 0; i != count; ++i)
        wanted.emplace_back(locks, "key" + std::to_string(i), lock_options{.ttl = 600s});
    std::vector<lease> held;
    held.reserve(count);
    auto const began = clock::now();
    double const cpu = own_cpu_us();
    for (auto& one : wanted)
        asio::co_spawn(context, take(one, held), asio::detached);
    while (held.size() != count)
        context.run_one();
    std::chrono::duration<double> const took = clock::now() - began;
    double const spent = own_cpu_us() - cpu;
    return {static_cast<double>(count) / took.count(), spent / static_cast<double>(count), 0};
}

/// Each thread has a context and a client of its own.
figures apart(std::vector<std::uint16_t> const& ports, unsigned threads, double seconds)
{
    tally all;
    std::vector<std::thread> running;
    for (unsigned t = 0; t != threads; ++t)
        running.emplace_back([&, t] {
            asio::io_context context{1};
            client locks(context.get_executor(), settings_for(ports));
            std::vector<mutex> keys = make_locks(locks, 256 / threads, std::to_string(t) + "key");
            for (std::size_t i = 0; i != keys.size(); ++i)
                asio::co_spawn(context, cycle(keys, i, keys.size(), all), asio::detached);
            context.run();
        });
    auto const told = measure(
        all, [](clock::duration time) { std::this_thread::sleep_for(time); }, seconds);
    for (auto& thread : running)
        thread.join();
    return told;
}

/// One client behind a strand; its users' coroutines run on the pool.
figures together(std::vector<std::uint16_t> const& ports, unsigned threads, double seconds)
{
    tally all;
    asio::thread_pool pool(threads);
    client locks(asio::make_strand(pool), settings_for(ports));
    std::vector<mutex> keys = make_locks(locks, 256, "key");
    for (std::size_t i = 0; i != keys.size(); ++i)
        asio::co_spawn(pool, cycle(keys, i, keys.size(), all), asio::detached);
    auto const told = measure(
        all, [](clock::duration time) { std::this_thread::sleep_for(time); }, seconds);
    pool.join();
    return told;
}

class report {
public:
    explicit report(std::FILE* json) : json_(json) {}

    void line(char const* what, std::size_t count, figures const& f)
    {
        good = good && f.failed == 0 && f.us_each > 0;
        std::printf("%-24s %7zu %12.0f %10.3f%s\n", what, count, f.cycles_per_second, f.us_each,
                    f.failed == 0 ? "" : "  FAILED CYCLES");
        std::fflush(stdout);
        if (json_ != nullptr)
            std::fprintf(json_,
                         R"({"kind":"growth","of":"%s","count":%zu,"rate":%.1f,"us":%.4f,"failed":%llu})"
                         "\n",
                         what, count, f.cycles_per_second, f.us_each,
                         static_cast<unsigned long long>(f.failed));
    }

    bool good = true;

private:
    std::FILE* json_;
};

void run_growth(placement const& cpus, bool quick, report& to)
{
    auto const point = [&](char const* what, std::size_t count, size wanted) {
        wanted.seconds = quick ? 0.1 : 0.5;
        null_fleet const fleet{wanted.nodes, cpus.client_cpu};
        std::vector<std::uint16_t> const ports{fleet.ports().begin(), fleet.ports().end()};
        to.line(what, count, measure_in_child(cpus.client_cpu, 120s, [&] { return grow(ports, wanted); }));
    };
    std::size_t const most = quick ? 1000 : 100'000;
    for (std::size_t n = 1; n <= 9; n += 2)
        point("nodes", n, {.nodes = n});
    for (std::size_t n = 1; n <= most; n *= 10)
        point("keys", n, {.keys = n});
    for (std::size_t n = 1; n <= most; n *= 10)
        point("waiters for one key", n, {.waiters = n});
    for (std::size_t n = 1; n <= most; n *= 10)
        point("leases held meanwhile", n, {.held = n});
    null_fleet const fleet{3, cpus.client_cpu};
    std::vector<std::uint16_t> const ports{fleet.ports().begin(), fleet.ports().end()};
    for (std::size_t n = 1; n <= 10 * most; n *= 10)
        to.line("acquired at once", n,
                measure_in_child(cpus.client_cpu, 120s, [&] { return take_at_once(ports, n); }));
}

/// Threads on all CPUs but that of the servers, if there are enough.
void run_threads(placement const& cpus, bool quick, report& to)
{
    double const seconds = quick ? 0.1 : 1;
    null_fleet const fleet{3, cpus.server_cpu};
    std::vector<std::uint16_t> const ports{fleet.ports().begin(), fleet.ports().end()};
    for (unsigned const threads : {1U, 2U}) {
        to.line("threads, a client each", threads,
                measure_in_child(-1, 60s, [&] { return apart(ports, threads, seconds); }));
        to.line("threads, one client", threads,
                measure_in_child(-1, 60s, [&] { return together(ports, threads, seconds); }));
    }
}

} // namespace

} // namespace redlock::bench

int main(int argc, char** argv)
{
    using namespace redlock::bench;
    return run_with_few_options(argc, argv, [](bool quick, std::FILE* json) {
        report to(json);
        auto const cpus = choose_cpus();
        std::printf("%-24s %7s %12s %10s\n", "growth of", "count", "cycles/s", "client us");
        run_growth(cpus, quick, to);
        run_threads(cpus, quick, to);
        return to.good;
    });
}
