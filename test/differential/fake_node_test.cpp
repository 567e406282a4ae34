// The model's node answers as a real server does: what the model shows of it holds for the scripts as they are.
#include "model/dice.hpp"
#include "model/fake_node.hpp"
#include "model/settings.hpp"
#include "redis/scripts.hpp"
#include "support/probe.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace redlock::test {

namespace {

using namespace model;

millis wall_clock()
{
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string text_of(nonce n)
{
    std::string digits = std::to_string(n);
    return std::string(32 - digits.size(), 'a') + digits;
}

std::string text_of_marker(marker m)
{
    return m == 0 ? "" : "marker " + std::to_string(m);
}

/// The same calls go to both. Keys live so long that none expires by itself; the test lets them expire.
class pair_of_nodes {
public:
    explicit pair_of_nodes(std::uint64_t seed) : dice_(seed)
    {
        for (auto const& script :
             {redis::scripts::release, redis::scripts::extend, redis::scripts::fenced_vote,
              redis::scripts::fenced_raise, redis::scripts::fenced_extend})
            BOOST_TEST(probe_.command({"SCRIPT", "LOAD", std::string(script.text)}) == script.sha1);
    }

    void step()
    {
        before_ = wall_clock();
        fake_.clock = before_;
        fenced_call const call = some_call();
        switch (dice_.below(16)) {
        case 0:
        case 1: return compare("SET", ask_vote(call), fake_.vote(call.owner, call.px));
        case 2:
        case 3: return compare("release", ask(redis::scripts::release, call, 0), fake_.release(call.owner));
        case 4:
        case 5:
            return compare("extend", ask(redis::scripts::extend, call, 1), fake_.extend(call.owner, call.px));
        case 6:
        case 7:
        case 8: return compare_vote(call);
        case 9:
        case 10:
            return compare("raise", ask(redis::scripts::fenced_raise, call, 5), fake_.fenced_raise(call));
        case 11:
        case 12:
        case 13:
            return compare("fenced extend", ask(redis::scripts::fenced_extend, call, 5),
                           fake_.fenced_extend(call));
        default: return disturb();
        }
    }

    void compare_expiries()
    {
        near("lock", probe_.pttl("lock"), fake_.lock.exists(), fake_.lock.expires);
        near("fence", probe_.pttl("fence"), fake_.counter.exists(), fake_.counter.expires);
    }

private:
    static constexpr millis tolerance =
        10'000; ///< between our reading of the clock and the server's: a busy machine

    /// Few nonces, few numbers and few markers, so that they meet.
    fenced_call some_call()
    {
        constexpr std::array<millis, 3> times{3'600'000, 7'200'001, 14'400'000};
        fenced_call call{.px = times[dice_.below(3)], .fence_px = 10 * times[dice_.below(3)]};
        call.owner = static_cast<nonce>(1 + dice_.below(3));
        call.expected = dice_.one_in(2) ? 0 : static_cast<marker>(1 + dice_.below(2));
        std::uint64_t const near_counter = fake_.counter.value + 1 + dice_.below(4);
        // No proposal and no token is less than one.
        call.number = std::max<std::uint64_t>(1, dice_.one_in(3) ? dice_.below(8) : near_counter - 1);
        return call;
    }

    std::string ask_vote(fenced_call const& call)
    {
        return probe_.command({"SET", "lock", text_of(call.owner), "NX", "PX", std::to_string(call.px)});
    }

    std::string ask(redis::script const& script, fenced_call const& call, int arguments)
    {
        std::vector<std::string> words{"EVALSHA", std::string(script.sha1)};
        if (arguments == 5)
            words.insert(words.end(), {"3", "lock", "fence", "marker", std::to_string(call.px),
                                       std::to_string(call.fence_px), text_of(call.owner),
                                       std::to_string(call.number), text_of_marker(call.expected)});
        else
            words.insert(words.end(), {"1", "lock", text_of(call.owner)});
        if (arguments == 1)
            words.push_back(std::to_string(call.px));
        return probe_.command(words);
    }

    void compare(char const* what, std::string const& real, reply const& fake)
    {
        std::string expected;
        switch (fake.what) {
        case reply::kind::ok: expected = "OK"; break;
        case reply::kind::nil: expected = "(nil)"; break;
        case reply::kind::number: expected = std::to_string(fake.number); break;
        case reply::kind::stranger: expected = "STRANGER"; break;
        case reply::kind::held: return compare_held(real, fake);
        case reply::kind::error: expected = "an error"; break;
        }
        BOOST_REQUIRE_MESSAGE(real == expected,
                              what << ": the server says " << real << ", the model " << expected);
    }

    void compare_held(std::string const& real, reply const& fake)
    {
        std::istringstream words(real);
        std::string head;
        millis left = 0;
        std::uint64_t counter = 0;
        std::string owner;
        words >> head >> left >> counter >> owner;
        BOOST_REQUIRE_MESSAGE(head == "HELD" && counter == fake.number && owner.size() <= 8 &&
                                  std::abs(left - fake.left) < tolerance,
                              real << " instead of HELD " << fake.left << ' ' << fake.number);
    }

    /// A proposal far in the future is cut at the server's own time, which lies between two readings of ours.
    void compare_vote(fenced_call call)
    {
        if (dice_.one_in(4))
            call.number = 1'000'000'000'000'000;
        // Also a proposal next to an earlier one that was cut: the server's clock may have gone on by a millisecond.
        bool const cut = call.number + tolerance > static_cast<fence>(before_ + call.px / 2);
        std::string const real = ask(redis::scripts::fenced_vote, call, 5);
        reply said = fake_.fenced_vote(call);
        if (cut && said.what == reply::kind::number) {
            fence const latest = static_cast<fence>(wall_clock() + call.px / 2);
            fence const counter = std::stoull(real);
            BOOST_REQUIRE_MESSAGE(counter >= said.number && counter <= std::max(latest, said.number),
                                  real << " is not from " << said.number << " to " << latest);
            fake_.counter.value = said.number = counter;
        }
        compare("fenced vote", real, said);
    }

    void disturb()
    {
        switch (dice_.below(8)) {
        case 0:
        case 1:
        case 2:
            probe_.command({"PEXPIRE", "lock", "0"});
            fake_.lock = {};
            return;
        case 3:
            probe_.command({"PEXPIRE", "fence", "0"});
            fake_.counter = {};
            return;
        case 4:
            if (dice_.one_in(4)) {
                probe_.command({"FLUSHALL"});
                fake_.forget();
            }
            return;
        case 5:
            probe_.command({"DEL", "marker"});
            fake_.mark = 0;
            return;
        default:
            fake_.mark = static_cast<marker>(1 + dice_.below(2));
            probe_.command({"SET", "marker", text_of_marker(fake_.mark)});
        }
    }

    void near(char const* what, long long left, bool exists, millis expires) const
    {
        BOOST_REQUIRE_MESSAGE((left >= 0) == exists, what << " has " << left << " ms left");
        if (exists)
            BOOST_REQUIRE_MESSAGE(std::abs(left - (expires - wall_clock())) < tolerance,
                                  what << " has " << left << " ms left, not " << expires - wall_clock());
    }

    dice dice_;
    redis_server server_;
    probe probe_{server_.port()};
    fake_node fake_;
    millis before_ = 0;
};

} // namespace

/// MODEL_SEED and MODEL_CALLS set the random numbers and how many calls there are.
BOOST_AUTO_TEST_CASE(the_model_of_a_node_answers_as_a_server_does)
{
    std::uint64_t const seed = setting("MODEL_SEED", std::random_device{}());
    std::uint64_t const calls = setting("MODEL_CALLS", 100'000);
    std::cout << calls << " calls, MODEL_SEED=" << seed << std::endl;
    pair_of_nodes nodes(seed);
    for (std::uint64_t i = 0; i != calls; ++i) {
        BOOST_TEST_CONTEXT("call " << i)
        {
            nodes.step();
            if (i % 64 == 0)
                nodes.compare_expiries();
        }
    }
}

/// Here the model has nothing to say: its counters are numbers.
BOOST_AUTO_TEST_CASE(every_script_names_a_fence_that_is_no_number)
{
    redis_server const server;
    probe node(server.port());
    std::string const owner = text_of(1);
    for (auto const& script : {redis::scripts::fenced_vote, redis::scripts::fenced_raise,
                               redis::scripts::fenced_extend, redis::scripts::fenced_adopt})
        for (std::string const value : {"theirs", "", "nan", "inf", "-1", "8796093022208"}) {
            bool const votes = script.sha1 == redis::scripts::fenced_vote.sha1;
            node.command({"SET", "seat:fence", value});
            votes ? node.command({"DEL", "lock"}) : node.command({"SET", "lock", owner});
            BOOST_TEST(node.command({"EVAL", std::string(script.text), "3", "lock", "seat:fence", "marker",
                                     "3600000", "3600000", owner, "7", ""}) ==
                       "-WRONGTYPE the fence is no number that can be counted on from: seat:fence");
            BOOST_TEST((node.get("seat:fence") == value));
            BOOST_TEST(node.exists("lock") == !votes);
        }
}

/// Rule H9: it relies on no token that the node does not have, and leaves none.
BOOST_AUTO_TEST_CASE(an_adoption_changes_nothing_but_the_expiries)
{
    redis_server const server;
    probe node(server.port());
    std::string const owner = text_of(1);
    auto const adopt = [&](std::string const& token) {
        return node.command({"EVAL", std::string(redis::scripts::fenced_adopt.text), "3", "lock", "fence",
                             "marker", "3600000", "7200000", owner, token, ""});
    };
    node.command({"SET", "lock", owner, "PX", "1000000"});
    node.command({"SET", "fence", "7", "PX", "1000000"});
    for (std::string const token : {"6", "8", "8796093022207"}) {
        BOOST_TEST(adopt(token) == "0");
        BOOST_TEST((node.get("fence") == "7"));
        BOOST_TEST(node.pttl("lock") <= 1'000'000);
        BOOST_TEST(node.pttl("fence") <= 1'000'000);
    }
    BOOST_TEST(adopt("7") == "1");
    BOOST_TEST(node.pttl("lock") > 1'000'000);
    BOOST_TEST(node.pttl("fence") > 3'600'000);
    node.command({"DEL", "fence"});
    BOOST_TEST(adopt("7") == "0");
    BOOST_TEST(!node.exists("fence"));
}

} // namespace redlock::test
