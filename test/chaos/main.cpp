// SPDX-License-Identifier: BSL-1.0
// Programs that want locks of real servers, and faults of both (docs/verification.md, "Campaigns").
#include "chaos/conductor.hpp"
#include "chaos/participant.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace redlock::chaos;

unsigned long number(std::string const& text)
{
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos)
        throw std::invalid_argument('"' + text + "\" is not a number");
    return std::stoul(text);
}

int lead(std::vector<std::string> const& arguments)
{
    std::map<std::string, std::string> wanted{{"--seed", "1"}, {"--seconds", "60"}, {"--story", ""}};
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        if (!wanted.contains(arguments[i]) || i + 1 == arguments.size())
            throw std::invalid_argument("usage: redlock_chaos [--seed N] [--seconds S] [--story FILE]");
        wanted[arguments[i]] = arguments[i + 1];
    }
    outcome const all = conduct(number(wanted["--seed"]), std::chrono::seconds{number(wanted["--seconds"])},
                                std::filesystem::read_symlink("/proc/self/exe"));
    if (!wanted["--story"].empty())
        std::ofstream(wanted["--story"]) << all.story;
    else if (!all.flaws.empty())
        std::cerr << all.story;
    std::cout << all.figures << '\n' << all.flaws;
    if (all.excuse.empty())
        return all.flaws.empty() ? 0 : 1;
    constexpr int skipped = 77;
    std::cout << all.excuse << ": the run shows nothing\n";
    return skipped;
}

} // namespace

int main(int count, char** values)
{
    std::vector<std::string> const arguments(values + 1, values + count);
    try {
        if (arguments.size() < 6 || arguments[0] != "--participate")
            return lead(arguments);
        participate({.seed = number(arguments[1]),
                     .program = static_cast<unsigned>(number(arguments[2])),
                     .directory = arguments[3],
                     .guarded = static_cast<std::uint16_t>(number(arguments[4])),
                     .nodes = {arguments.begin() + 5, arguments.end()}});
        return 0;
    } catch (std::exception const& e) {
        std::cerr << "redlock_chaos: " << e.what() << '\n';
        return 2;
    }
}
