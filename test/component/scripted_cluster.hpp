// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/lone_client.hpp"
#include "component/scripted_node.hpp"

#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

/// Three scripted servers and one client, on one context.
struct scripted_cluster {
    asio::io_context context;
    std::vector<std::unique_ptr<scripted_node>> nodes;
    std::optional<client> locks;

    scripted_cluster()
    {
        for (int i = 0; i != 3; ++i)
            nodes.push_back(std::make_unique<scripted_node>(context));
        connect_with(defaults());
    }

    [[nodiscard]] config defaults() const
    {
        std::vector<std::string> urls;
        for (auto const& node : nodes)
            urls.push_back(node->url());
        return settings_for(urls);
    }
    /// Replaces the present client by another one.
    void connect_with(config const& with) { locks.emplace(context.get_executor(), with); }
    void connect_with(std::shared_ptr<observer> watcher)
    {
        config with = defaults();
        with.observer = std::move(watcher);
        connect_with(with);
    }

    scripted_node& operator[](std::size_t i) { return *nodes[i]; }

    void expect_everywhere(std::string const& command, answer const& a)
    {
        for (auto const& node : nodes)
            node->expect(command, a);
    }

    /// Not renewed: a scripted server has no answer to a holder's renewals.
    [[nodiscard]] mutex lock(std::string name = "resource", lock_options options = unrenewed)
    {
        return {*locks, std::move(name), options};
    }

    outcome_ptr try_acquire(any_lock lock)
    {
        auto result = std::make_shared<outcome>();
        lock.try_acquire(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        return result;
    }

    error_code extend(lease& held)
    {
        auto const result = std::make_shared<outcome>();
        held.extend(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        return result->ec;
    }

    error_code release(lease& held)
    {
        auto const result = std::make_shared<outcome>();
        held.release(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        return result->ec;
    }

    /// Connections stand, every connection has seen the release script work, and every server has heard the same:
    /// two votes, the script as text and by its hash.
    void warm_up()
    {
        for (std::size_t round = 1; round != 3; ++round) {
            auto const got = try_acquire(lock("warm-up"));
            run_until(context,
                      [&] { return got->granted.votes() == 3; }); // all replies up to here have been read
            release(got->granted);
            run_until_heard(2 * round);
        }
    }

    template <class Condition>
    void run_until_each(Condition met)
    {
        run_until(context,
                  [&] { return std::ranges::all_of(nodes, [&](auto const& n) { return met(*n); }); });
    }
    /// Nothing of any script is left.
    void run_until_all_is_said()
    {
        run_until_each([](auto const& n) { return n.done(); });
    }
    /// Every server has heard this many votes and scripts.
    void run_until_heard(std::size_t count)
    {
        run_until_each(
            [&](auto const& n) { return n.count("SET") + n.count("EVAL") + n.count("EVALSHA") == count; });
    }
    /// Nothing is left to do at once.
    void come_to_rest()
    {
        context.restart();
        while (context.poll() != 0)
            ;
    }

    /// Longer than a connection counts as surely alive.
    void be_idle()
    {
        bool over = false;
        asio::steady_timer timer(context, 30ms);
        timer.async_wait([&](error_code) { over = true; });
        run_until(context, [&] { return over; });
    }

    [[nodiscard]] bool surprised() const
    {
        return std::ranges::any_of(nodes, [](auto const& n) { return !n->surprises().empty(); });
    }
};

} // namespace redlock::test
