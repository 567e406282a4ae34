// Programs that want locks of real servers, and what befalls both (docs/verification.md, "Campaigns").
#include "chaos/conductor.hpp"
#include "chaos/participant.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace redlock::chaos;

constexpr int skipped = 77;
constexpr int wrong = 2;

unsigned long number(std::string const& text)
{
    std::size_t read = 0;
    unsigned long const found =
        text.find_first_not_of("0123456789") == text.npos ? std::stoul(text, &read) : 0;
    if (read == 0)
        throw std::invalid_argument('"' + text + "\" is not a number");
    return found;
}

int lead(std::vector<std::string> const& arguments)
{
    unsigned long seed = 1;
    unsigned long seconds = 60;
    std::string story;
    for (std::size_t i = 0; i != arguments.size(); i += 2) {
        std::string const value = i + 1 == arguments.size() ? "" : arguments[i + 1];
        if (arguments[i] == "--seed")
            seed = number(value);
        else if (arguments[i] == "--seconds")
            seconds = number(value);
        else if (arguments[i] == "--story" && !value.empty())
            story = value;
        else
            throw std::invalid_argument("usage: redlock_chaos [--seed N] [--seconds S] [--story FILE]");
        if (value.empty())
            break;
    }
    outcome const all =
        conduct(seed, std::chrono::seconds{seconds}, std::filesystem::read_symlink("/proc/self/exe"));
    if (!story.empty())
        std::ofstream(story) << all.story;
    else if (!all.flaws.empty())
        std::cerr << all.story;
    std::cout << all.figures << '\n' << all.flaws;
    if (!all.clock_was_right)
        std::cout << "this machine's clock was set: the run shows nothing\n";
    return !all.clock_was_right ? skipped : all.flaws.empty() ? 0 : 1;
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
        return wrong;
    }
}
