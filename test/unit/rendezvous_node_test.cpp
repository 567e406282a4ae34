// SPDX-License-Identifier: BSL-1.0
#include "core/rendezvous.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

using redlock::core::node_set;
using redlock::core::rendezvous_node;

BOOST_AUTO_TEST_SUITE(rendezvous)

/// Clients list the nodes as they like.
// rule W3
BOOST_AUTO_TEST_CASE(rendezvous_node_is_the_same_in_every_node_order)
{
    std::vector<std::string> nodes{"redis://a:6379", "redis://b:6379", "redis://c:6379"};
    std::string const met = nodes[rendezvous_node(nodes, "", "resource")];
    while (std::ranges::next_permutation(nodes).found)
        BOOST_TEST(nodes[rendezvous_node(nodes, "", "resource")] == met);
}

/// Clients whose lists differ use one queue.
// rule Q17
BOOST_AUTO_TEST_CASE(clients_that_do_not_list_a_missing_node_find_the_same_node)
{
    std::vector<std::string> const nodes{"redis://a:6379", "redis://b:6379", "redis://c:6379",
                                         "redis://d:6379"};
    for (int i = 0; i != 100; ++i) {
        std::string const name = std::to_string(i) + " resources";
        unsigned const missing = rendezvous_node(nodes, "", name);
        auto others = nodes;
        others.erase(others.begin() + missing);
        BOOST_TEST(nodes[rendezvous_node(nodes, "", name, node_set(missing))] ==
                   others[rendezvous_node(others, "", name)]);
    }
}

/// Otherwise one node would have all the work.
BOOST_AUTO_TEST_CASE(rendezvous_node_differs_between_locks)
{
    std::vector<std::string> const nodes{"redis://a:6379", "redis://b:6379", "redis://c:6379"};
    std::set<unsigned> met;
    for (int i = 0; i != 100; ++i)
        met.insert(rendezvous_node(nodes, "", std::to_string(i) + " resources"));
    BOOST_TEST(met.size() == nodes.size());
}

/// Names in a row differ in their last characters only.
BOOST_AUTO_TEST_CASE(rendezvous_nodes_are_spread_evenly_over_nodes)
{
    for (std::string const tail : {":6379", ""}) {
        std::vector<std::string> nodes;
        std::map<unsigned, unsigned> met;
        for (int n = 1; n != 4; ++n)
            nodes.push_back("redis://10.0.0." + std::to_string(n) + tail);
        for (int i = 0; i != 900; ++i)
            ++met[rendezvous_node(nodes, "", "seat:" + std::to_string(i))];
        for (unsigned n = 0; n != 3; ++n)
            BOOST_TEST((met[n] > 250 && met[n] < 350), "node " << n << ": " << met[n]);
    }
}

BOOST_AUTO_TEST_SUITE_END()
