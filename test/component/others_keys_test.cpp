// SPDX-License-Identifier: BSL-1.0
#include "component/simulated_program.hpp"
#include "core/rendezvous.hpp"
#include "kit/recorder.hpp"
#include <redlock/fenced_mutex.hpp>
#include <redlock/mutex.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace redlock::test {

namespace {

/// Somebody who waits behind keys that nobody renews.
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
    std::size_t const first = core::rendezvous_node(settings.nodes, "", "lock"); ///< where all meet
    std::optional<client> locks{};
    std::optional<mutex> wanted{};
    lease held{};
};

/// Nothing but what it knows makes such a one ask again.
lock_options patient()
{
    lock_options options{.ttl = 2s, .slack = 200ms};
    options.retry.min_delay = options.retry.max_delay = 1h;
    return options;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(other_holders_keys, others_keys_fixture)

/// So long its own would live: then the holder may have died, and somebody else come.
BOOST_AUTO_TEST_CASE(other_holders_long_keys_are_voted_for_once_per_own_key_lifetime)
{
    set_keys(10min);
    wait({.ttl = 2s, .slack = 200ms, .fair = false}); // in line it asks for the other nodes' keys instead
    pass(1min);
    constexpr unsigned times = 30; // 2.2 s each
    BOOST_TEST(told->votes.size() > times / 2);
    BOOST_TEST(told->votes.size() <= 3 * times);
}

/// Its release did not come there.
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

/// Or it came there alone: then word has come, and the lock is not free.
BOOST_AUTO_TEST_CASE(keys_left_on_all_but_rendezvous_node_are_waited_for)
{
    set_keys(1s);
    wait(patient());
    pass(500ms);
    execute(first, {"DEL", "lock"});
    expect_a_lease_after(500ms);
}

/// The script has read the key, and its refusal says whose it is and for how long. The last node answers when that does
/// not matter any more, and is asked again behind the vote's undo.
BOOST_AUTO_TEST_CASE(node_that_denied_fenced_vote_is_not_peeked)
{
    unsigned questions = 0;
    net.between(0, 2).latency = 1ms;
    locks.emplace(program.make_client(settings));
    auto const take = [this](boost::system::error_code, lease got) { held = std::move(got); };
    fenced_mutex fenced(*locks, "lock", patient());
    fenced.acquire(take);
    pass(500ms); // servers tell its holder of the key, from now on
    held = {};
    pass(100ms);
    set_keys(1s);
    for (std::size_t const n : {0U, 1U})
        net.at(n).overhear = [&](world::server::connection_id, std::string_view said) {
            questions += said.find("PTTL") != std::string_view::npos ? 1U : 0U;
        };
    fenced.acquire(take);
    pass(500ms);
    BOOST_TEST(questions == 0U);
    expect_a_lease_after(500ms);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
