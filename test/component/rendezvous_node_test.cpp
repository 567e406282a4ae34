#include "engine/key_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

using redlock::detail::key_index;

BOOST_AUTO_TEST_SUITE(meeting_points)

/// Clients list the nodes as they like.
BOOST_AUTO_TEST_CASE(are_the_same_in_every_order)
{
    key_index all("");
    auto const lock = all.at("resource");
    std::vector<std::string> nodes{"redis://a:6379", "redis://b:6379", "redis://c:6379"};
    std::string const met = nodes[lock->rendezvous_node(nodes)];
    while (std::ranges::next_permutation(nodes).found)
        BOOST_TEST(nodes[lock->rendezvous_node(nodes)] == met);
}

/// Otherwise one node would have all the work.
BOOST_AUTO_TEST_CASE(differ_between_locks)
{
    key_index all("");
    std::vector<std::string> const nodes{"redis://a:6379", "redis://b:6379", "redis://c:6379"};
    std::set<unsigned> met;
    for (int i = 0; i != 100; ++i)
        met.insert(all.at(std::to_string(i) + " resources")->rendezvous_node(nodes));
    BOOST_TEST(met.size() == nodes.size());
}

/// Names in a row differ in their last characters only.
BOOST_AUTO_TEST_CASE(are_spread_over_the_nodes_evenly)
{
    key_index all("");
    for (std::string const tail : {":6379", ""}) {
        std::vector<std::string> nodes;
        std::map<unsigned, unsigned> met;
        for (int n = 1; n != 4; ++n)
            nodes.push_back("redis://10.0.0." + std::to_string(n) + tail);
        for (int i = 0; i != 900; ++i)
            ++met[all.at("seat:" + std::to_string(i))->rendezvous_node(nodes)];
        for (unsigned n = 0; n != 3; ++n)
            BOOST_TEST((met[n] > 250 && met[n] < 350), "node " << n << ": " << met[n]);
    }
}

BOOST_AUTO_TEST_SUITE_END()
