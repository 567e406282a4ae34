// SPDX-License-Identifier: BSL-1.0
#include "contention_rows.hpp"

#include "options.hpp"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string_view>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;

constexpr char usage[] =
    "options: --quick   --json FILE   --seconds 3\n"
    "         and, for all combinations of what these say instead of the usual rows:\n"
    "         --rows line,turns,mixed,polling,killed,paused\n"
    "         --nodes 3   --processes 4   --each 1\n"
    "         --hold-us 1000   --delay-us 450 (0: none)   --cpus 1 (2: nothing is pinned)   --pause-us "
    "20000\n";

struct word {
    std::string_view text;
    manner how;
    trouble with;
};

constexpr std::array words{
    word{"line", manner::line, trouble::none},     word{"turns", manner::turns, trouble::none},
    word{"mixed", manner::mixed, trouble::none},   word{"polling", manner::polling, trouble::none},
    word{"killed", manner::line, trouble::killed}, word{"paused", manner::line, trouble::paused}};

word const& find(std::string const& text)
{
    for (auto const& each : words)
        if (each.text == text)
            return each;
    throw std::invalid_argument{text};
}

/// Replaces each contest by one for each value.
template <class Set>
void vary(std::vector<contest>& all, std::vector<unsigned> const& values, Set const& set)
{
    std::vector<contest> more;
    for (auto const& each : all)
        for (unsigned const value : values)
            set(more.emplace_back(each), value);
    all = std::move(more);
}

std::vector<choice> usual()
{
    return {
        {.nodes = {3, 1, 5}, .processes = {1}, .each = {16, 256}, .delay_us = {0}},
        {.processes = {1}, .each = {256}, .hold_us = {0}, .delay_us = {0}},
        {.processes = {2, 4, 16, 64}, .each = {1, 16}},
        {.nodes = {1, 5}, .processes = {4, 16}},
        {.rows = {"turns", "mixed", "killed", "paused"}, .processes = {16}},
        {.rows = {"turns", "polling"}, .poll_pause_us = {20'000, 2'000, 0}},
        {.rows = {"line", "turns"}, .processes = {2, 4, 16}, .delay_us = {0}},
        {.nodes = {1, 5}, .processes = {4, 16}, .delay_us = {0}},
        {.rows = {"line"}, .processes = {4, 16}, .each = {16}, .delay_us = {0}},
        {.rows = {"line"}, .processes = {4, 16}, .delay_us = {450, 0}, .cpus = {2}},
    };
}

std::vector<choice> handful()
{
    return {{.processes = {1}, .each = {16}, .delay_us = {0}},
            {.processes = {4, 16}},
            {.rows = {"killed"}, .processes = {8}},
            {.rows = {"polling", "turns"}},
            {.processes = {4}, .delay_us = {0}}};
}

std::vector<contest> contests(std::vector<choice> const& of)
{
    std::vector<contest> all;
    for (auto const& each : of)
        for (auto const& made : contests(each))
            all.push_back(made);
    return all;
}

struct wishes {
    choice rows;
    bool chosen = false;
    bool quick = false;
    std::chrono::duration<double> seconds{0};
    std::string json;
};

std::vector<unsigned>* numbers_of(choice& rows, std::string_view name)
{
    struct option {
        std::string_view name;
        std::vector<unsigned> choice::*values;
    };
    constexpr std::array known{option{"--nodes", &choice::nodes},
                               option{"--processes", &choice::processes},
                               option{"--each", &choice::each},
                               option{"--hold-us", &choice::hold_us},
                               option{"--delay-us", &choice::delay_us},
                               option{"--cpus", &choice::cpus},
                               option{"--pause-us", &choice::poll_pause_us}};
    for (auto const& each : known)
        if (each.name == name)
            return &(rows.*each.values);
    return nullptr;
}

void apply(wishes& out, std::string const& name, std::string const& value)
{
    if (name == "--json") {
        out.json = value;
    } else if (name == "--seconds") {
        out.seconds = std::chrono::duration<double>{std::stod(value)};
    } else if (name == "--rows") {
        out.rows.rows = split(value);
        out.chosen = true;
    } else if (auto* const values = numbers_of(out.rows, name)) {
        *values = numbers(value, 0);
        out.chosen = true;
    } else {
        throw std::invalid_argument{name};
    }
}

wishes parse(std::vector<std::string> const& arguments)
{
    wishes out;
    for (std::size_t index = 0; index < arguments.size(); ++index) {
        if (arguments[index] == "--quick") {
            out.quick = true;
        } else {
            auto const& name = arguments[index];
            apply(out, name, arguments.at(++index));
        }
    }
    return out;
}

std::vector<contest> contests(wishes const& of)
{
    auto all = of.chosen ? contests(of.rows) : contests(of.quick ? handful() : usual());
    auto const window = of.seconds.count() > 0 ? of.seconds : std::chrono::seconds{of.quick ? 1 : 3};
    for (auto& each : all) {
        each.window = window;
        if (each.nodes == 0 || each.nodes > 63 || each.processes == 0 ||
            each.processes > board::most_processes || each.each == 0)
            throw std::invalid_argument{"row"};
    }
    return all;
}

} // namespace

std::vector<contest> contests(choice const& of)
{
    std::vector<contest> all;
    for (auto const& row : of.rows)
        all.push_back({.how = find(row).how, .with = find(row).with});
    vary(all, of.nodes, [](contest& each, unsigned value) { each.nodes = value; });
    vary(all, of.cpus, [](contest& each, unsigned value) { each.all_cpus = value > 1; });
    vary(all, of.delay_us, [](contest& each, unsigned value) { each.delay = value * 1us; });
    vary(all, of.processes, [](contest& each, unsigned value) { each.processes = value; });
    vary(all, of.each, [](contest& each, unsigned value) { each.each = value; });
    vary(all, of.hold_us, [](contest& each, unsigned value) { each.hold = value * 1us; });
    std::vector<contest> out;
    for (auto const& each : all) {
        std::vector<contest> same{each};
        if (each.how == manner::polling)
            vary(same, of.poll_pause_us, [](contest& one, unsigned value) { one.poll_pause = value * 1us; });
        out.insert(out.end(), same.begin(), same.end());
    }
    return out;
}

std::optional<plan> parse_plan(std::vector<std::string> const& arguments)
{
    try {
        auto const wanted = parse(arguments);
        return plan{contests(wanted), wanted.json};
    } catch (std::exception const&) {
        std::fputs(usage, stderr);
        return std::nullopt;
    }
}

} // namespace redlock::bench
