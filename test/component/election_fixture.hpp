// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/queue_fixture.hpp"
#include <redlock/election.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// A process with one client, which campaigns for "seat", leads, or observes.
struct participant {
    participant(world::network& net, unsigned host, config settings, lock_options const& options)
        : process(net, host, host + 1)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.between(host, n).latency = one_way;
        locks.emplace(process.make_client(std::move(settings)));
        seat.emplace(*locks, "seat", options);
    }

    void campaign(std::string value)
    {
        ended.reset();
        seat->campaign(std::move(value),
                       asio::bind_cancellation_slot(stop.slot(), [this](error_code ec, leadership won) {
                           ended = ec;
                           held = std::move(won);
                       }));
    }
    void ask()
    {
        asked.reset();
        seat->leader([this](error_code ec, leader_info found) { asked = {ec, std::move(found)}; });
    }
    /// Observes changes from now on, until an operation fails.
    void observe()
    {
        seat->observe(seen,
                      asio::bind_cancellation_slot(look_away.slot(), [this](error_code ec, leader_info now) {
                          observed = ec;
                          if (ec)
                              return;
                          seen = now;
                          told.push_back(std::move(now));
                          observe();
                      }));
    }
    void proclaim(std::string value)
    {
        proclaimed.reset();
        held.proclaim(std::move(value), [this](error_code ec) { proclaimed = ec; });
    }
    void resign()
    {
        resigned.reset();
        held.resign([this](error_code ec) { resigned = ec; });
    }
    [[nodiscard]] bool leads() const { return held.valid(); }

    struct answer {
        error_code ec;
        leader_info found;
    };
    world::process process;
    std::optional<client> locks;
    std::optional<election> seat;
    asio::cancellation_signal stop;
    asio::cancellation_signal look_away;
    std::optional<error_code> ended;
    std::optional<error_code> proclaimed;
    std::optional<error_code> resigned;
    std::optional<error_code> observed; ///< how the last of its observations ended
    std::optional<answer> asked;
    leader_info seen;
    std::vector<leader_info> told;
    leadership held;
};

struct election_fixture {
    election_fixture()
    {
        settings.admission.assume_fresh = true;
        for (std::size_t n = 0; n != net.size(); ++n)
            settings.nodes.push_back(net.url(n));
    }

    participant& add()
    {
        all.push_back(
            std::make_unique<participant>(net, static_cast<unsigned>(all.size()), settings, options));
        return *all.back();
    }
    participant& add_leader(std::string value = "a:1")
    {
        participant& one = add();
        one.campaign(std::move(value));
        (void)until([&] { return one.leads(); });
        return one;
    }
    participant& add_observer()
    {
        participant& one = add();
        one.observe();
        pass(20ms);
        return one;
    }
    leader_info ask(participant& one)
    {
        one.ask();
        (void)until([&] { return one.asked.has_value(); });
        BOOST_TEST(one.asked->ec == error_code());
        return one.asked->found;
    }
    void pass(duration length) { run_all(time, all, length); }
    template <class Condition>
    duration until(Condition met, duration longest = 60s)
    {
        auto const began = time.now();
        while (!met() && time.now() - began < longest)
            pass(100us);
        BOOST_TEST_REQUIRE(met());
        return time.now() - began;
    }
    /// Ends the process; its sent bytes still arrive.
    void kill(participant& one)
    {
        for (std::size_t i = 0; i != all.size(); ++i)
            if (all[i].get() == &one) {
                net.bury(static_cast<unsigned>(i));
                dead.push_back(std::move(all[i]));
            }
        pass(10ms);
    }

    [[nodiscard]] std::optional<world::keyspace::value> on(std::size_t n, std::string const& key)
    {
        auto const& keys = net.at(n).redis.keys().all();
        auto const found = keys.find(key);
        return found == keys.end() ? std::nullopt : std::optional(found->second);
    }
    /// Returns the node's leader announcement.
    [[nodiscard]] std::string proclaimed(std::size_t n)
    {
        auto const found = on(n, "seat:redlock-leader");
        return found ? found->text : std::string();
    }
    [[nodiscard]] std::size_t proclaiming(std::string const& text)
    {
        std::size_t count = 0;
        for (std::size_t n = 0; n != net.size(); ++n)
            count += proclaimed(n) == text ? 1 : 0;
        return count;
    }
    void say(std::size_t n, std::vector<std::string> const& words)
    {
        (void)net.at(n).redis.execute(words, net.at(n).wall_us(time.now()));
    }
    void say_everywhere(std::vector<std::string> const& words)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            say(n, words);
    }

    world::timeline time;
    world::network net{time, 3, 1};
    config settings{};
    lock_options options{};
    std::vector<std::unique_ptr<participant>> all;
    std::vector<std::unique_ptr<participant>> dead;
};

inline std::string announcement_of(leadership const& leader, std::string const& value, unsigned revision = 1)
{
    return std::to_string(leader.term()) + ' ' + std::to_string(revision) + ' ' + value;
}

} // namespace redlock::test
