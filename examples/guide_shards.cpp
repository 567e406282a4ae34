// SPDX-License-Identifier: BSL-1.0
// The names of locks are distributed over groups of servers, and a group is added while programs hold locks.
// Run: guide_shards. It starts nine Redis servers of its own.
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// A group of servers. All programs give it the same label. The label stays, even if the group's servers change:
/// it decides which names the group has.
struct group {
    std::string label;
    redlock::client* locks = nullptr;
    friend bool operator==(group const&, group const&) = default;
};
using group_list = std::vector<group>;

/// FNV-1a. Unlike `std::hash` it is the same in all programs, with every compiler, and in other languages.
constexpr std::uint64_t stable_hash(std::string_view text)
{
    std::uint64_t hash = 0xcbf29ce484222325;
    for (char const each : text)
        hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
    return hash;
}
static_assert(stable_hash("foobar") == 0x85944171f73967e8);

/// The weight of a name in a group. The last steps are those of MurmurHash3: FNV-1a alone mixes the upper bits badly.
constexpr std::uint64_t weight(std::string_view label, std::string_view name)
{
    std::uint64_t mixed = stable_hash(label) ^ stable_hash(name);
    mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccd;
    mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53;
    return mixed ^ (mixed >> 33);
}

/// Rendezvous hashing: a name belongs to the group in which it has the highest weight. A group that is added takes
/// its share of the names, and no name moves between the other groups.
group const& home(group_list const& groups, std::string_view name)
{
    return *std::ranges::max_element(groups, {}, [name](group const& each) {
        return std::pair(weight(each.label, name), std::string_view(each.label));
    });
}

/// Locks whose names are distributed over groups.
///
/// A list of groups is replaced in two steps: from {old} to {old, new}, and from there to {new}. In the middle step a
/// name that moves is locked in two groups, first in the old one.
///
/// 1. Two programs exclude each other if their steps share a list: both lock a name in its group of that list (T1).
/// 2. Neighbouring steps share a list: {old} and {old, new} share the old one, {old, new} and {new} the new one.
/// 3. A program begins a step only when all programs have completed the one before, so no two holders of a name are
///    more than one step apart.
///
/// No deadlock: a program that holds the name in its new group waits for nothing else.
///
/// Thread safety: the clients' executor only, which must serialise.
class sharded_locks {
public:
    /// One list, or two while names move: the older one first, in all programs.
    using lists = std::vector<group_list>;
    /// The leases of one name: one, or two while it moves. The holder may act while all are `valid()`.
    using leases = std::vector<redlock::lease const*>;

    explicit sharded_locks(lists first) : lists_(std::make_shared<lists const>(std::move(first))) {}

    /// Acquires the name, runs `body(leases)`, releases. If a lease is lost, the body is cancelled. Name and body must
    /// outlive the operation.
    template <class Body>
    asio::awaitable<void> with_lock(std::string_view name, Body& body) const
    {
        auto const in_use = lists_; // step() waits until this is gone
        leases held;
        co_await lock_next(homes(*in_use, name), name, held, body);
    }

    /// Uses other lists from now on. Completes when everything that began before has ended. Call it again when all
    /// programs have completed this step.
    /// \throws std::invalid_argument no list is in both steps, and nothing is changed
    asio::awaitable<void> step(lists next)
    {
        if (std::ranges::find_first_of(*lists_, next) == lists_->end())
            throw std::invalid_argument("neighbouring steps must share a list of groups");
        std::weak_ptr<lists const> const before =
            std::exchange(lists_, std::make_shared<lists const>(std::move(next)));
        asio::steady_timer pause(co_await asio::this_coro::executor);
        while (!before.expired()) {
            pause.expires_after(10ms);
            co_await pause.async_wait(asio::use_awaitable);
        }
    }

private:
    static group_list homes(lists const& all, std::string_view name)
    {
        group_list found;
        for (group_list const& each : all)
            if (group const& one = home(each, name); std::ranges::find(found, one) == found.end())
                found.push_back(one);
        return found;
    }

