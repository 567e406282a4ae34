// SPDX-License-Identifier: BSL-1.0
// Queues at the masters of Sentinel groups, whose connections are made again after a silence (docs/protocol.md, rule N8).
#include "component/queue_fixture.hpp"
#include "world/reply.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

namespace redlock::test {

namespace {

namespace reply = world::reply;

/// Each node is also the Sentinel that names it.
struct groups_fixture : queue_fixture {
    groups_fixture()
    {
        settings.nodes.clear();
        settings.admission.trust_replication = true;
        for (std::size_t n = 0; n != net.size(); ++n) {
            std::string const host = net.at(n).address.to_string();
            settings.nodes.push_back("redis+sentinel://" + host + ":" + std::to_string(world::network::port) +
                                     "/g");
            net.at(n).garble = [host](auto, std::string bytes) {
                bool const asked = bytes.starts_with("-ERR unknown command 'SENTINEL'");
                return asked ? "*2\r\n" + reply::bulk(host) +
                                   reply::bulk(std::to_string(world::network::port)) + "*2\r\n" +
                                   reply::bulk("num-slaves") + reply::bulk("0")
                             : bytes;
            };
        }
    }

    std::string name_with_another_queue_node()
    {
        std::string name = "a";
        while (meeting_node(net, name) == meeting_node(net, "seat"))
            ++name.front();
        return name;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(group_queues, groups_fixture)

/// Two operations of a client wait for the lock, one for the other. The first is cancelled when the process goes on after a
/// stop: its departure finds the connection silent, and that event must not take another position for it. Another node has
/// been heard since.
// rules Q12 and N8
BOOST_AUTO_TEST_CASE(departure_that_finds_a_silent_connection_takes_no_other_position)
{
    contender& holder = add();
    holder.acquire(*holder.shared);
    (void)until_granted(holder);
    contender& others_holder = add();
    mutex const other(*others_holder.locks, name_with_another_queue_node());
    others_holder.acquire(other);
    (void)until_granted(others_holder);
    contender& ahead = add();
    ahead.acquire(mutex(*ahead.locks, other.name()));
    pass(100ms);
    contender& both = add();
    both.write();
    pass(100ms);
    both.shared->acquire_shared([](error_code, lease) {});
    mutex(*both.locks, other.name()).acquire([](error_code, lease) {});
    pass(2600ms); // since the connections were checked last, more than the stop lacks to the longest silence
    ahead.stop.emit(asio::cancellation_type::terminal); // a node tells the client that it is the first now
    pass(100ms);
    both.process.pause_until(time.now() + 2700ms);
    asio::post(both.process.context(), [&] { both.stop.emit(asio::cancellation_type::terminal); });
    pass(3s);
    BOOST_TEST((both.ended == error_code(asio::error::operation_aborted)));
    std::size_t positions = 0;
    for (std::size_t n = 0; n != net.size(); ++n)
        if (auto const queue = on(n, "seat:redlock-queue"))
            positions += queue->members.size();
    BOOST_TEST(positions == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
