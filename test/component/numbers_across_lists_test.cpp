// SPDX-License-Identifier: BSL-1.0
#include "component/wish_fixture.hpp"
#include <redlock/fenced_mutex.hpp>

#include <cstdint>
#include <optional>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A client whose list of nodes changes, though its servers stay; then these lose their fences, and its clock goes back.
struct next_list_fixture : wish_fixture {
    contender& one = add();
    fenced_mutex const lock{*one.locks, "seat", options};
    std::optional<error_code> changed;

    void change_nodes()
    {
        one.locks->change_nodes(settings.nodes, [this](error_code ec) { changed = ec; });
        pass(10ms);
    }
    std::uint64_t token()
    {
        auto const got = want(lock);
        BOOST_TEST_REQUIRE(got->held.valid());
        return got->held.fencing_token();
    }
    void lose_numbers()
    {
        pass(100ms);
        BOOST_TEST((changed == error_code()));
        say_everywhere({"DEL", "seat:redlock-fence"});
        one.process.machine().set_wall_clock(-1h);
    }
};

} // namespace

/// Numbers that this client alone remembers are kept (rules F3 and N9).
BOOST_FIXTURE_TEST_SUITE(numbers_across_lists, next_list_fixture)

BOOST_AUTO_TEST_CASE(token_is_above_those_of_the_former_list)
{
    auto const before = token();
    pass(100ms);
    change_nodes();
    lose_numbers();
    BOOST_TEST(token() > before);
}

/// The operation is one of the former list, and its lease ends after the change.
// rule N9
BOOST_AUTO_TEST_CASE(token_is_above_those_that_the_former_list_gave_after_the_change)
{
    occupy("60000");
    auto const last = want(lock);
    change_nodes();
    BOOST_TEST(!changed.has_value());
    say_everywhere({"DEL", "seat"});
    pass(2s);
    BOOST_TEST_REQUIRE(last->held.valid());
    auto const before = last->held.fencing_token();
    last->held = {};
    lose_numbers();
    BOOST_TEST(token() > before);
}

BOOST_AUTO_TEST_SUITE_END()