    template <class Body>
    static asio::awaitable<void> lock_next(group_list const& in, std::string_view name, leases& held,
                                           Body& body)
    {
        auto with_this_one = [&](redlock::lease& lease) -> asio::awaitable<void> {
            held.push_back(&lease);
            if (held.size() == in.size())
                co_await body(std::as_const(held));
            else
                co_await lock_next(in, name, held, body);
        };
        redlock::mutex lock{*in[held.size()].locks, name};
        co_await redlock::with_lock(lock, with_this_one);
    }

    std::shared_ptr<lists const> lists_;
};

/// The servers of three groups.
struct farm {
    example::nodes first{3};
    example::nodes second{3};
    example::nodes third{3};
};

/// A program has a client for each group. In reality it is a process of its own.
struct program {
    program(asio::io_context& context, farm const& servers)
        : first(context, settings(servers.first)), second(context, settings(servers.second)),
          third(context, settings(servers.third))
    {}

    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    static redlock::config settings(example::nodes const& servers)
    {
        return {.nodes = servers.urls, .admission = {.assume_fresh = true}};
    }

    redlock::client first;
    redlock::client second;
    redlock::client third;
    group_list two{{"group-1", &first}, {"group-2", &second}};
    group_list three{{"group-1", &first}, {"group-2", &second}, {"group-3", &third}};
    sharded_locks locks{{two}};
};

bool moves(program const& one, std::string_view name)
{
    return home(one.two, name) != home(one.three, name);
}

