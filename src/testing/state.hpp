// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/machine.hpp"
#include "world/keyspace.hpp"
#include "world/network.hpp"
#include "world/timeline.hpp"
#include <redlock/lease.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::testing {

/// Clients may be destroyed later than the world, with their context: they share this state.
struct world::state : std::enable_shared_from_this<world::state> {
    class counted;
    struct owned_machine;
    struct sleeper;

    state(boost::asio::io_context& its, std::size_t nodes)
        : context(its), net(time, static_cast<unsigned>(nodes), 1)
    {}

    /// For coroutines that may outlive the world.
    [[nodiscard]] static boost::asio::awaitable<void> sleep(std::shared_ptr<state>,
                                                            std::chrono::milliseconds);
    /// From now on, events of the present moment happen when the context runs.
    void drive_itself();
    /// \throws std::out_of_range
    [[nodiscard]] redlock::world::node& node(std::size_t number);
    [[nodiscard]] std::string execute(std::size_t node, std::vector<std::string> const& words);
    [[nodiscard]] bool can_be_had(std::size_t node);
    [[nodiscard]] std::size_t keys_of(std::string const& key);
    /// Sets the key as votes of an attempt would.
    /// \return how many servers did
    std::size_t grant(std::string const& key, std::string_view nonce, std::uint64_t token,
                      std::chrono::milliseconds ttl);
    /// Removes the key on servers where it has this value.
    void remove(std::string const& key, std::string_view nonce);
    /// Returns the key with this value, on any server.
    [[nodiscard]] std::optional<std::string> find(std::string_view nonce);
    /// Removes a reader, or a semaphore's holder, from keys that others share.
    void remove_share(std::string_view nonce);
    /// Simulates another client that acquired the lock with the next token and released it.
    void overtake(std::string const& key, std::uint64_t token);

    boost::asio::io_context& context;
    redlock::world::timeline time;
    redlock::world::network net;
    std::map<std::size_t, std::map<std::string, redlock::world::keyspace::value>>
        saved;                              ///< killed nodes' data
    std::set<net::machine const*> machines; ///< the machines of its clients
    unsigned hosts = 0;
    std::size_t asleep = 0;  ///< coroutines in sleep()
    std::size_t running = 0; ///< callers that run the context for the test
    bool awake = false;      ///< events that are due now have been posted
};

/// \throws std::logic_error it is empty or released
void expect_no_end(lease const&);

} // namespace redlock::testing
