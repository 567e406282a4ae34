// SPDX-License-Identifier: BSL-1.0
#include "cycle_client.hpp"
#include "library.hpp"
#include "meter.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::bench {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// The common state of the cycles of one measurement.
struct load {
    explicit load(setup const& wanted) : what{wanted}, gauge{wanted} {}

    template <class Lock = redlock::mutex>
    [[nodiscard]] Lock lock(unsigned slot)
    {
        redlock::lock_options options;
        options.ttl = 10s;
        options.renew = true;
        return Lock{locks, resource_name(what.run_number, slot), options};
    }

    setup const& what;
    meter gauge;
    asio::io_context context{1};
    redlock::client locks{context.get_executor(), settings_for(what)};
    bool stopping = false;
};

struct with_default_token {
    using lock_type = redlock::mutex;
    static auto acquire(auto& lock) { return lock.acquire(); }
    static auto release(redlock::lease& lease) { return lease.release(); }
};

/// T13: what the tokens cost.
struct with_fence : with_default_token {
    using lock_type = redlock::fenced_mutex;
};

/// Four of sixteen names of its own at once, different ones each time.
struct with_four_names : with_default_token {
    struct lock_type {
        lock_type(redlock::client& locks, std::string const& name, redlock::lock_options const& options)
        {
            for (char first = 'a'; first != 'q'; first += 4) {
                std::vector<std::string> names;
                for (char each = first; each != first + 4; ++each)
                    names.push_back(name + each);
                sets.emplace_back(locks, std::move(names), options);
            }
        }

        std::vector<redlock::multi_mutex> sets;
        std::size_t next = 0;
    };
    static auto acquire(lock_type& lock) { return lock.sets[lock.next++ % lock.sets.size()].acquire(); }
};

/// One of eight permits that no other client wants.
struct with_permit : with_default_token {
    struct lock_type : redlock::semaphore {
        lock_type(redlock::client& locks, std::string name, redlock::lock_options const& options)
            : semaphore{locks, std::move(name), 8, options}
        {}
    };
};

struct with_deferred {
    using lock_type = redlock::mutex;
    static auto acquire(redlock::mutex& lock) { return lock.acquire(asio::deferred); }
    static auto release(redlock::lease& lease) { return lease.release(asio::deferred); }
};

template <class How>
asio::awaitable<void> cycles(load& shared, unsigned slot)
{
    auto lock = shared.lock<typename How::lock_type>(slot);
    bool const tells_latency = meter::tells_latency(slot);
    meter::clock::time_point started;
    while (!shared.stopping) {
        if (tells_latency)
            started = meter::clock::now();
        bool complete = false;
        try {
            redlock::lease lease = co_await How::acquire(lock);
            co_await How::release(lease);
            complete = true;
        } catch (boost::system::system_error const&) {
        }
        shared.gauge.count(complete);
        if (tells_latency)
            shared.gauge.record(meter::clock::now() - started);
    }
}

template <class How>
struct in_coroutines {
    void start(load& shared, unsigned slot)
    {
        asio::co_spawn(shared.context, cycles<How>(shared, slot), asio::detached);
    }
};

class callback_cycle {
public:
    callback_cycle(load& shared, unsigned slot)
        : shared_{shared}, lock_{shared.lock(slot)}, tells_latency_{meter::tells_latency(slot)}
    {}

    void start()
    {
        if (tells_latency_)
            started_ = meter::clock::now();
        lock_.acquire([this](error_code error, redlock::lease lease) {
            if (error)
                return done(false);
            lease_ = std::move(lease);
            lease_.release([this](error_code failure) { done(!failure); });
        });
    }

private:
    void done(bool complete)
    {
        shared_.gauge.count(complete);
        if (tells_latency_)
            shared_.gauge.record(meter::clock::now() - started_);
        if (!shared_.stopping)
            start();
    }

    load& shared_;
    redlock::mutex lock_;
    redlock::lease lease_;
    meter::clock::time_point started_;
    bool tells_latency_;
};

struct in_callbacks {
    void start(load& shared, unsigned slot)
    {
        running.push_back(std::make_unique<callback_cycle>(shared, slot));
        running.back()->start();
    }

    std::vector<std::unique_ptr<callback_cycle>> running;
};