asio::awaitable<void> sleep(std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

/// The work of all programs, and how often a name had two holders.
struct shared_work {
    std::map<std::string, int, std::less<>> holders;
    unsigned overlaps = 0;
    unsigned done = 0;
    unsigned done_in_two_groups = 0;
    unsigned invalid = 0;
    bool stop = false;
};

asio::awaitable<void> work(program& one, shared_work& all, unsigned seed)
{
    for (unsigned turn = seed; !all.stop; ++turn) {
        std::string const name = "order:" + std::to_string(turn % 12);
        auto body = [&](sharded_locks::leases const& held) -> asio::awaitable<void> {
            all.overlaps += ++all.holders[name] == 1 ? 0 : 1;
            co_await sleep(1ms);
            all.invalid += std::ranges::all_of(held, &redlock::lease::valid) ? 0 : 1;
            all.done_in_two_groups += held.size() == 2 ? 1 : 0;
            ++all.done;
            --all.holders[name];
        };
        co_await one.locks.with_lock(name, body);
    }
}

/// Names are distributed evenly, and only the new group's share of them moves.
void show_names(program const& one, example::promises& promises)
{
    std::map<std::string, int> two;
    std::map<std::string, int> three;
    bool only_to_the_new_one = true;
    for (int i = 0; i != 9'000; ++i) {
        std::string const name = "order:" + std::to_string(i);
        ++two[home(one.two, name).label];
        ++three[home(one.three, name).label];
        only_to_the_new_one &= !moves(one, name) || home(one.three, name).label == "group-3";
    }
    auto const about = [](int count, int wanted) { return std::abs(count - wanted) < wanted / 10; };
    promises.keep(about(two["group-1"], 4'500) && about(two["group-2"], 4'500),
                  "each of two groups has half");
    promises.keep(about(three["group-3"], 3'000), "a third group takes a third of the names");
    promises.keep(only_to_the_new_one, "no other name moves");
}

/// A name that moves, for the rest of this example.
std::string moving_name(program const& one)
{
    for (int i = 0;; ++i)
        if (std::string name = "moving:" + std::to_string(i); moves(one, name))
            return name;
}

asio::awaitable<bool> is_free(redlock::client& locks, std::string_view name)
{
    redlock::mutex lock{locks, name};
    auto [ec, lease] = co_await lock.try_acquire(asio::as_tuple(asio::use_awaitable));
    if (ec && ec != redlock::errc::contended)
        throw redlock::lock_error(lock.explain(ec));
    co_return !ec;
}

/// The first step. All programs complete it before any program takes the second one.
asio::awaitable<void> first_step(program& one)
{
    sharded_locks::lists const both{one.two, one.three};
    co_await one.locks.step(both);
}

asio::awaitable<void> second_step(program& one)
{
    sharded_locks::lists const new_one{one.three};
    co_await one.locks.step(new_one);
}

/// The mistake: a program that has taken both steps at once.
asio::awaitable<void> show_mistake(program& old, program& hasty, example::promises& promises)
{
    std::string const name = moving_name(old);
    auto body = [&](sharded_locks::leases const& held) -> asio::awaitable<void> {
        bool const second_holder = co_await is_free(*home(hasty.three, name).locks, name);
        promises.keep(second_holder && held[0]->valid(), "without the middle step a name has two holders");
    };
    co_await old.locks.with_lock(name, body);
    bool refused = false;
    try {
        co_await second_step(hasty);
    } catch (std::invalid_argument const&) {
        refused = true;
    }
    promises.keep(refused, "so the class refuses it");
}

/// A step waits for a lease from before, which is in the old group only.
asio::awaitable<void> first_step_with_lease(program& one, example::promises& promises)
{
    bool ended = false;
    auto body = [&](sharded_locks::leases const&) -> asio::awaitable<void> {
        co_await sleep(200ms);
        ended = true;
    };
    std::string const name = moving_name(one);
    asio::co_spawn(co_await asio::this_coro::executor, one.locks.with_lock(name, body), asio::detached);
    co_await sleep(50ms);
    co_await first_step(one);
    promises.keep(ended, "a step completes when the leases from before have ended");
}

/// The two steps. Each program takes a step at another time, and all of them work meanwhile.
asio::awaitable<void> add_group(std::vector<std::unique_ptr<program>>& programs, example::promises& promises)
{
    for (auto& each : programs) {
        co_await first_step_with_lease(*each, promises);
        co_await sleep(100ms);
    }
    std::string const name = moving_name(*programs[0]);
    auto body = [&](sharded_locks::leases const&) -> asio::awaitable<void> {
        program& other = *programs[1];
        promises.keep(!co_await is_free(*home(other.two, name).locks, name),
                      "no program of the old list gets it");
        promises.keep(!co_await is_free(other.third, name), "nor one of the new list");
    };
    co_await programs[0]->locks.with_lock(name, body);
    // All programs have completed the first step.
    for (auto& each : programs) {
        co_await second_step(*each);
        co_await sleep(100ms);
    }
}

asio::awaitable<void> show(std::vector<std::unique_ptr<program>>& programs, shared_work& all,
                           example::promises& promises)
{
    std::unique_ptr<bool, void (*)(bool*)> const stop_at_end{&all.stop, [](bool* stop) { *stop = true; }};
    show_names(*programs[0], promises);
    co_await show_mistake(*programs[0], *programs[1], promises);
    co_await add_group(programs, promises);
}

int main()
{
    farm const servers;
    example::promises promises;
    asio::io_context context;
    std::vector<std::unique_ptr<program>> programs;
    for (int i = 0; i != 3; ++i)
        programs.push_back(std::make_unique<program>(context, servers));

    shared_work all;
    std::vector<std::future<void>> tasks;
    tasks.push_back(asio::co_spawn(context, show(programs, all, promises), asio::use_future));
    for (unsigned i = 0; i != 12; ++i)
        tasks.push_back(asio::co_spawn(context, work(*programs[i % 3], all, i), asio::use_future));
    context.run();
    for (std::future<void>& each : tasks)
        each.get();
    promises.keep(all.overlaps == 0 && all.invalid == 0, "no name had two holders");
    promises.keep(all.done_in_two_groups > 0 && all.done_in_two_groups < all.done,
                  std::to_string(all.done) + " leases, " + std::to_string(all.done_in_two_groups) +
                      " of them in two groups");
    return promises.exit_code();
}
