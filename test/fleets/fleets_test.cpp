// SPDX-License-Identifier: BSL-1.0
// Fleets of clients in virtual time: how long they wait for each kind of lock, and what that costs.
#include "engine/client_access.hpp"
#include "kit/fleet.hpp"
#include "world/network.hpp"
#include "world/process.hpp"
#include "world/timeline.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

using namespace std::chrono_literals;
using duration = fleet::duration;

constexpr duration shortest_way = 200us;
constexpr duration longest_way = 1100us;

/// A lease, and the hand-over that follows it.
constexpr duration turn = fleet::hold + 3 * 2 * longest_way;

/// A polling waiter may learn so late that it is the first, and let those behind it pass until then.
constexpr duration longest_poll = 200ms + 2 * longest_way;

/// Each waits for one lease of every other client, and besides for one group of readers, or for as many permits as it wants.
duration longest_wait(fleet_load const& load, unsigned clients, bool special)
{
    switch (load.of) {
    case fleet_load::kind::shared_mutex: return (clients + 1) * turn;
    case fleet_load::kind::semaphore: return (clients + (special ? fleet::several_permits : 1)) * turn;
    default: return clients * turn;
    }
}

/// Three servers, and clients that are up to 1.1 ms away from each.
class fleet_world {
public:
    /// \param polling of them, whose connections speak RESP2 (docs/protocol.md, rule Q18)
    fleet_world(fleet_load const& load, unsigned clients, unsigned polling, std::uint64_t seed)
        : net_(time_, 3, seed), fleet_(load, {[this] { return time_.now(); },
                                              [this](duration delay, std::function<void()> what) {
                                                  time_.after(delay, std::move(what));
                                              }})
    {
        config settings;
        settings.admission.assume_fresh = true;
        for (std::size_t n = 0; n != net_.size(); ++n)
            settings.nodes.push_back(net_.url(n));
        config resp2 = settings;
        for (std::string& node : resp2.nodes)
            node += "?protocol=2";
        dice chance(seed);
        for (unsigned host = 0; host != clients; ++host) {
            for (std::size_t n = 0; n != net_.size(); ++n)
                net_.between(host, n).latency =
                    chance.between(shortest_way.count(), longest_way.count()) * 1ns;
            fleet_.add(detail::make_client(context_.get_executor(), host < polling ? resp2 : settings,
                                           std::make_shared<world::sim_machine>(net_, host, chance.next())));
        }
    }
    ~fleet_world() { time_.end(); }
    fleet_world(fleet_world const&) = delete;
    fleet_world& operator=(fleet_world const&) = delete;

    [[nodiscard]] fleet_row run(duration warm_up, duration length)
    {
        pass(warm_up);
        fleet_.count();
        auto const [sent, executed] = commands();
        pass(length);
        fleet_row told = fleet_.row();
        auto const leases = static_cast<double>(fleet_.leases());
        told.figures[fleet_row::sent] = static_cast<double>(commands().first - sent) / leases;
        told.figures[fleet_row::executed] = static_cast<double>(commands().second - executed) / leases;
        BOOST_TEST(fleet_.overlaps() == 0U);
        BOOST_TEST(fleet_.failures() == 0U);
        return told;
    }

private:
    void pass(duration length)
    {
        auto const end = time_.now() + length;
        do
            for (context_.restart(); context_.poll() != 0;)
                ;
        while (time_.step(end));
    }
    /// Returns the numbers of commands that servers received, and that they executed, with those inside scripts.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> commands()
    {
        std::pair<std::uint64_t, std::uint64_t> sum;
        for (std::size_t n = 0; n != net_.size(); ++n) {
            sum.first += net_.at(n).redis.received();
            sum.second += net_.at(n).redis.executed();
        }
        return sum;
    }

    world::timeline time_;
    world::network net_;
    boost::asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
    fleet fleet_;
};

std::string setting(char const* name, char const* otherwise)
{
    char const* const text = std::getenv(name);
    return text ? text : otherwise;
}

} // namespace

BOOST_AUTO_TEST_SUITE(fleets)

BOOST_AUTO_TEST_CASE(number_of_clients_bounds_their_waits)
{
    auto const length = std::chrono::duration_cast<duration>(std::stod(setting("FLEET_SECONDS", "0.3")) * 1s);
    auto const seed = std::stoull(setting("FLEET_SEED", "1"));
    auto const polling = static_cast<unsigned>(std::stoul(setting("FLEET_POLLING", "0")));
    print_fleet_head();
    std::istringstream sizes(setting("FLEET_CLIENTS", "4 12"));
    for (unsigned clients = 0; sizes >> clients;) {
        fleet_row mutex;
        for (fleet_load const& load : fleet_loads) {
            fleet_row row = fleet_world(load, clients, polling, seed).run(clients * turn, length);
            if (load.of == fleet_load::kind::mutex)
                mutex = row;
            row.compare(mutex);
            print_fleet_row(load.name, clients, row);
            for (bool const special : {false, true}) {
                double const longest = row.at(special, fleet_row::longest);
                if (load.bounded)
                    BOOST_TEST(
                        (longest * 1ms < longest_wait(load, clients, special) + polling * longest_poll),
                        clients << " clients, " << load.name << ": " << longest << " ms");
            }
        }
    }
}

/// The other clients wait hardly longer.
// rule Q18
BOOST_AUTO_TEST_CASE(polling_clients_have_a_position_among_others)
{
    for (fleet_load const& load : fleet_loads) {
        fleet_row row = fleet_world(load, 8, 2, 1).run(8 * turn, 300ms);
        for (bool const special : {false, true})
            if (load.bounded)
                BOOST_TEST((row.at(special, fleet_row::longest) * 1ms <
                            longest_wait(load, 8, special) + 2 * longest_poll),
                           load.name);
    }
}

/// An office is also announced.
BOOST_AUTO_TEST_CASE(client_alone_waits_for_one_round)
{
    double round = 0;
    for (fleet_load const& load : fleet_loads) {
        fleet_row row = fleet_world(load, 1, 0, 1).run(turn, 200ms);
        if (load.of == fleet_load::kind::mutex)
            round = row.at(false, fleet_row::p50);
        bool const two = load.of == fleet_load::kind::election;
        for (bool const special : {false, true})
            BOOST_TEST(row.at(special, fleet_row::p50) < (two ? 2.5 : 1.5) * round, load.name);
    }
}

BOOST_AUTO_TEST_CASE(fleet_does_the_same_again)
{
    auto const again = [] { return fleet_world(fleet_loads[3], 4, 0, 7).run(100ms, 200ms).figures; };
    BOOST_TEST((again() == again()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
