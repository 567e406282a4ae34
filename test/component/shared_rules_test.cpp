// SPDX-License-Identifier: BSL-1.0
// Rules of readers and writers (docs/protocol.md, rules S1 to S15), by the scripts alone: votes, what is taken back, releases
// and marks of a few visitors on simulated servers, without the engine. Who waits asks again; nobody tells him.
#include "kit/dice.hpp"
#include "redis/scripts.hpp"
#include "world/network.hpp"
#include "world/timeline.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;
using core::duration;

namespace {

constexpr auto key_life = 10'000;
constexpr auto mark_life = 400;
constexpr auto turn_length = 20;

/// Which rules hold.
struct rules_in_force {
    bool take_back_leaves_mark = true; ///< S14
    bool readers_get_turn = true;      ///< S15
    bool refused_leave_mark = true;    ///< S4 and S5
};

/// What is looked at from outside: no server tells it.
struct board {
    unsigned readers = 0;
    unsigned writers = 0;
    duration longest_for_writer{};
    duration longest_for_reader{};
    unsigned leases_of_writers = 0;
    unsigned leases_of_readers = 0;
};

/// One who comes again as soon as he has left.
class scripted_visitor {
public:
    scripted_visitor(world::timeline& time, world::network& net, board& what, rules_in_force which,
                     bool writes, unsigned number)
        : time_(time), net_(net), board_(what), rules_(which), writes_(writes), number_(number), dice_(number)
    {}

    void come()
    {
        came_ = time_.now();
        vote();
    }

private:
    using words = std::vector<std::string>;

    void vote()
    {
        nonce_ = std::to_string(++attempts_) + '/' + std::to_string(number_);
        nonce_.resize(32, '.');
        granted_ = answered_ = 0;
        auto const& script = writes_ ? redis::scripts::exclusive_vote : redis::scripts::shared_vote;
        words command{"EVAL", std::string(script.text), "2", "lock", "gate",
                      nonce_, std::to_string(key_life)};
        if (!writes_)
            command.push_back(std::to_string(rules_.readers_get_turn ? turn_length : 1));
        command.push_back(std::to_string(rules_.refused_leave_mark ? mark_life : 1));
        if (writes_)
            command.emplace_back("1");
        everywhere(command, [this](std::string const& said) { answered(said == ":1\r\n"); });
    }
    void answered(bool yes)
    {
        granted_ += yes ? 1 : 0;
        if (++answered_ == net_.size())
            granted_ > net_.size() / 2 ? hold() : lost();
    }
    void hold()
    {
        auto& longest = writes_ ? board_.longest_for_writer : board_.longest_for_reader;
        longest = std::max(longest, time_.now() - came_);
        ++(writes_ ? board_.writers : board_.readers);
        ++(writes_ ? board_.leases_of_writers : board_.leases_of_readers);
        BOOST_TEST((board_.writers == 0 || (board_.writers == 1 && board_.readers == 0)));
        time_.after(dice_.between(1, 10) * 1ms, [this] {
            --(writes_ ? board_.writers : board_.readers);
            give_back(false);
            time_.after(dice_.between(0, 2) * 1ms, [this] { come(); });
        });
    }
    void lost()
    {
        give_back(true);
        time_.after(dice_.between(1, 20) * 1ms, [this] { vote(); });
    }
    void give_back(bool vote)
    {
        bool const marks = vote && writes_ && rules_.take_back_leaves_mark;
        everywhere({"EVAL", std::string(redis::scripts::shared_release.text), "2", "lock", "gate", nonce_,
                    std::to_string(mark_life), marks ? "1" : "0", "1"},
                   [](std::string const&) {});
    }
    template <class Told>
    void everywhere(words const& command, Told told)
    {
        for (std::size_t n = 0; n != net_.size(); ++n) {
            duration const one_way = dice_.between(100, 1500) * 1us;
            time_.after(one_way, [this, n, command, told, one_way] {
                auto& node = net_.at(n);
                auto const said = node.redis.execute(command, node.wall_us(time_.now()));
                time_.after(one_way, [told, said] { told(said); });
            });
        }
    }

    world::timeline& time_;
    world::network& net_;
    board& board_;
    rules_in_force rules_;
    bool writes_;
    unsigned number_;
    test::dice dice_;
    std::string nonce_;
    unsigned attempts_ = 0;
    unsigned granted_ = 0;
    unsigned answered_ = 0;
    duration came_{};
};

board visit(unsigned nodes, unsigned readers, unsigned writers, rules_in_force which = {})
{
    world::timeline time;
    world::network net(time, nodes, 1);
    board seen;
    std::vector<std::unique_ptr<scripted_visitor>> some;
    for (unsigned i = 0; i != readers + writers; ++i) {
        some.push_back(std::make_unique<scripted_visitor>(time, net, seen, which, i < writers, i + 1));
        some.back()->come();
    }
    while (time.step(5s))
        ;
    return seen;
}

/// A phase of readers, or a writer, and what they and who waits need to hear of each other.
constexpr duration a_phase = 60ms;

} // namespace

BOOST_AUTO_TEST_SUITE(shared_rules)

BOOST_AUTO_TEST_CASE(writer_gets_in_between_readers)
{
    for (unsigned const nodes : {1U, 3U, 5U})
        BOOST_TEST_CONTEXT(nodes << " nodes")
        {
            auto const seen = visit(nodes, 12, 1);
            BOOST_TEST(seen.leases_of_writers > 16U);
            BOOST_TEST((seen.longest_for_writer <= 2 * a_phase));
            BOOST_TEST((seen.longest_for_reader <= 4 * a_phase));
        }
}

BOOST_AUTO_TEST_CASE(readers_get_in_between_writers)
{
    for (unsigned const nodes : {1U, 3U, 5U})
        BOOST_TEST_CONTEXT(nodes << " nodes")
        {
            auto const seen = visit(nodes, 2, 4);
            BOOST_TEST(seen.leases_of_readers > 16U);
            BOOST_TEST((seen.longest_for_reader <= 3 * a_phase));
        }
}

/// What the rules are for.
BOOST_AUTO_TEST_CASE(without_marks_writer_never_gets_in)
{
    BOOST_TEST(visit(3, 12, 1, {.refused_leave_mark = false}).leases_of_writers <= 1U);
}

BOOST_AUTO_TEST_CASE(without_turn_readers_wait_for_chance)
{
    BOOST_TEST((visit(3, 2, 4, {.readers_get_turn = false}).longest_for_reader > 10 * a_phase));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
