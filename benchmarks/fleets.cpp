// SPDX-License-Identifier: BSL-1.0
// Fleets of clients that all want one lock, for each kind of lock: what they wait, and what that costs.
#include "field.hpp"
#include "kit/fleet.hpp"
#include "library.hpp"
#include "options.hpp"
#include "tables.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace redlock::bench {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using test::fleet;
using test::fleet_load;
using test::fleet_row;

constexpr char usage[] =
    "options: --quick   --json FILE   --clients 4,20,60,200   --loads mutex,\"half write\"\n"
    "         --seconds 5   --rounds 3   --delay-us 450 (0: no network)\n";

struct wishes {
    std::vector<unsigned> clients{4, 20, 60, 200};
    std::vector<std::string> loads;
    fleet::duration seconds{5s};
    unsigned rounds = 3;
    std::chrono::microseconds delay{450};
    std::string json;

    [[nodiscard]] bool include(fleet_load const& load) const
    {
        return loads.empty() || std::ranges::find(loads, load.name) != loads.end();
    }
};

wishes parse(std::vector<std::string> const& arguments)
{
    wishes out;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const& name = arguments[i];
        if (name == "--quick") {
            out.clients = {20};
            out.seconds = 500ms;
            out.rounds = 1;
            continue;
        }
        auto const& value = arguments.at(++i);
        if (name == "--clients")
            out.clients = numbers(value);
        else if (name == "--loads")
            out.loads = split(value);
        else if (name == "--seconds")
            out.seconds = std::chrono::duration_cast<fleet::duration>(std::stod(value) * 1s);
        else if (name == "--rounds")
            out.rounds = numbers(value).at(0);
        else if (name == "--delay-us")
            out.delay = numbers(value, 0).at(0) * 1us;
        else if (name == "--json")
            out.json = value;
        else
            throw std::invalid_argument{name};
    }
    return out;
}

/// Trivially copyable: it travels through a pipe from the process that was measured.
struct measured {
    fleet_row row;
    unsigned overlaps = 0;
    unsigned failures = 0;
};

measured run(fleet_load const& load, unsigned clients, wishes const& wanted, field const& where)
{
    asio::io_context context;
    fleet all(load, {[] { return fleet::duration(std::chrono::steady_clock::now().time_since_epoch()); },
                     [&context](fleet::duration delay, std::function<void()> what) {
                         auto const timer = std::make_shared<asio::steady_timer>(context, delay);
                         timer->async_wait([timer, what = std::move(what)](auto) { what(); });
                     }});
    for (unsigned i = 0; i != clients; ++i)
        all.add(client(context, settings_for(where.doors())));
    context.run_for(std::max<std::chrono::milliseconds>(500ms, clients * 12ms));
    auto const sent = where.sent();
    auto const executed = where.executed();
    double const cpu = where.cpu_us();
    all.count();
    context.run_for(wanted.seconds);
    measured out{all.row(), all.overlaps(), all.failures()};
    auto const leases = std::max(1.0, static_cast<double>(all.leases()));
    out.row.figures[fleet_row::sent] = static_cast<double>(where.sent() - sent) / leases;
    out.row.figures[fleet_row::executed] = static_cast<double>(where.executed() - executed) / leases;
    out.row.figures[fleet_row::server_us] = (where.cpu_us() - cpu) / leases;
    return out;
}

/// On servers of its own.
measured run(fleet_load const& load, unsigned clients, wishes const& wanted)
{
    static placement const cpus = choose_cpus();
    field const where{3, wanted.delay, cpus.server_cpu};
    return measure_in_child(cpus.client_cpu, wanted.seconds + 120s,
                            [&] { return run(load, clients, wanted, where); });
}

void write(std::FILE* json, fleet_load const& load, unsigned clients, fleet_row const& row)
{
    std::fprintf(json, R"({"load":"%s","clients":%u,"figures":[)", load.name.data(), clients);
    for (std::size_t i = 0; i != row.figures.size(); ++i)
        std::fprintf(json, "%s%.3f", i == 0 ? "" : ",", row.figures[i]);
    std::fprintf(json, "]}\n");
    std::fflush(json);
}

fleet_row median_of(std::vector<fleet_row> const& rounds)
{
    fleet_row out;
    for (std::size_t i = 0; i != out.figures.size(); ++i) {
        std::vector<double> column;
        for (auto const& round : rounds)
            column.push_back(round.figures[i]);
        out.figures[i] = median(column);
    }
    return out;
}

/// All loads in turn, several times. \return whether no lock was held twice, and no operation failed
bool measure(unsigned clients, wishes const& wanted, std::FILE* json)
{
    std::array<std::vector<fleet_row>, test::fleet_loads.size()> rows;
    bool sound = true;
    for (unsigned round = 0; round != wanted.rounds; ++round) {
        fleet_row mutex;
        for (std::size_t i = 0; i != rows.size(); ++i) {
            auto const& load = test::fleet_loads[i];
            if (i != 0 && !wanted.include(load))
                continue;
            auto got = run(load, clients, wanted);
            if (i == 0)
                mutex = got.row;
            got.row.compare(mutex);
            rows[i].push_back(got.row);
            if (json)
                write(json, load, clients, got.row);
            if (got.overlaps + got.failures == 0)
                continue;
            std::fprintf(stderr, "%s: OVERLAPS: %u, failures: %u\n", load.name.data(), got.overlaps,
                         got.failures);
            sound = false;
        }
    }
    for (std::size_t i = 0; i != rows.size(); ++i)
        if (!rows[i].empty())
            test::print_fleet_row(test::fleet_loads[i].name, clients, median_of(rows[i]));
    return sound;
}

/// A fleet of 200 has 600 connections, and the network two sockets for each.
void raise_limit_of_files()
{
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
}

} // namespace

} // namespace redlock::bench

int main(int argc, char** argv)
{
    using namespace redlock::bench;
    wishes wanted;
    try {
        wanted = parse({argv + 1, argv + argc});
    } catch (std::exception const&) {
        std::fputs(usage, stderr);
        return 64;
    }
    try {
        raise_limit_of_files();
        std::unique_ptr<std::FILE, int (*)(std::FILE*)> const json(
            wanted.json.empty() ? nullptr : std::fopen(wanted.json.c_str(), "we"), &std::fclose);
        if (!wanted.json.empty() && !json)
            throw std::runtime_error{"cannot write " + wanted.json};
        bool sound = true;
        redlock::test::print_fleet_head();
        for (unsigned const clients : wanted.clients)
            sound = measure(clients, wanted, json.get()) && sound;
        return sound ? 0 : 1;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
