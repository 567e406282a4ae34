// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/meeting_node.hpp"
#include "core/tally.hpp"
#include "kind/queue.hpp"
#include "world/network.hpp"
#include "world/process.hpp"
#include "world/timeline.hpp"
#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/fenced_mutex.hpp>
#include <redlock/fenced_shared_mutex.hpp>
#include <redlock/lease.hpp>
#include <redlock/mutex.hpp>
#include <redlock/observer.hpp>
#include <redlock/shared_mutex.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;
using core::duration;

inline constexpr duration one_way = 500us;
inline constexpr duration round_trip = 2 * one_way;
/// How long a lock is kept for a called waiter: 50 ms, as a round trip is short.
inline constexpr duration claim_window = 50ms;
/// Timers tick in milliseconds.
inline constexpr duration a_tick = 2ms;

struct positions : observer {
    void on_wait(wait_event const& e) noexcept override
    {
        if (!e.in_queue)
            return;
        before.push_back(e.before);
        held_here.push_back(e.held_here);
    }
    void on_attempt(attempt_event const& e) noexcept override
    {
        if (e.result)
            held_here.push_back(e.held_here);
    }
    void on_acquire(acquire_event const& e) noexcept override { last_failure = e.last_failure; }
    void on_release(release_event const& e) noexcept override { released = e.result; }
    void on_lease(lease_event const& e) noexcept override { leases.push_back({e.what, e.shared}); }
    std::vector<std::size_t> before;
    std::vector<bool> held_here; ///< one for each refusal, and for each position
    struct lease_change {
        lease_event::kind what;
        bool shared;
        bool operator==(lease_change const&) const = default;
    };
    std::vector<lease_change> leases;
    error_code last_failure{};
    std::optional<error_code> released; ///< how its last release ended
};

/// A process with one client, which holds the lock or waits for it.
struct contender {
    contender(world::network& net, unsigned host, config settings, lock_options const& options)
        : process(net, host, host + 1)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.between(host, n).latency = one_way;
        settings.observer = told;
        locks.emplace(process.make_client(std::move(settings)));
        lock.emplace(*locks, "seat", options);
        fenced.emplace(*locks, "seat", options);
        shared.emplace(*locks, "seat", options);
        fenced_shared.emplace(*locks, "seat", options);
    }

    template <class Lock>
    void acquire(Lock const& wanted)
    {
        ended.reset();
        wanted.acquire(asio::bind_cancellation_slot(stop.slot(), [this](error_code ec, lease got) {
            ended = ec;
            held = std::move(got);
        }));
    }
    void acquire() { acquire(*lock); }
    void write() { acquire(*shared); }
    void read()
    {
        auto readers = shared->shared();
        acquire(readers);
    }
    void release() { held = {}; }
    [[nodiscard]] bool holds() const { return held.valid(); }

    std::shared_ptr<positions> told = std::make_shared<positions>();
    world::process process;
    std::optional<client> locks;
    std::optional<mutex> lock;
    std::optional<fenced_mutex> fenced;
    std::optional<shared_mutex> shared;
    std::optional<fenced_shared_mutex> fenced_shared;
    asio::cancellation_signal stop;
    std::optional<error_code> ended;
    lease held;
};

/// Runs existing programs while time passes.
template <class Programs>
void run_all(world::timeline& time, Programs const& all, duration length)
{
    auto const end = time.now() + length;
    do
        for (auto const& one : all)
            while (one && one->process.run())
                ;
    while (time.step(end));
}

struct queue_fixture {
    explicit queue_fixture(unsigned nodes = 3) : net(time, nodes, 1)
    {
        settings.admission.assume_fresh = true;
        for (std::size_t n = 0; n != net.size(); ++n) {
            settings.nodes.push_back(net.url(n));
            net.at(n).overhear = [this](auto, std::string_view bytes) { count(bytes); };
        }
    }

    contender& add() { return add(options); }
    contender& add(lock_options const& its)
    {
        all.push_back(std::make_unique<contender>(net, static_cast<unsigned>(all.size()), settings, its));
        return *all.back();
    }
    /// Its connections speak RESP2, so that no client can call it (rule Q18).
    contender& add_polling() { return add_polling(options); }
    contender& add_polling(lock_options const& its)
    {
        config resp2 = settings;
        for (std::string& node : resp2.nodes)
            node += "?protocol=2";
        all.push_back(std::make_unique<contender>(net, static_cast<unsigned>(all.size()), resp2, its));
        return *all.back();
    }
    /// Its messages take this time to each node.
    contender& add_far(duration latency)
    {
        auto const host = static_cast<unsigned>(all.size());
        contender& far = add();
        for (std::size_t n = 0; n != net.size(); ++n)
            net.between(host, n).latency = latency;
        return far;
    }
    void pass(duration length) { run_all(time, all, length); }
    /// How long it takes until then, to a tenth of a millisecond.
    template <class Condition>
    duration until(Condition met, duration longest = 60s)
    {
        auto const began = time.now();
        while (!met() && time.now() - began < longest)
            pass(100us);
        BOOST_TEST(met());
        return time.now() - began;
    }
    duration until_granted(contender& one)
    {
        return until([&] { return one.holds(); });
    }
    /// Starts clients one after the other, each behind the earlier ones; the first has the lock.
    void line_up(std::size_t size)
    {
        for (std::size_t i = 0; i != size; ++i) {
            add().acquire();
            pass(100ms);
        }
        BOOST_TEST_REQUIRE(all.front()->holds());
    }
    void kill(std::size_t which)
    {
        net.bury(static_cast<unsigned>(which));
        dead.push_back(std::move(all[which]));
        pass(10ms);
    }

