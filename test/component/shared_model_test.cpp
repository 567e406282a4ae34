// SPDX-License-Identifier: BSL-1.0
// A model of readers and writers (docs/protocol.md, rules S1 to S12): what a client must do with the scripts' answers, with
// late and lost messages, crashes, restarts and clocks that are set forward. The scripts run on simulated servers.
#include "kit/dice.hpp"
#include "redis/scripts.hpp"
#include "world/network.hpp"
#include "world/timeline.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;
using core::duration;

namespace {

constexpr unsigned node_count = 3;
constexpr unsigned majority = 2;
constexpr duration ttl = 100ms;
constexpr duration round_time = 30ms;

struct rules {
    duration slack = 10ms;                ///< D
    duration step = 8ms;                  ///< of a node, forward
    bool quarantine = true;               ///< N4
    bool downgrade_keeps_deadline = true; ///< S12
};

class lease_holder;

/// What a node says of what was asked.
enum class consent { no, yes };

consent read(std::string const& said)
{
    return said == ":1\r\n" ? consent::yes : consent::no;
}

/// The servers, and who holds what.
class shared_world {
public:
    shared_world(std::uint64_t seed, rules which);

    /// Two held it at once, one of them as a writer.
    [[nodiscard]] bool fails();

    world::timeline time;
    test::dice dice;
    rules const rule;

    [[nodiscard]] bool may_ask(std::size_t n) const
    {
        return !rule.quarantine || time.now() >= fresh_until_[n];
    }
    /// May come late, or never; so may the answer. But what one says to a node on one connection comes in order.
    void say(unsigned who, std::size_t n, std::vector<std::string> const& command,
             std::function<void(consent)> told);
    /// What was said to the node before may come after what is said from now on; nobody hears the answers.
    void reconnect(unsigned who, std::size_t n);

private:
    void befall();
    [[nodiscard]] bool clash() const;

    world::network net_{time, node_count, 1};
    std::vector<duration> fresh_until_ = std::vector<duration>(node_count);
    std::vector<unsigned> lives_ = std::vector<unsigned>(node_count);
    std::map<std::pair<unsigned, std::size_t>, duration> heard_; ///< who was heard where last
    std::map<std::pair<unsigned, std::size_t>, unsigned> connections_;
    std::vector<std::unique_ptr<lease_holder>> all_;
};

/// One lease after the other.
class lease_holder {
public:
    lease_holder(shared_world& in, unsigned number) : world_(in), dice_(in.dice.next()), number_(number) {}

    void come()
    {
        mode_ = mode::none;
        downgraded_ = false;
        nonce_ = std::to_string(number_) + '/' + std::to_string(++leases_);
        nonce_.resize(32, '.');
        bool const writes = dice_.one_in(2);
        auto const& vote = writes ? redis::scripts::exclusive_vote : redis::scripts::shared_vote;
        auto const more = writes ? std::vector<std::string>{"40", "1"} : std::vector<std::string>{"5", "40"};
        ask(vote, more, [this, writes] {
            if (yes_ < majority || now() >= deadline_from(asked_))
                return give_up();
            deadline_ = deadline_from(asked_);
            mode_ = writes ? mode::writer : mode::reader;
            go_on();
        });
    }
    [[nodiscard]] bool writes() const { return valid() && mode_ == mode::writer; }
    [[nodiscard]] bool valid() const { return mode_ != mode::none && now() < deadline_; }

private:
    enum class mode { none, reader, writer };

    [[nodiscard]] duration now() const { return world_.time.now(); }
    /// V2.
    [[nodiscard]] static duration deadline_from(duration asked) { return asked + ttl - ttl / 100 - 2ms; }
    [[nodiscard]] std::string life() const { return std::to_string((ttl + world_.rule.slack) / 1ms); }

    void go_on()
    {
        world_.time.after(dice_.between(0, 40) * 1ms, [this] { act(); });
    }
    void act()
    {
        if (!valid())
            return give_up();
        if (dice_.one_in(2))
            world_.reconnect(number_, dice_.below(node_count));
        switch (dice_.below(6)) {
        case 0: return give_up();
        case 1: return come_again(); // it has crashed, and another one comes
        case 2:
            if (mode_ == mode::writer)
                return downgrade();
            [[fallthrough]];
        default: return extend();
        }
    }
    void extend() { renew(downgraded_ ? redis::scripts::downgrade : redis::scripts::shared_extend); }
    void renew(redis::script const& script)
    {
        ask(script, {}, [this] {
            if (yes_ >= majority && valid())
                deadline_ = deadline_from(asked_);
            go_on();
        });
    }
    void downgrade()
    {
        mode_ = mode::reader;
        downgraded_ = true;
        if (!world_.rule.downgrade_keeps_deadline)
            deadline_ = deadline_from(now());
        renew(redis::scripts::downgrade);
    }
    void give_up()
    {
        mode_ = mode::none;
        ++round_;
        for (std::size_t n = 0; n != node_count; ++n)
            world_.say(number_, n, call(redis::scripts::shared_release, {nonce_, "40", "0", "1"}),
                       [](consent) {});
        come_again();
    }
    void come_again()
    {
        mode_ = mode::none;
        world_.time.after(dice_.between(1, 40) * 1ms, [this] { come(); });
    }

