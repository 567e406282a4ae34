// SPDX-License-Identifier: BSL-1.0
// What a client keeps of elections that it has no object of (docs/protocol.md, rule EL4).
#include "core/leading.hpp"
#include "engine/told_leaders.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

namespace redlock::test {

using core::leader_version;
using detail::told_leaders;

BOOST_AUTO_TEST_SUITE(told_leaders_of_a_client)

BOOST_AUTO_TEST_CASE(told_version_is_taken_once)
{
    told_leaders kept;
    kept.keep("seat", {4096, 2});
    BOOST_TEST((kept.take("other") == leader_version()));
    BOOST_TEST((kept.take("seat") == leader_version{4096, 2}));
    BOOST_TEST((kept.take("seat") == leader_version()));
    kept.keep("seat", {});
    BOOST_TEST(kept.all().empty());
}

BOOST_AUTO_TEST_CASE(later_version_is_kept_whichever_came_first)
{
    told_leaders kept;
    kept.keep("seat", {4096, 2});
    kept.keep("seat", {4096, 1});
    BOOST_TEST(kept.all().size() == 1U);
    kept.keep("seat", {6144, 1});
    kept.keep("seat", {4096, 3});
    BOOST_TEST((kept.take("seat") == leader_version{6144, 1}));
    BOOST_TEST(kept.all().empty());
}

BOOST_AUTO_TEST_CASE(election_that_was_given_up_first_is_forgotten)
{
    told_leaders kept;
    auto const name = [](std::size_t i) { return "seat" + std::to_string(i); };
    for (std::size_t i = 0; i != told_leaders::most; ++i)
        kept.keep(name(i), {2048, 1});
    kept.keep(name(0), {2048, 1}); // it is the last now
    kept.keep(name(told_leaders::most), {2048, 1});
    BOOST_TEST(kept.all().size() == told_leaders::most);
    BOOST_TEST((kept.take(name(1)) == leader_version()));
    BOOST_TEST((kept.take(name(0)) == leader_version{2048, 1}));
    BOOST_TEST((kept.take(name(2)) == leader_version{2048, 1}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