    /// The second has the lock from the first, and knows of other clients.
    void line_up_and_pass(std::size_t size)
    {
        line_up(size);
        all[0]->release();
        (void)until_granted(*all[1]);
    }
    /// While the lock is on its way to the third, an unqueued client takes it on all nodes but one.
    /// \return that node
    std::size_t overtake_next_owner(std::string const& milliseconds)
    {
        line_up_and_pass(3);
        std::size_t const first = where();
        all[1]->release();
        pass(one_way + 200us);
        for_all_but(first, [&](std::size_t n) {
            say(n, {"SET", "seat", std::string(32, 'f'), "PX", milliseconds});
        });
        return first;
    }
    /// Queued clients pass the lock on as soon as they have it, and enter the queue again.
    duration until_let_in(contender& outside, duration longest)
    {
        return until(
            [&] {
                for (auto const& one : all)
                    if (one.get() != &outside && one->holds()) {
                        one->release();
                        one->acquire();
                    }
                return outside.holds();
            },
            longest);
    }
    /// The order is not checked.
    void serve_all(duration longest_wait)
    {
        for (std::size_t served = 0; served != all.size(); ++served) {
            auto const holder = [&] {
                return std::ranges::find_if(all, [](auto const& one) { return one->holds(); });
            };
            (void)until([&] { return holder() != all.end(); }, longest_wait);
            BOOST_TEST_REQUIRE((holder() != all.end()));
            (*holder())->release();
        }
    }

    [[nodiscard]] std::optional<world::keyspace::value> on(std::size_t n, std::string const& key)
    {
        auto const& keys = net.at(n).redis.keys().all();
        auto const found = keys.find(key);
        return found == keys.end() ? std::nullopt : std::optional(found->second);
    }
    /// The node where they stand.
    [[nodiscard]] std::size_t where()
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            if (on(n, "seat:redlock-queue"))
                return n;
        BOOST_FAIL("nobody stands in line");
        return 0;
    }
    /// The queue's node for a client that cannot use this node (rule Q17).
    [[nodiscard]] std::size_t node_after(std::size_t first)
    {
        return meeting_node(net, "seat", core::node_set(static_cast<unsigned>(first)));
    }
    void for_all_but(std::size_t one, std::function<void(std::size_t)> const& what)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            if (n != one)
                what(n);
    }
    /// Runs a command of another library, or of an operator.
    void say(std::size_t n, std::vector<std::string> const& words)
    {
        (void)net.at(n).redis.execute(words, net.at(n).wall_us(time.now()));
    }
    /// An unqueued client takes the lock.
    void occupy(std::string const& milliseconds)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            say(n, {"SET", "seat", std::string(32, 'f'), "PX", milliseconds});
    }
    /// That client releases it, on all nodes but this one.
    void vacate_all_but(std::size_t one)
    {
        for_all_but(one, [this](std::size_t n) { say(n, {"DEL", "seat"}); });
    }
    /// From now on the client's messages to the other nodes are delayed.
    void delay_all_but(std::size_t one, unsigned host, duration latency)
    {
        for_all_but(one, [&](std::size_t n) { net.between(host, n).latency = latency; });
    }
    /// Fills the queue with positions of clients that are gone.
    void crowd(std::size_t n)
    {
        for (unsigned i = 0; i != kind::longest_queue; ++i)
            say(n, {"ZADD", "seat:redlock-queue", std::to_string(i + 10), dead_position(i)});
    }
    static std::string dead_position(unsigned i)
    {
        return kind::position(std::string(32, 'a'), kind::waiter_kind::exclusive, 50ms, {},
                              "to:" + std::to_string(i));
    }
    void check_that_no_key_is_left()
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            BOOST_TEST(!on(n, "seat"));
    }

    void say_everywhere(std::vector<std::string> const& words)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            say(n, words);
    }

    void count(std::string_view bytes)
    {
        for (auto at = bytes.find('*'); at != bytes.npos; at = bytes.find("\r\n*", at + 1))
            ++commands;
        if (bytes.find("redlock-queue") != bytes.npos || bytes.find("SUBSCRIBE") != bytes.npos)
            ++line_words;
        tracked = tracked || bytes.find("TRACKING") != bytes.npos;
    }

    world::timeline time;
    world::network net;
    bool tracked = false; ///< a server was asked to tell of keys that are read
    config settings{};
    lock_options options{.fair = true};
    std::size_t commands = 0;
    std::size_t line_words = 0;
    std::vector<std::unique_ptr<contender>> all;
    std::vector<std::unique_ptr<contender>> dead;
};

} // namespace redlock::test