    std::vector<std::string> call(redis::script const& script, std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), {"EVAL", std::string(script.text), "2", "lock", "gate"});
        return arguments;
    }
    /// All nodes that may be asked, at once; until all have answered, or their time is over.
    void ask(redis::script const& script, std::vector<std::string> const& more, std::function<void()> then)
    {
        std::vector<std::string> arguments{nonce_, life()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        asked_ = now();
        yes_ = 0;
        auto const round = ++round_;
        auto const answers = std::make_shared<unsigned>(0);
        auto const end = [this, round, then] {
            if (round != round_)
                return;
            ++round_;
            then();
        };
        for (std::size_t n = 0; n != node_count; ++n)
            if (world_.may_ask(n))
                world_.say(number_, n, call(script, arguments), [this, round, answers, end](consent said) {
                    if (round != round_)
                        return;
                    yes_ += said == consent::yes ? 1 : 0;
                    if (++*answers == node_count)
                        end();
                });
        world_.time.after(round_time, end);
    }

    shared_world& world_;
    test::dice dice_;
    unsigned number_;
    unsigned leases_ = 0;
    std::string nonce_;
    mode mode_ = mode::none;
    bool downgraded_ = false;
    duration deadline_{};
    duration asked_{};
    unsigned yes_ = 0;
    unsigned round_ = 0;
};

shared_world::shared_world(std::uint64_t seed, rules which) : dice(seed), rule(which)
{
    for (unsigned i = 0; i != 4; ++i)
        all_.push_back(std::make_unique<lease_holder>(*this, i));
    for (auto const& one : all_)
        one->come();
    befall();
}

void shared_world::say(unsigned who, std::size_t n, std::vector<std::string> const& command,
                       std::function<void(consent)> told)
{
    auto const way = [this] {
        return dice.one_in(12) ? dice.between(0, 250) * 1ms : dice.between(50, 3000) * 1us;
    };
    if (dice.one_in(20))
        return;
    duration& there = heard_[{who, n}];
    there = std::max(there, time.now() + way());
    unsigned const connection = connections_[{who, n}];
    time.at(there, [this, who, connection, n, command, told = std::move(told), back = way(),
                    lost = dice.one_in(20), life = lives_[n]] {
        if (life != lives_[n]) // the connection has ended with it
            return;
        auto& node = net_.at(n);
        consent const said = read(node.redis.execute(command, node.wall_us(time.now())));
        if (!lost)
            time.after(back, [this, who, connection, n, told, said] {
                if (connection == connections_[{who, n}])
                    told(said);
            });
    });
}

void shared_world::reconnect(unsigned who, std::size_t n)
{
    ++connections_[{who, n}];
    heard_.erase({who, n});
}

/// A restart without data, or a clock that is set forward by less than the slack, now and then.
void shared_world::befall()
{
    time.after(dice.between(100, 900) * 1ms, [this] {
        auto const n = dice.below(node_count);
        if (dice.one_in(2)) {
            (void)net_.at(n).redis.execute({"FLUSHALL"}, net_.at(n).wall_us(time.now()));
            ++lives_[n];
            fresh_until_[n] = time.now() + (ttl + rule.slack) * 101 / 100;
        } else if (net_.at(n).clock_ahead == duration{}) {
            net_.at(n).clock_ahead = rule.step;
        }
        befall();
    });
}

bool shared_world::clash() const
{
    auto const valid = std::ranges::count_if(all_, [](auto const& one) { return one->valid(); });
    return valid > 1 && std::ranges::any_of(all_, [](auto const& one) { return one->writes(); });
}

bool shared_world::fails()
{
    while (time.step(4s))
        if (clash())
            return true;
    return false;
}

/// One of so many schedules.
bool one_fails(std::uint64_t schedules, rules which, std::uint64_t first = 1)
{
    for (std::uint64_t seed = first; seed != first + schedules; ++seed)
        if (shared_world(seed, which).fails())
            return true;
    return false;
}

} // namespace

BOOST_AUTO_TEST_SUITE(shared_model)

BOOST_AUTO_TEST_CASE(writer_holds_alone)
{
    BOOST_TEST(!one_fails(40, {}));
    BOOST_TEST(!one_fails(20, {.slack = 50ms, .step = 45ms}));
}

/// What the rules are for.
BOOST_AUTO_TEST_CASE(without_a_rule_two_hold_it)
{
    BOOST_TEST(one_fails(200, {.slack = 0ms, .step = 45ms}, 51));
    BOOST_TEST(one_fails(200, {.quarantine = false}));
    BOOST_TEST(one_fails(200, {.downgrade_keeps_deadline = false}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
