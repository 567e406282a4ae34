// SPDX-License-Identifier: BSL-1.0
// Writers that become readers, and readers that become writers (docs/protocol.md, rules S7, S8, S12 and S13).
#include "component/shared_fixture.hpp"
#include "kit/text.hpp"
#include <redlock/node_outcome.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

struct modes_fixture : shared_fixture {
    contender& add_writer()
    {
        contender& one = add();
        one.write();
        (void)until_granted(one);
        return one;
    }
    contender& add_downgraded()
    {
        contender& one = add_writer();
        one.held.downgrade();
        pass(10ms);
        return one;
    }
    /// The last node has not answered.
    contender& add_silently_downgraded()
    {
        settings.health.response_timeout = 1s;
        contender& one = add_writer();
        net.at(2).garble = [](auto, std::string const&) { return std::string(); };
        one.held.downgrade();
        pass(1500ms); // the connection is given up
        net.at(2).garble = {};
        pass(5s);
        BOOST_TEST(one.held.votes() == net.size());
        BOOST_TEST(is_readers(2));
        return one;
    }
    /// What its upgrade comes to.
    std::optional<error_code> upgrade(contender& one, duration wait = 100ms)
    {
        std::optional<error_code> result;
        one.held.try_upgrade([&](error_code ec) { result = ec; });
        pass(wait);
        return result;
    }
    void add_member(std::size_t node)
    {
        auto const ends = net.at(node).wall_us(time.now()) / 1000 + 3'600'000;
        say(node, {"ZADD", "seat", std::to_string(ends), std::string(32, 'f')});
        say(node, {"PEXPIREAT", "seat", std::to_string(ends)});
    }
    bool is_writers(std::size_t node)
    {
        auto const found = on(node, "seat");
        return found && found->is == world::keyspace::type::string;
    }
    bool is_readers(std::size_t node) { return members(node) != 0; }
};

