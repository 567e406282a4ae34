// SPDX-License-Identifier: BSL-1.0
#include "cycle_client.hpp"
#include "options.hpp"
#include "processes.hpp"
#include "raw_client.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace redlock::bench {

namespace {

/// The null responder gives no permits, and calls nobody from a queue. The doors but TCP are rows of the points with three
/// nodes, where the servers have them.
bool is_open(contestant const& each, point const& where, setup const& what)
{
    bool const real = where.servers == "redis";
    if (each.way == door::tcp)
        return real || each.name != "permit";
    if (where.nodes != 3 || !real)
        return false;
    return each.way == door::unix_socket || !what.tls_ports.empty();
}

std::vector<contestant> choose(options const& wanted, point const& where, setup const& what)
{
    std::vector<contestant> all{{"raw", &run_raw}};
    std::ranges::copy(library_contestants(), std::back_inserter(all));
    all.push_back({"raw fenced", &run_raw_fenced});
    all.push_back({"raw unix", &run_raw, door::unix_socket});
    all.push_back({"raw again", &run_raw}); // its ratio to the first is the noise of this run
    std::erase_if(all, [&](contestant const& each) {
        return !wanted.includes(each.name) || !is_open(each, where, what);
    });
    if (all.empty())
        throw std::runtime_error{"no contestant of that name"};
    return all;
}

/// A B C A B C …: neighbours on the machine then disturb all contestants alike.
std::vector<series> measure(std::vector<contestant> const& contestants, options const& wanted, setup what,
                            int cpu)
{
    static unsigned run_number = 0;
    std::vector<series> all;
    for (auto const& each : contestants)
        all.push_back({each.name, {}});
    what.warm_up = wanted.seconds / 4;
    what.window = wanted.seconds;
    auto const limit = 2 * (what.warm_up + what.window) + std::chrono::seconds{20};
    for (unsigned round = 0; round < wanted.rounds; ++round)
        for (std::size_t index = 0; index < contestants.size(); ++index) {
            what.run_number = ++run_number;
            what.way = contestants[index].way;
            auto const run = contestants[index].run;
            all[index].rounds.push_back(measure_in_child(cpu, limit, [&] { return run(what); }));
        }
    return all;
}

bool run_point(point const& where, setup const& what, options const& wanted, placement const& cpus,
               json_lines& json)
{
    auto const all = measure(choose(wanted, where, what), wanted, what, cpus.client_cpu);
    print_point(where, all);
    json.write(where, all);
    return sound(all);
}

bool run_redis_grid(options const& wanted, placement const& cpus, json_lines& json)
{
    auto const points = wanted.redis_points();
    if (points.empty())
        return true;
    print_heading("redis-servers: client us T1, cycles/s T3, p50 us T4 (C=1), server us T5");
    bool good = true;
    std::size_t most = 0;
    for (auto const& each : points)
        most = std::max(most, each.nodes);
    redis_fleet const fleet{most, cpus.server_cpu, redis_fleet::tls::where_it_can_be_had};
    if (fleet.tls_ports().empty())
        std::puts("this redis-server has no TLS: no row for it");
    for (auto const& each : points) {
        auto const ports = fleet.ports().first(each.nodes);
        auto const tls_ports = fleet.tls_ports().first(std::min(each.nodes, fleet.tls_ports().size()));
        setup const what{.ports{ports.begin(), ports.end()},
                         .tls_ports{tls_ports.begin(), tls_ports.end()},
                         .directory = fleet.directory(),
                         .servers = fleet.ids(each.nodes),
                         .concurrency = each.concurrency};
        good = run_point(each, what, wanted, cpus, json) && good;
    }
    return good;
}

bool run_null_grid(options const& wanted, placement const& cpus, json_lines& json)
{
    auto const points = wanted.null_points();
    if (points.empty())
        return true;
    print_heading("null responder, always on the client's CPU: client us T2, allocations T12");
    bool good = true;
    for (auto const& each : points) {
        null_fleet const fleet{each.nodes, cpus.client_cpu};
        setup const what{.ports{fleet.ports().begin(), fleet.ports().end()},
                         .servers = {fleet.id()},
                         .concurrency = each.concurrency};
        good = run_point(each, what, wanted, cpus, json) && good;
    }
    return good;
}

bool run_memory(options const& wanted, placement const& cpus, json_lines& json)
{
    auto const hold = library_lease_holder();
    if (!wanted.table("T11") || hold == nullptr)
        return true;
    bool good = true;
    std::size_t const leases = wanted.quick ? 1000 : 10'000;
    std::printf("\nT11: memory of %zu held, self-renewing leases, beside key and nonce\n", leases);
    for (std::size_t const nodes : {std::size_t{1}, std::size_t{3}}) {
        redis_fleet const fleet{nodes, cpus.server_cpu};
        for (unsigned round = 0; round < std::min(wanted.rounds, 2U); ++round) {
            setup const what{.ports{fleet.ports().begin(), fleet.ports().end()},
                             .servers = {},
                             .concurrency = 64,
                             .run_number = round};
            auto const memory = measure_in_child(cpus.client_cpu, std::chrono::seconds{60},
                                                 [&] { return hold(what, leases); });
            std::printf("N=%zu  heap %.0f B a lease, resident set %.0f B a lease, %llu failed\n", nodes,
                        memory.heap_bytes_per_lease, memory.rss_bytes_per_lease,
                        static_cast<unsigned long long>(memory.failed));
            json.write(memory, nodes, round);
            good = memory.failed == 0 && good;
        }
    }
    return good;
}

} // namespace

} // namespace redlock::bench

int main(int argc, char** argv)
{
    using namespace redlock::bench;
    try {
        auto const wanted = parse_options({argv + 1, argv + argc});
        if (!wanted)
            return 64;
        auto const cpus = choose_cpus();
        std::printf("client on CPU %d, servers on CPU %d, %u rounds of %.2f s, medians; ratios to the first "
                    "contestant, "
                    "round by round\n",
                    cpus.client_cpu, cpus.server_cpu, wanted->rounds, wanted->seconds.count());
        json_lines json{wanted->json};
        bool const redis_good = run_redis_grid(*wanted, cpus, json);
        bool const null_good = run_null_grid(*wanted, cpus, json);
        bool const memory_good = run_memory(*wanted, cpus, json);
        if (redis_good && null_good && memory_good)
            return 0;
        std::fputs("some cycles failed: the figures beside them mean nothing\n", stderr);
        return 1;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
