// SPDX-License-Identifier: BSL-1.0
#include "options.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace redlock::bench {

namespace {

constexpr char usage[] = "options: --only T1,T2,T3,T4,T5,T11,T12   --nodes 1,3,5   --concurrency 1,16,256   "
                         "--contestants \"raw,raw again\"\n"
                         "         --seconds 0.5   --rounds 5   --json FILE   --quick (1 round of 0.2 s)\n";

bool contains(std::vector<std::string> const& list, std::string_view name)
{
    return list.empty() || std::ranges::find(list, name) != list.end();
}

void apply(options& out, std::string const& name, std::string const& value)
{
    if (name == "--only")
        out.only = split(value);
    else if (name == "--contestants")
        out.contestants = split(value);
    else if (name == "--nodes")
        out.nodes = numbers(value);
    else if (name == "--concurrency")
        out.concurrency = numbers(value);
    else if (name == "--seconds")
        out.seconds = std::chrono::duration<double>{std::stod(value)};
    else if (name == "--rounds")
        out.rounds = numbers(value).at(0);
    else if (name == "--json")
        out.json = value;
    else
        throw std::invalid_argument{name};
}

} // namespace

std::vector<std::string> split(std::string const& text)
{
    std::vector<std::string> out;
    std::istringstream in{text};
    for (std::string part; std::getline(in, part, ',');)
        if (!part.empty())
            out.push_back(part);
    return out;
}

std::vector<unsigned> numbers(std::string const& text, unsigned least)
{
    std::vector<unsigned> out;
    for (auto const& part : split(text)) {
        auto const value = std::stoul(part);
        if (value < least || value > 100'000)
            throw std::invalid_argument{part};
        out.push_back(static_cast<unsigned>(value));
    }
    return out;
}

bool options::table(std::string_view name) const
{
    return contains(only, name);
}

bool options::includes(std::string_view contestant) const
{
    return contains(contestants, contestant);
}

std::vector<point> options::redis_points() const
{
    std::vector<point> out;
    for (unsigned const n : nodes.empty() ? std::vector<unsigned>{1, 3, 5} : nodes)
        for (unsigned const c : concurrency.empty() ? std::vector<unsigned>{1, 16, 256} : concurrency)
            if (table("T1") || (table("T3") && c >= 16) || (table("T4") && c == 1) ||
                (table("T5") && (n == 3 || !nodes.empty()) && (c == 256 || !concurrency.empty())))
                out.push_back({"redis", n, c});
    return out;
}

std::vector<point> options::null_points() const
{
    std::vector<point> out;
    if (!table("T2") && !table("T12"))
        return out;
    for (unsigned const n : nodes.empty() ? std::vector<unsigned>{3} : nodes)
        for (unsigned const c : concurrency.empty() ? std::vector<unsigned>{16, 256, 4096} : concurrency)
            out.push_back({"null", n, c});
    return out;
}

std::optional<options> parse_options(std::vector<std::string> const& arguments)
{
    options out;
    try {
        for (std::size_t index = 0; index < arguments.size(); ++index) {
            if (arguments[index] == "--quick") {
                out.quick = true;
                out.rounds = 1;
                out.seconds = std::chrono::duration<double>{0.2};
            } else {
                auto const& name = arguments[index];
                apply(out, name, arguments.at(++index));
            }
        }
        if (out.seconds.count() < 0.01 || out.seconds.count() > 60)
            throw std::invalid_argument{"--seconds"};
    } catch (std::exception const&) {
        std::fputs(usage, stderr);
        return std::nullopt;
    }
    return out;
}

int run_with_few_options(int argc, char const* const* argv,
                         std::function<bool(bool quick, std::FILE* json)> const& measure)
{
    bool quick = false;
    std::string file;
    for (int index = 1; index < argc; ++index) {
        std::string_view const name = argv[index];
        if (name == "--quick") {
            quick = true;
        } else if (name == "--json" && index + 1 < argc) {
            file = argv[++index];
        } else {
            std::fputs("options: --json FILE   --quick\n", stderr);
            return 64;
        }
    }
    try {
        std::unique_ptr<std::FILE, int (*)(std::FILE*)> const json(
            file.empty() ? nullptr : std::fopen(file.c_str(), "we"), &std::fclose);
        if (!file.empty() && !json)
            throw std::runtime_error{"cannot write " + file};
        return measure(quick, json.get()) ? 0 : 1;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

} // namespace redlock::bench
