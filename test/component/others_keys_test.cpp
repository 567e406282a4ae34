// SPDX-License-Identifier: BSL-1.0
#include "component/meeting_node.hpp"
#include "component/simulated_program.hpp"
#include "kit/recorder.hpp"
#include <redlock/mutex.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace redlock::test {

namespace {

/// A waiter behind keys that no client renews.
struct others_keys_fixture : simulated_program {
    others_keys_fixture() { settings.observer = told; }
    void execute(std::size_t node, std::vector<std::string> const& words)
    {
        (void)net.at(node).redis.execute(words, net.at(node).wall_us(time.now()));
    }
    void set_keys(std::chrono::milliseconds length)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            execute(n, {"SET", "lock", "somebody", "PX", std::to_string(length.count())});
    }
    void wait(lock_options const& options)
    {
        locks.emplace(program.make_client(settings));
        wanted.emplace(*locks, "lock", options);
        wanted->acquire([this](boost::system::error_code, lease got) { held = std::move(got); });
    }
    void expect_a_lease_after(core::duration length)
    {
        pass(length - 50ms);
        BOOST_TEST(held.empty());
        pass(100ms);
        BOOST_TEST(held.valid());
    }

    std::shared_ptr<recorder> told = std::make_shared<recorder>();
    std::size_t const first = meeting_node(net, "lock"); ///< the rendezvous node
    std::optional<client> locks{};
    std::optional<mutex> wanted{};
    lease held{};
};

/// Nothing but what it knows makes such a one ask again.
lock_options patient()
{
    lock_options options{.ttl = 2s, .slack = 200ms, .fair = false};
    options.retry.min_delay = options.retry.max_delay = 1h;
    return options;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(other_holders_keys, others_keys_fixture)

/// Pauses grow to the longest one, and last for half of their limit on average.
// rule W2
BOOST_AUTO_TEST_CASE(other_holders_long_keys_are_voted_for_after_pauses)
{
    set_keys(10min);
    wait(
        {.ttl = 2s, .slack = 200ms, .fair = false}); // in the queue it asks for the other nodes' keys instead
    pass(1min);
    constexpr unsigned pauses = 600;
    BOOST_TEST(told->votes.size() > pauses / 2);
    BOOST_TEST(told->votes.size() < 2 * pauses); // mostly at one node
}

/// The release did not reach the node, which reports the key's remaining time.
// rule W2
BOOST_AUTO_TEST_CASE(key_left_only_on_rendezvous_node_is_waited_for)
{
    set_keys(1s);
    wait(patient());
    pass(500ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        if (n != first)
            execute(n, {"DEL", "lock"});
    expect_a_lease_after(500ms);
}

/// The votes there are granted, and released: no reason to vote again at once.
// rule W2
BOOST_AUTO_TEST_CASE(keys_left_on_all_but_rendezvous_node_are_voted_for_after_pauses)
{
    set_keys(10min);
    execute(first, {"DEL", "lock"});
    wait({.ttl = 2s, .slack = 200ms, .fair = false});
    pass(1min);
    BOOST_TEST(told->votes.size() < 3 * 2 * 600U);
    for (std::size_t n = 0; n != net.size(); ++n)
        execute(n, {"DEL", "lock"});
    pass(200ms + 50ms);
    BOOST_TEST(held.valid());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
