// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/lone_client.hpp"
#include "component/scripted_node.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace redlock::test {

/// The server lives on a context of its own, so that the client's runs dry when the client comes to rest.
struct separate_node {
    asio::io_context outside;
    scripted_node node{outside};
    asio::io_context context;
    client locks{context.get_executor(), settings_for({node.url()})};

    template <class Condition>
    void run_both(Condition holds)
    {
        auto const limit = std::chrono::steady_clock::now() + patience;
        do {
            outside.poll();
            context.restart();
            context.poll();
        } while (!holds() && std::chrono::steady_clock::now() < limit);
        BOOST_TEST(holds());
    }

    /// The key is another client's for a while: the vote is refused, and the waiter looks at the key.
    void refuse(std::string const& owner = "stranger")
    {
        node.expect("SET", reply(canned::nil))
            .expect("PTTL", reply(":100000\r\n"))
            .expect("GET", reply(bulk(owner)));
    }

    void come_to_rest()
    {
        run_both([this] { return context.stopped(); });
    }
};

} // namespace redlock::test