/// Connects with one cycle, then lets all of them go for the warm-up and the window.
template <class Style>
asio::awaitable<void> conduct(load& shared, Style& style)
{
    {
        auto lock = shared.lock(shared.what.concurrency);
        redlock::lease lease = co_await lock.acquire();
        co_await lease.release();
    }
    for (unsigned slot = 0; slot < shared.what.concurrency; ++slot)
        style.start(shared, slot);
    asio::steady_timer timer{shared.context};
    timer.expires_after(std::chrono::duration_cast<meter::clock::duration>(shared.what.warm_up));
    co_await timer.async_wait(asio::use_awaitable);
    shared.gauge.open();
    timer.expires_after(std::chrono::duration_cast<meter::clock::duration>(shared.what.window));
    co_await timer.async_wait(asio::use_awaitable);
    shared.gauge.close();
    shared.stopping = true;
}

void rethrow(std::exception_ptr const& error)
{
    if (error)
        std::rethrow_exception(error);
}

template <class Style>
result run(setup const& what)
{
    Style style;
    load shared{what};
    asio::co_spawn(shared.context, conduct(shared, style), rethrow);
    shared.context.run();
    return shared.gauge.summary();
}

struct occupancy {
    double heap = 0;
    double resident = 0;
};

occupancy memory_in_use()
{
    occupancy out;
    auto const heap = ::mallinfo2();
    out.heap = static_cast<double>(heap.uordblks) + static_cast<double>(heap.hblkhd);
    if (std::FILE* const file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
        unsigned long total = 0;
        unsigned long resident = 0;
        if (std::fscanf(file, "%lu %lu", &total, &resident) == 2)
            out.resident = static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
        std::fclose(file);
    }
    return out;
}

struct holding {
    std::size_t wanted = 0;
    std::size_t begun = 0;
    std::uint64_t failed = 0;
    std::vector<redlock::lease> held;
};

asio::awaitable<void> hold_some(load& shared, holding& all)
{
    while (all.begun < all.wanted) {
        auto lock = shared.lock(static_cast<unsigned>(all.begun++));
        try {
            redlock::lease lease = co_await lock.acquire();
            all.held.push_back(std::move(lease));
        } catch (boost::system::system_error const&) {
            ++all.failed;
        }
    }
}

asio::awaitable<void> hold_up_to(load& shared, holding& all, std::size_t wanted)
{
    all.wanted = wanted;
    for (unsigned worker = 0; worker < shared.what.concurrency; ++worker)
        asio::co_spawn(shared.context, hold_some(shared, all), asio::detached);
    asio::steady_timer timer{shared.context};
    do {
        timer.expires_after(100ms); // late replies come in, coroutine frames go
        co_await timer.async_wait(asio::use_awaitable);
    } while (all.held.size() + all.failed < all.wanted);
}

asio::awaitable<void> hold(load& shared, holding& all, std::size_t leases, memory_result& out)
{
    co_await hold_up_to(shared, all, 1); // connects, and fills what is allocated once
    auto const before = memory_in_use();
    co_await hold_up_to(shared, all, leases + 1);
    auto const after = memory_in_use();
    auto const count = static_cast<double>(leases);
    auto const handle = static_cast<double>(sizeof(redlock::lease));
    auto const names = static_cast<double>(resource_name_length + nonce_length);
    out.leases = leases;
    out.failed = all.failed;
    out.heap_bytes_per_lease = (after.heap - before.heap) / count + handle - names;
    out.rss_bytes_per_lease = (after.resident - before.resident) / count;
    shared.context.stop();
}

memory_result hold_leases(setup const& what, std::size_t leases)
{
    memory_result out;
    load shared{what};
    holding all;
    all.held.reserve(leases + 1); // the handles belong to the holder's own objects: added as sizeof(lease)
    asio::co_spawn(shared.context, hold(shared, all, leases, out), rethrow);
    shared.context.run();
    return out;
}

} // namespace

std::vector<contestant> library_contestants()
{
    return {{"awaitable", &run<in_coroutines<with_default_token>>},
            {"deferred", &run<in_coroutines<with_deferred>>},
            {"callback", &run<in_callbacks>},
            {"fenced", &run<in_coroutines<with_fence>>},
            {"four names", &run<in_coroutines<with_four_names>>},
            {"permit", &run<in_coroutines<with_permit>>},
            {"awaitable unix", &run<in_coroutines<with_default_token>>, door::unix_socket},
            {"awaitable tls", &run<in_coroutines<with_default_token>>, door::tls}};
}

lease_holder library_lease_holder()
{
    return &hold_leases;
}

} // namespace redlock::bench
