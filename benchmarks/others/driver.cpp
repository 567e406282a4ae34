// SPDX-License-Identifier: BSL-1.0
#include "driver.hpp"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string_view>

namespace comparison {

namespace {

std::vector<node_address> nodes_of(std::string const& list)
{
    std::vector<node_address> out;
    for (std::size_t from = 0; from < list.size();) {
        auto const colon = list.find(':', from);
        auto const end = std::min(list.find(',', from), list.size());
        if (colon >= end)
            throw std::runtime_error{"--nodes host:port,..."};
        out.push_back({list.substr(from, colon - from),
                       static_cast<std::uint16_t>(std::stoi(list.substr(colon + 1, end - colon - 1)))});
        from = end + 1;
    }
    return out;
}

void set_pause(task& what, std::string const& range)
{
    auto const dash = range.find('-');
    if (dash == range.npos)
        throw std::runtime_error{"--pause-ms LOW-HIGH"};
    what.pause_low_us = std::stoll(range.substr(0, dash)) * 1000;
    what.pause_high_us = std::stoll(range.substr(dash + 1)) * 1000;
}

void set_workload(task& what, std::string const& name)
{
    what.workload = name;
    what.convoy = name == "convoy";
    what.contended = name != "cycles";
}

void set(task& what, std::string_view name, std::string const& value)
{
    if (name == "--nodes")
        what.nodes = nodes_of(value);
    else if (name == "--workload")
        set_workload(what, value);
    else if (name == "--workers")
        what.workers = static_cast<unsigned>(std::stoul(value));
    else if (name == "--permits")
        what.permits = static_cast<unsigned>(std::stoul(value));
    else if (name == "--hold-us")
        what.hold_us = std::stoll(value);
    else if (name == "--pause-ms")
        set_pause(what, value);
    else if (name == "--variant")
        what.variant = value;
    else if (name == "--samples")
        what.samples = value;
    else if (name == "--run")
        what.run = value;
    else
        throw std::runtime_error{"unknown option " + std::string{name}};
}

std::string quoted(std::string const& text)
{
    std::string out = "\"";
    for (char const each : text)
        out += each == '"' || each == '\\' || static_cast<unsigned char>(each) < ' ' ? '\'' : each;
    return out + '"';
}

} // namespace

std::string task::key(unsigned worker) const
{
    return contended ? "contended:" + run : "own:" + run + ':' + std::to_string(worker);
}

std::vector<std::string> task::names(unsigned worker) const
{
    std::vector<std::string> out;
    for (unsigned i = 0; i != 4; ++i)
        out.push_back(key(worker) + ':' + std::to_string((5 * worker + i) % 16));
    return out;
}

std::int64_t now_ns()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

task parse(int argc, char** argv)
{
    task out;
    for (int i = 1; i + 1 < argc; i += 2)
        set(out, argv[i], argv[i + 1]);
    if (out.nodes.empty() || out.samples.empty())
        throw std::runtime_error{"--nodes and --samples are needed"};
    return out;
}

window wait_for_start()
{
    std::puts("ready");
    std::fflush(stdout);
    long long begins = 0;
    long long ends = 0;
    if (std::scanf("%lld %lld", &begins, &ends) != 2)
        throw std::runtime_error{"no window"};
    return {begins, ends};
}

void record::cycle(sample const& one)
{
    if (one.released < when_.begins || one.released >= when_.ends)
        return;
    ++done_;
    if (what_.contended || one.worker < workers_sampled)
        samples_.push_back(one);
}

void record::finish() const
{
    std::FILE* const file = std::fopen(what_.samples.c_str(), "wbe");
    bool const written = file != nullptr && std::fwrite(samples_.data(), sizeof(sample), samples_.size(),
                                                        file) == samples_.size();
    if (file == nullptr || std::fclose(file) != 0 || !written)
        ::_exit(1);
    std::printf("{\"done\": %llu, \"failures\": {", static_cast<unsigned long long>(done_));
    char const* separator = "";
    for (auto const& [text, count] : failures_) {
        std::printf("%s%s: %llu", separator, quoted(text).c_str(), static_cast<unsigned long long>(count));
        separator = ", ";
    }
    std::puts("}}");
    std::fflush(stdout);
    ::_exit(0);
}

} // namespace comparison