bool is_wrong_mode(lock_error const& e)
{
    return e.code() == errc::wrong_mode;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(shared_modes, modes_fixture)

BOOST_AUTO_TEST_CASE(downgrade_lets_readers_in_and_keeps_writers_out)
{
    contender& one = add_writer();
    contender& reader = add();
    reader.read();
    pass(1s);
    BOOST_TEST(!reader.holds());
    one.held.downgrade();
    BOOST_TEST(one.held.shared());
    BOOST_TEST((until_granted(reader) <= hand_over));
    BOOST_TEST(one.holds());
    contender& writer = add();
    writer.write();
    pass(20s);
    BOOST_TEST(!writer.holds());
    one.release();
    reader.release();
    BOOST_TEST((until_granted(writer) <= hand_over));
}

BOOST_AUTO_TEST_CASE(downgraded_lease_is_renewed_and_given_back)
{
    contender& one = add_downgraded();
    pass(60s);
    BOOST_TEST(one.holds());
    BOOST_TEST(members(0) == 1U);
    one.release();
    pass(100ms);
    check_that_no_key_is_left();
}

/// S12: from a majority's answers on, and not from the call.
BOOST_AUTO_TEST_CASE(downgrade_that_nobody_confirms_keeps_the_deadline)
{
    contender& one = add_writer();
    pass(1s);
    auto const before = one.held.expires_at();
    net.kill(0);
    net.kill(1);
    one.held.downgrade();
    pass(100ms);
    BOOST_TEST((one.held.expires_at() <= before + 1ms));
    pass(options.ttl);
    BOOST_TEST(!one.holds());
}

BOOST_AUTO_TEST_CASE(node_that_missed_the_downgrade_follows_with_a_renewal)
{
    contender& one = add_writer();
    net.between(0, 2).cut_there_until = time.now() + 1s;
    one.held.downgrade();
    pass(100ms);
    BOOST_TEST(is_readers(0));
    BOOST_TEST(is_writers(2));
    pass(options.ttl / 2);
    BOOST_TEST(is_readers(2));
    BOOST_TEST(one.holds());
}

/// S18.
BOOST_AUTO_TEST_CASE(downgrade_lets_readers_of_its_client_in)
{
    contender& one = add_writer();
    std::vector<lease> held(3);
    for (lease& each : held)
        one.shared->acquire_shared([&each](error_code, lease got) { each = std::move(got); });
    lease writes;
    one.shared->acquire([&](error_code, lease got) { writes = std::move(got); });
    pass(10ms);
    one.held.downgrade();
    pass(100ms);
    BOOST_TEST(all_valid(held));
    BOOST_TEST(one.holds());
    BOOST_TEST(!writes.valid());
    held.clear();
    one.release();
    BOOST_TEST((until([&] { return writes.valid(); }) <= hand_over));
}

BOOST_AUTO_TEST_CASE(only_a_writer_is_downgraded)
{
    contender& one = add_downgraded();
    BOOST_CHECK_EXCEPTION(one.held.downgrade(), lock_error, is_wrong_mode);
    one.release();
    pass(100ms);
    contender& reader = add_reader();
    BOOST_CHECK_EXCEPTION(reader.held.downgrade(), lock_error, is_wrong_mode);
    reader.release();
    contender& plain = add();
    plain.acquire();
    (void)until_granted(plain);
    BOOST_CHECK_EXCEPTION(plain.held.downgrade(), lock_error, is_wrong_mode);
    BOOST_TEST(!plain.held.shared());
    BOOST_TEST((upgrade(plain) == error_code(errc::wrong_mode)));
    BOOST_CHECK_THROW(lease().downgrade(), lock_error);
}

BOOST_AUTO_TEST_CASE(only_reader_becomes_a_writer)
{
    contender& one = add_reader();
    pass(2s);
    BOOST_TEST((upgrade(one) == error_code()));
    BOOST_TEST(!one.held.shared());
    BOOST_TEST((one.held.remaining() > options.ttl - 500ms));
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(is_writers(n));
    contender& reader = add();
    contender& plain = add();
    reader.read();
    plain.acquire();
    pass(60s);
    BOOST_TEST(one.holds());
    BOOST_TEST(!reader.holds());
    BOOST_TEST(!plain.holds());
    BOOST_TEST((upgrade(one) == error_code(errc::wrong_mode)));
    plain.stop.emit(asio::cancellation_type::terminal);
    one.release();
    BOOST_TEST((until_granted(reader) <= hand_over));
    reader.release();
    pass(100ms);
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(modes_change_again_and_again)
{
    contender& one = add_writer();
    for (int i = 0; i != 5; ++i) {
        one.held.downgrade();
        BOOST_TEST((upgrade(one) == error_code()));
        BOOST_TEST(is_writers(0));
        pass(5s);
    }
    BOOST_TEST(one.holds());
    one.release();
    pass(100ms);
    check_that_no_key_is_left();
}

/// S8: both stay what they are.
BOOST_AUTO_TEST_CASE(readers_that_are_not_alone_are_not_upgraded)
{
    contender& one = add_reader();
    contender& other = add_reader();
    std::optional<error_code> first;
    std::optional<error_code> second;
    one.held.try_upgrade([&](error_code ec) { first = ec; });
    other.held.try_upgrade([&](error_code ec) { second = ec; });
    pass(100ms);
    BOOST_TEST((first == error_code(errc::contended)));
    BOOST_TEST((second == error_code(errc::contended)));
    auto const why = one.held.explain(*first);
    BOOST_TEST(contains(why.what(), "lock \"seat\": contended: 0 of 3 granted"), why.what());
    BOOST_TEST(contains(why.what(), "held by readers"), why.what());
    BOOST_TEST(why.outcomes().size() == net.size());
    pass(30s);
    BOOST_TEST(one.holds());
    BOOST_TEST(other.holds());
    BOOST_TEST(one.held.shared());
    BOOST_TEST(members(0) == 2U);
    other.release();
    pass(100ms);
    BOOST_TEST((upgrade(one) == error_code()));
}

BOOST_AUTO_TEST_CASE(readers_of_one_client_are_not_alone)
{
    contender& one = add();
    auto held = read_often(one, 2);
    std::size_t const before = commands;
    std::optional<error_code> result;
    held[1].try_upgrade([&](error_code ec) { result = ec; });
    pass(1ms);
    BOOST_TEST((result == error_code(errc::contended)));
    BOOST_TEST(held[1].explain(*result).outcomes().empty()); // of no attempt
    BOOST_TEST(commands == before);
    held.erase(held.begin());
    held[0].try_upgrade([&](error_code ec) { result = ec; });
    pass(100ms);
    BOOST_TEST((result == error_code()));
    BOOST_TEST(!held[0].shared());
}

/// S18: who comes meanwhile asks the nodes, behind the upgrade.
BOOST_AUTO_TEST_CASE(nobody_joins_a_reader_that_is_being_upgraded)
{
    contender& one = add_reader();
    lease late;
    std::optional<error_code> result;
    one.held.try_upgrade([&](error_code ec) { result = ec; });
    one.shared->acquire_shared([&](error_code, lease got) { late = std::move(got); });
    pass(1s);
    BOOST_TEST((result == error_code()));
    BOOST_TEST(!late.valid());
    one.release();
    BOOST_TEST((until([&] { return late.valid(); }) <= hand_over));
}

/// S13.
BOOST_AUTO_TEST_CASE(upgrade_in_vain_is_turned_back)
{
    contender& one = add_reader();
    add_member(0);
    add_member(1);
    BOOST_TEST((upgrade(one) == error_code(errc::contended)));
    BOOST_TEST(is_readers(2));
    BOOST_TEST(one.holds());
    contender& reader = add();
    reader.read();
    BOOST_TEST((until_granted(reader) <= hand_over));
}

BOOST_AUTO_TEST_CASE(upgrade_without_a_majority_leaves_a_reader)
{
    contender& one = add_reader();
    net.kill(0);
    net.kill(1);
    BOOST_TEST((upgrade(one, 1s) == error_code(errc::no_quorum)));
    BOOST_TEST(one.held.shared());
    BOOST_TEST(one.holds());
}

/// S13: others may have come and left since.
BOOST_AUTO_TEST_CASE(upgrade_that_is_answered_after_the_deadline_is_none)
{
    options.ttl = 3s;
    options.renew = false;
    options.node_timeout = 1s;
    contender& one = add_reader();
    pass(2500ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.between(0, n).cut_back_until = time.now() + 700ms;
    BOOST_TEST((upgrade(one, 2s) == error_code(errc::lease_lost)));
    BOOST_TEST(!one.holds());
    BOOST_TEST(one.held.shared());
    one.release();
    pass(100ms);
    check_that_no_key_is_left();
}

/// S7: a node where it is still a reader keeps no readers out.
BOOST_AUTO_TEST_CASE(upgraded_lease_relies_on_no_node_where_it_is_a_reader)
{
    contender& one = add_reader();
    add_member(2);
    BOOST_TEST((upgrade(one) == error_code()));
    pass(1s);
    BOOST_TEST(members(2) == 2U);
    net.kill(1);
    pass(options.ttl + 1s);
    BOOST_TEST(!one.holds());
}

/// S8: a downgrade that comes late lets readers in.
BOOST_AUTO_TEST_CASE(node_that_has_not_answered_a_downgrade_does_not_count_for_an_upgrade)
{
    contender& one = add_silently_downgraded();
    net.kill(1);
    BOOST_TEST((upgrade(one, 1s) == error_code(errc::no_quorum)));
    BOOST_TEST(one.held.shared());
    BOOST_TEST(is_readers(2));
}

/// Nor for what has been upgraded without it, where the downgrade has yet to come.
BOOST_AUTO_TEST_CASE(node_that_has_not_answered_a_downgrade_renews_no_writer)
{
    contender& one = add_silently_downgraded();
    BOOST_TEST((upgrade(one) == error_code()));
    say(2, {"SET", "seat", std::string(one.held.nonce()), "PX", "600000"});
    net.kill(1);
    pass(options.ttl + 1s);
    BOOST_TEST(!one.holds());
}

BOOST_AUTO_TEST_CASE(upgrade_without_quorum_says_which_nodes_are_gone)
{
    contender& one = add_reader();
    net.kill(0);
    net.kill(1);
    auto const result = upgrade(one, 3s);
    BOOST_TEST_REQUIRE((result == error_code(errc::no_quorum)));
    auto const rows = one.held.explain(*result).outcomes();
    BOOST_TEST(std::ranges::count(rows, node_result::unreachable, &node_outcome::result) == 2);
}

BOOST_AUTO_TEST_CASE(release_ends_an_upgrade)
{
    contender& one = add_reader();
    std::optional<error_code> result;
    one.held.try_upgrade([&](error_code ec) { result = ec; });
    one.release();
    pass(100ms);
    BOOST_TEST((result == error_code(errc::released)));
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(shutdown_ends_an_upgrade)
{
    contender& one = add_reader();
    std::optional<error_code> result;
    one.held.try_upgrade([&](error_code ec) { result = ec; });
    one.locks->shutdown([](error_code) {});
    pass(100ms);
    BOOST_TEST((result == error_code(errc::shut_down)));
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(extension_during_an_upgrade_is_the_upgrade)
{
    contender& one = add_reader();
    pass(2s);
    std::optional<error_code> extended;
    one.held.try_upgrade([](error_code) {});
    one.held.extend([&](error_code ec) { extended = ec; });
    pass(100ms);
    BOOST_TEST((extended == error_code()));
    BOOST_TEST(is_writers(0));
    add_member(0);
    one.held.downgrade();
    pass(100ms);
    extended.reset();
    contender& other = add_reader();
    one.held.try_upgrade([](error_code) {});
    one.held.extend([&](error_code ec) { extended = ec; });
    pass(100ms);
    BOOST_TEST((extended == error_code()));
    BOOST_TEST(other.holds());
}

BOOST_AUTO_TEST_CASE(renewal_waits_for_an_upgrade)
{
    options.ttl = 3s;
    options.node_timeout = 900ms;
    contender& one = add_reader();
    pass(800ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.between(0, n).cut_back_until = time.now() + 700ms;
    BOOST_TEST((upgrade(one, 800ms) == error_code()));
    BOOST_TEST(is_writers(0));
    BOOST_TEST(!one.held.shared());
}

BOOST_AUTO_TEST_CASE(upgrade_goes_on_when_nobody_waits_for_it)
{
    contender& one = add_reader();
    asio::cancellation_signal stop;
    std::optional<error_code> result;
    one.held.try_upgrade(asio::bind_cancellation_slot(stop.slot(), [&](error_code ec) { result = ec; }));
    stop.emit(asio::cancellation_type::total);
    pass(100ms);
    BOOST_TEST((result == error_code(asio::error::operation_aborted)));
    BOOST_TEST(!one.held.shared());
}

/// Nobody can go on with it.
BOOST_AUTO_TEST_CASE(lease_that_was_downgraded_is_not_left_behind)
{
    contender& one = add_downgraded();
    one.held.detach();
    pass(100ms);
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(adopted_lease_is_downgraded_and_not_upgraded)
{
    contender& one = add_writer();
    std::string const nonce(one.held.nonce());
    one.held.detach();
    contender& heir = add();
    heir.held = heir.shared->adopt(nonce);
    heir.held.extend([](error_code) {});
    (void)until_granted(heir);
    heir.held.downgrade();
    pass(100ms);
    BOOST_TEST(is_readers(0));
    BOOST_TEST((upgrade(heir) == error_code(errc::wrong_mode)));
    BOOST_TEST(heir.holds());
}

/// The one that leads is gone; what it knew of its keys is not.
BOOST_AUTO_TEST_CASE(reader_that_takes_the_lead_goes_on_with_the_downgrade)
{
    contender& one = add_writer();
    lease joined;
    one.held.downgrade();
    one.shared->acquire_shared([&](error_code, lease got) { joined = std::move(got); });
    pass(10ms);
    BOOST_TEST_REQUIRE(joined.valid());
    say(2, {"SET", "seat", std::string(joined.nonce()), "PX", "10000"}); // as if it had missed it
    one.release();
    pass(options.ttl / 2);
    BOOST_TEST(is_readers(2));
    BOOST_TEST(joined.valid());
    joined = {};
    pass(100ms);
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(lost_upgraded_lease_leaves_no_key)
{
    options.ttl = 3s;
    contender& one = add_reader();
    BOOST_TEST((upgrade(one) == error_code()));
    say(0, {"DEL", "seat"});
    say(1, {"DEL", "seat"});
    one.held.extend([](error_code) {});
    pass(100ms);
    BOOST_TEST(!one.holds());
    one.release();
    pass(100ms);
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
