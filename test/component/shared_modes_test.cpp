// SPDX-License-Identifier: BSL-1.0
// Writers that become readers (docs/protocol.md, rule S12).
#include "component/shared_fixture.hpp"
#include "kit/text.hpp"

#include <cstddef>
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
    /// It has adopted a writer's lease, and no node has confirmed that yet.
    contender& add_adopter()
    {
        contender& one = add_writer();
        std::string const nonce(one.held.nonce());
        one.held.detach();
        contender& adopter = add();
        adopter.held = adopter.shared->adopt(nonce);
        return adopter;
    }
    contender& add_downgraded()
    {
        contender& one = add_writer();
        one.held.downgrade();
        pass(10ms);
        return one;
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

// rules Q20 and S12
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

/// From a majority's answers on, and not from the call.
// rule S12
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

// rule S12
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

// rules S12 and S18
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
    BOOST_CHECK_THROW(lease().downgrade(), lock_error);
}

// rule S12
BOOST_AUTO_TEST_CASE(lease_that_was_downgraded_is_not_left_behind)
{
    contender& one = add_downgraded();
    one.held.detach();
    pass(100ms);
    check_that_no_key_is_left();
}

BOOST_AUTO_TEST_CASE(adopted_lease_is_downgraded)
{
    contender& adopter = add_adopter();
    adopter.held.extend([](error_code) {});
    (void)until_granted(adopter);
    adopter.held.downgrade();
    pass(100ms);
    BOOST_TEST(is_readers(0));
    BOOST_TEST(adopter.holds());
}

BOOST_AUTO_TEST_CASE(adopted_lease_is_downgraded_before_it_is_confirmed)
{
    contender& adopter = add_adopter();
    adopter.held.downgrade();
    BOOST_TEST((until_granted(adopter) <= 100ms));
    pass(options.ttl / 4);
    BOOST_TEST(is_readers(0));
    BOOST_TEST(adopter.holds());
    contender& reader = add_reader();
    BOOST_TEST(reader.holds());
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

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
