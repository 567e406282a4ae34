// SPDX-License-Identifier: BSL-1.0
// The tokens of readers and writers as their clients see them (docs/protocol.md, rule S16), in simulated time.
#include "../examples/fenced_register.hpp"
#include "component/queue_fixture.hpp"
#include "core/fencing.hpp"
#include <redlock/error.hpp>
#include <redlock/inspection.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

static_assert(std::copyable<fenced_shared_mutex>);
static_assert(!std::convertible_to<fenced_shared_mutex, shared_mutex>);
static_assert(!std::convertible_to<shared_mutex, fenced_shared_mutex>);

std::string const fence_key = "seat:redlock-fence";

std::uint64_t number_of(lease const& held)
{
    return held.fencing_token() >> core::hand_off_bits;
}

std::uint64_t hand_offs_of(lease const& held)
{
    return core::hand_offs_of(held.fencing_token());
}

struct fenced_shared_fixture : queue_fixture {
    contender& write(contender& one)
    {
        one.acquire(*one.fenced_shared);
        (void)until_granted(one);
        return one;
    }
    contender& read(contender& one)
    {
        auto readers = one.fenced_shared->shared();
        one.acquire(readers);
        (void)until_granted(one);
        return one;
    }
    contender& add_writer() { return write(add()); }
    contender& add_reader() { return read(add()); }
    /// Releases, and waits for the answer.
    void release(contender& one)
    {
        one.release();
        pass(100ms);
    }
    error_code extend(contender& one)
    {
        error_code said = errc::shut_down;
        one.held.extend([&](error_code ec) { said = ec; });
        pass(100ms);
        return said;
    }
    std::uint64_t fence(std::size_t n)
    {
        auto const found = on(n, fence_key);
        return found ? std::stoull(found->text) : 0;
    }
    void set_fences(std::vector<std::uint64_t> const& numbers)
    {
        for (std::size_t n = 0; n != numbers.size(); ++n)
            say(n, {"SET", fence_key, std::to_string(numbers[n]), "PX", "86400000"});
    }
    /// Beyond all dates.
    std::uint64_t ahead()
    {
        return static_cast<std::uint64_t>(net.at(0).wall_us(time.now()) / 1000 + 60'000);
    }
    /// Markers stand, and for so long that all is remembered since.
    void settle()
    {
        release(add_writer());
        pass(1min);
    }
    std::size_t nodes_at(std::uint64_t number)
    {
        std::size_t there = 0;
        for (std::size_t n = 0; n != net.size(); ++n)
            there += fence(n) == number ? 1 : 0;
        return there;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fenced_shared_mutexes, fenced_shared_fixture)

// rule S16
BOOST_AUTO_TEST_CASE(tokens_follow_the_order_of_grants)
{
    settle();
    contender& writer = add_writer();
    auto const first = writer.held.fencing_token();
    auto const number = number_of(writer.held);
    BOOST_TEST(hand_offs_of(writer.held) == 0U);
    release(writer);
    contender& one = add_reader();
    contender& another = add_reader();
    BOOST_TEST(one.held.fencing_token() > first);
    BOOST_TEST(one.held.fencing_token() == another.held.fencing_token());
    BOOST_TEST(number_of(one.held) == number);
    BOOST_TEST(hand_offs_of(one.held) == core::readers_hand_off);
    auto const of_readers = one.held.fencing_token();
    release(one);
    release(another);
    BOOST_TEST(write(writer).held.fencing_token() > of_readers);
    auto const second = writer.held.fencing_token();
    release(writer);
    BOOST_TEST(read(one).held.fencing_token() > second);
}

// rule S16
BOOST_AUTO_TEST_CASE(first_readers_of_all_have_the_same_token)
{
    contender& one = add_reader();
    contender& another = add_reader();
    BOOST_TEST(one.held.fencing_token() == another.held.fencing_token());
    BOOST_TEST(nodes_at(number_of(one.held)) == 3U);
}

// rule S16
BOOST_AUTO_TEST_CASE(readers_of_one_client_share_token)
{
    contender& one = add();
    std::vector<lease> held(3);
    for (lease& each : held)
        one.fenced_shared->acquire_shared([&each](error_code, lease got) { each = std::move(got); });
    pass(100ms);
    for (lease const& each : held) {
        BOOST_TEST(each.valid());
        BOOST_TEST(each.nonce() == held[0].nonce());
        BOOST_TEST(each.fencing_token() == held[0].fencing_token());
    }
    BOOST_TEST(hand_offs_of(held[0]) == core::readers_hand_off);
    held[0] = {};
    pass(options.ttl);
    BOOST_TEST(held[1].valid());
    BOOST_TEST(held[1].fencing_token() == held[2].fencing_token());
}

// rule S16
BOOST_AUTO_TEST_CASE(reader_takes_greatest_number_and_raises_the_others)
{
    auto const number = ahead();
    set_fences({number + 2, number + 1, number});
    contender& one = add_reader();
    BOOST_TEST(number_of(one.held) == number + 2);
    BOOST_TEST(nodes_at(number_of(one.held)) >= 2U);
    BOOST_TEST((extend(one) == error_code()));
    BOOST_TEST(nodes_at(number_of(one.held)) == 3U);
}

// rule S16
BOOST_AUTO_TEST_CASE(writer_is_above_reader_whose_number_one_node_knew)
{
    auto const number = ahead();
    set_fences({number + 5, number, number});
    contender& reader = add_reader();
    BOOST_TEST(number_of(reader.held) == number + 5);
    auto const token = reader.held.fencing_token();
    release(reader);
    net.kill(0);
    BOOST_TEST(add_writer().held.fencing_token() > token);
}

/// While a writer waits, or has failed to get a majority, its number is on some nodes.
// rule S16
BOOST_AUTO_TEST_CASE(higher_fence_is_no_loss_to_reader)
{
    contender& one = add_reader();
    auto const number = number_of(one.held);
    set_fences({number + 1, number + 1, number + 1});
    BOOST_TEST((extend(one) == error_code()));
    BOOST_TEST(nodes_at(number + 1) == 3U);
    BOOST_TEST(number_of(one.held) == number);
}

// rule S16
BOOST_AUTO_TEST_CASE(higher_fence_is_a_loss_to_writer)
{
    contender& one = add_writer();
    auto const number = number_of(one.held);
    set_fences({number + 1, number + 1, number});
    BOOST_TEST((extend(one) == errc::lease_lost));
    BOOST_TEST(!one.holds());
}

// rule S16
BOOST_AUTO_TEST_CASE(late_reader_is_refused_once_later_writer_was_there)
{
    fenced_register<int> value;
    contender& reader = add_reader();
    auto const token = reader.held.fencing_token();
    BOOST_TEST(value.read(token).has_value());
    contender& writer = add();
    writer.acquire(*writer.fenced_shared);
    reader.held.detach(); // as one that is paused, and whose time is over
    (void)until_granted(writer);
    BOOST_TEST(value.write(writer.held.fencing_token(), 1));
    BOOST_TEST(!value.read(token).has_value());
}

// rule S16
BOOST_AUTO_TEST_CASE(reader_shuts_out_late_writer)
{
    settle();
    fenced_register<int> value;
    contender& writer = add_writer();
    auto const token = writer.held.fencing_token();
    writer.held.detach();
    contender& reader = add_reader();
    BOOST_TEST(value.read(reader.held.fencing_token()).has_value());
    BOOST_TEST(!value.write(token, 1));
    BOOST_TEST(value.read(add_reader().held.fencing_token()).has_value());
}

// rule S16
BOOST_AUTO_TEST_CASE(tokens_go_on_where_nodes_have_lost_their_data)
{
    contender& writer = add_writer();
    auto last = writer.held.fencing_token();
    release(writer);
    for (std::size_t n = 0; n != net.size(); ++n) {
        contender& reader = add_reader();
        BOOST_TEST(reader.held.fencing_token() > last);
        last = reader.held.fencing_token();
        release(reader);
        net.kill(n);
        pass(1s);
        net.start(n);
        pass(2 * (options.ttl + 10s));
        BOOST_TEST(write(writer).held.fencing_token() > last);
        last = writer.held.fencing_token();
        release(writer);
    }
    net.kill(0);
    net.kill(1);
    net.kill(2);
    pass(1s);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.start(n);
    pass(2 * (options.ttl + 10s));
    BOOST_TEST(add_reader().held.fencing_token() > last);
}

/// As with a replica that was behind, or a server with an old file.
// rule S16
BOOST_AUTO_TEST_CASE(reader_is_above_writer_of_which_nodes_have_an_older_fence)
{
    settle();
    contender& writer = add_writer();
    std::vector<world::network::data> old;
    for (std::size_t n = 0; n != net.size(); ++n)
        old.push_back(net.at(n).redis.keys().all());
    release(writer);
    auto const last = write(writer).held.fencing_token();
    release(writer);
    for (std::size_t n = 0; n != net.size(); ++n) {
        net.kill(n);
        old[n].erase("seat");
        net.start(n, old[n]);
    }
    pass(1min);
    contender& reader = add_reader();
    BOOST_TEST(reader.held.fencing_token() > last);
    pass(1min); // its client has placed new markers
    auto const of_readers = add_reader().held.fencing_token();
    pass(1min);
    BOOST_TEST(add_reader().held.fencing_token() == of_readers);
}

/// The reader waits only for its date. If its user answers for nodes that have lost their data, readers begin late
/// enough, too.
// rule S16
BOOST_AUTO_TEST_CASE(date_of_reader_is_after_that_of_forgotten_writer)
{
    contender& writer = add_writer();
    auto const last = writer.held.fencing_token();
    release(writer);
    for (std::size_t n = 0; n != net.size(); ++n) {
        net.kill(n);
        net.start(n);
    }
    BOOST_TEST(add_reader().held.fencing_token() > last);
}

/// The grant may be a late vote of the reader's own, after which other clients have come and gone: a reader's fence
/// does not show that (H5).
// rule S16
BOOST_AUTO_TEST_CASE(node_that_was_not_known_before_the_round_does_not_count)
{
    say(2, {"SET", "seat", std::string(32, 'f'), "PX", "3600000"});
    contender& one = add_reader();
    pass(10ms);
    std::string const nonce(one.held.nonce());
    auto const ends = std::to_string(net.at(2).wall_us(time.now()) / 1000 + 11'000);
    say(2, {"DEL", "seat"});
    say(2, {"ZADD", "seat", ends, nonce});
    say(2, {"PEXPIREAT", "seat", ends});
    say(1, {"DEL", "seat"});
    BOOST_TEST((extend(one) == errc::no_quorum));
    BOOST_TEST((extend(one) == error_code())); // now it is
}

// rules S6 and S16
BOOST_AUTO_TEST_CASE(key_that_is_gone_is_not_set_again)
{
    contender& one = add_writer();
    say(0, {"DEL", "seat"});
    say(1, {"DEL", "seat"});
    BOOST_TEST((extend(one) == errc::lease_lost));
    BOOST_TEST(!on(0, "seat"));
}

// rule S16
BOOST_AUTO_TEST_CASE(writer_is_handed_over_only_below_the_readers_hand_off)
{
    options.handover.batch = 100'000;
    options.handover.period = 1h;
    contender& one = add_writer();
    auto const number = number_of(one.held);
    for (unsigned passed = 1; passed != core::readers_hand_off + 2; ++passed) {
        auto const last = one.held.fencing_token();
        lease before = std::move(one.held);
        one.acquire(*one.fenced_shared);
        pass(1ms);
        before = {};
        (void)until_granted(one);
        BOOST_TEST_REQUIRE(one.held.fencing_token() > last);
        BOOST_TEST_REQUIRE(hand_offs_of(one.held) != core::readers_hand_off);
        if (passed < core::readers_hand_off)
            BOOST_TEST_REQUIRE(one.held.fencing_token() == last + 1);
        if (passed == core::readers_hand_off)
            BOOST_TEST(number_of(one.held) > number);
    }
}

// rule S16
BOOST_AUTO_TEST_CASE(writer_is_adopted_by_token_and_reader_is_not)
{
    contender& one = add_writer();
    std::string const nonce(one.held.nonce());
    auto const token = one.held.fencing_token();
    one.held.detach();
    contender& adopter = add();
    adopter.held = adopter.fenced_shared->adopt(nonce, token);
    BOOST_TEST((extend(adopter) == error_code()));
    BOOST_TEST(adopter.holds());
    BOOST_TEST(adopter.held.fencing_token() == token);
    for (auto const wrong :
         std::array{token | core::readers_hand_off, std::uint64_t{1023}, std::uint64_t{1} << 53U})
        BOOST_CHECK_THROW((void)adopter.fenced_shared->adopt(nonce, wrong), lock_error);
}

/// The readers' token of its own number, from the call on.
// rule S16
BOOST_AUTO_TEST_CASE(downgraded_writer_has_the_readers_hand_off)
{
    settle();
    contender& one = add_writer();
    auto const number = number_of(one.held);
    one.held.downgrade();
    BOOST_TEST(number_of(one.held) == number);
    BOOST_TEST(hand_offs_of(one.held) == core::readers_hand_off);
    contender& reader = add_reader();
    BOOST_TEST(reader.held.fencing_token() == one.held.fencing_token());
    pass(60s);
    BOOST_TEST(one.holds());
    release(reader);
    release(one);
    BOOST_TEST(number_of(add_writer().held) > number);
}

BOOST_AUTO_TEST_CASE(locks_of_other_kinds_are_excluded_and_count)
{
    contender& reader = add_reader();
    auto const last = reader.held.fencing_token();
    contender& other = add();
    other.acquire(*other.fenced);
    pass(1s);
    BOOST_TEST(!other.holds());
    release(reader);
    (void)until_granted(other);
    BOOST_TEST(other.held.fencing_token() > last);
    auto const of_other = other.held.fencing_token();
    release(other);
    BOOST_TEST(read(reader).held.fencing_token() > of_other);
}

BOOST_AUTO_TEST_CASE(fence_is_kept_as_long_as_options_say)
{
    contender& one = add();
    BOOST_CHECK_THROW(fenced_shared_mutex(*one.locks, "seat", options, {.fence_ttl = 1s}), lock_error);
    one.fenced_shared.emplace(*one.locks, "seat", options, fence_options{.fence_ttl = 48h});
    read(one);
    auto const kept = on(0, fence_key)->expires.value_or(0) - net.at(0).wall_us(time.now()) / 1000;
    BOOST_TEST(kept > 47 * 3'600'000);
    BOOST_TEST(kept <= 48 * 3'600'000);
}

BOOST_AUTO_TEST_CASE(inspection_tells_readers_and_their_number)
{
    contender& one = add_reader();
    std::optional<inspection> found;
    one.fenced_shared->inspect([&](error_code, inspection told) { found = std::move(told); });
    pass(100ms);
    BOOST_TEST_REQUIRE(found.has_value());
    BOOST_TEST((found->last_token >> core::hand_off_bits) == number_of(one.held));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
