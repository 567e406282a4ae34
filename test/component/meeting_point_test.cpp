#include "lock/resource.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using redlock::lock::resources;

BOOST_AUTO_TEST_SUITE(meeting_points)

/// Clients list the nodes as they like.
BOOST_AUTO_TEST_CASE(are_the_same_in_every_order)
{
    resources all("");
    auto const lock = all.at("resource");
    std::vector<std::string> nodes{"redis://a:6379", "redis://b:6379", "redis://c:6379"};
    std::string const met = nodes[lock->meeting_point(nodes)];
    while (std::ranges::next_permutation(nodes).found)
        BOOST_TEST(nodes[lock->meeting_point(nodes)] == met);
}

/// Otherwise one node would have all the work.
BOOST_AUTO_TEST_CASE(differ_between_locks)
{
    resources all("");
    std::vector<std::string> const nodes{"redis://a:6379", "redis://b:6379", "redis://c:6379"};
    std::set<unsigned> met;
    for (int i = 0; i != 100; ++i)
        met.insert(all.at(std::to_string(i) + " resources")->meeting_point(nodes));
    BOOST_TEST(met.size() == nodes.size());
}

BOOST_AUTO_TEST_SUITE_END()
