// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/child_process.hpp"
#include "kit/redis_server.hpp"
#include "kit/reserved_port.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

/// A real Sentinel on loopback, of the binary that the servers are, which watches one master by the name "group".
class sentinel {
public:
    /// \param lines of its configuration, behind those that it needs
    sentinel(std::uint16_t master, std::vector<std::string> const& lines = {},
             tls_files const* tls = nullptr);

    std::uint16_t port() const noexcept { return port_.number(); }
    void kill() { process_.kill(); }
    /// Without TLS, and without a password.
    probe ask() const { return probe(port()); }

private:
    temporary_directory directory_{"redlock-sentinel"};
    reserved_port port_{0};
    child_process process_; // last: it ends before its directory goes
};

/// A master and its replicas, and three Sentinels that know all of them.
class watched_group {
public:
    /// \param arguments of each server
    explicit watched_group(std::size_t servers, std::vector<std::string> const& arguments);

    /// Any server may be the master later.
    server_group members;
    std::vector<std::unique_ptr<sentinel>> sentinels;

    std::string url() const;
    /// As a Sentinel says; the count of members: none of them.
    std::size_t master();
    /// Somebody else's turn: it begins. False: not yet, there was one just now.
    bool fail_over() { return sentinels.front()->ask().command({"SENTINEL", "FAILOVER", "group"}) == "OK"; }
    /// The master has all its replicas again.
    void wait_until_complete();

private:
    static bool knows(probe& sentinel, std::size_t replicas);
};

} // namespace redlock::test
