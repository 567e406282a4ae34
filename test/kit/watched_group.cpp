// SPDX-License-Identifier: BSL-1.0
#include "kit/watched_group.hpp"

#include "kit/patience.hpp"
#include "kit/text.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <source_location>
#include <thread>

namespace redlock::test {
namespace {

redis_server_options with(std::vector<std::string> const& arguments)
{
    redis_server_options options;
    options.arguments = {"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    return options;
}

/// Servers and Sentinels ask each other once a second: who asks them for the result all the time keeps them busy.
template <class Condition>
void wait_seconds_until(Condition holds, std::source_location where = std::source_location::current())
{
    repeat_until(
        holds, [] { std::this_thread::sleep_for(std::chrono::milliseconds{20}); }, where);
}

} // namespace

sentinel::sentinel(std::uint16_t master, std::vector<std::string> const& lines, tls_files const* tls)
{
    std::string const path = directory_.file("sentinel.conf");
    {
        std::ofstream file(path);
        file << "bind 127.0.0.1\ndir " << directory_.path().string() << '\n'
             << (tls ? "port 0\ntls-port " : "port ") << port() << '\n';
        if (tls)
            file << "tls-cert-file " << tls->certificate << "\ntls-key-file " << tls->key
                 << "\ntls-ca-cert-file " << tls->authority << "\ntls-auth-clients no\ntls-replication yes\n";
        file << "sentinel monitor group 127.0.0.1 " << master << " 2\n"
             << "sentinel down-after-milliseconds group 500\n"
             << "sentinel failover-timeout group 2000\n"; // votes that split are repeated after twice that
        for (auto const& line : lines)
            file << line << '\n';
    }
    std::string const log = directory_.file("log");
    process_ = child_process({redis_server::binary(), path, "--sentinel"}, log);
    wait_until([&] { // it listens before it says so
        std::ifstream file(log);
        std::string const said{std::istreambuf_iterator<char>(file), {}};
        return contains(said, "+monitor master group");
    });
}

watched_group::watched_group(std::size_t servers, std::vector<std::string> const& arguments)
    : members(servers, with(arguments))
{
    std::string const first = std::to_string(members[0].port());
    for (std::size_t i = 1; i != servers; ++i)
        members.ask(i).command({"REPLICAOF", "127.0.0.1", first});
    wait_until_complete();
    for (int i = 0; i != 3; ++i)
        sentinels.push_back(std::make_unique<sentinel>(members[0].port()));
    for (auto const& each : sentinels) {
        probe asked = each->ask();
        wait_seconds_until([&] { return knows(asked, servers - 1); });
    }
}

bool watched_group::knows(probe& sentinel, std::size_t replicas)
{
    std::string const state = sentinel.command({"SENTINEL", "MASTER", "group"});
    return contains(state, "num-slaves, " + std::to_string(replicas)) &&
           contains(state, "num-other-sentinels, 2");
}

std::string watched_group::url() const
{
    std::string list;
    for (auto const& each : sentinels)
        list += (list.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(each->port()));
    return "redis+sentinel://" + list + "/group";
}

std::size_t watched_group::master()
{
    std::string const told =
        sentinels.front()->ask().command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "group"});
    std::size_t which = 0;
    while (which != members.size() && !contains(told, std::to_string(members[which].port()) + "]"))
        ++which;
    return which;
}

void watched_group::wait_until_complete()
{
    std::string const replicas = std::to_string(members.size() - 1);
    wait_seconds_until([&] {
        for (std::size_t i = 0; i != members.size(); ++i) {
            if (!members[i].running())
                continue;
            std::string const told = members.ask(i).info("replication");
            bool const counts = contains(told, "min_slaves_good_slaves:");
            if (contains(told, "connected_slaves:" + replicas) &&
                (!counts || contains(told, "min_slaves_good_slaves:" + replicas)))
                return true;
        }
        return false;
    });
}

} // namespace redlock::test
