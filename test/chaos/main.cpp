// Programs that want locks of real servers, and what befalls both: see docs/verification.md.
#include "chaos/conductor.hpp"
#include "chaos/participant.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>

namespace {

using namespace redlock::chaos;

struct options {
    std::uint64_t seed = 1;
    unsigned seconds = 60;
    std::string story{};
    std::string client{}; ///< its number; empty: the conductor
    stage where{};
};

unsigned long long number(std::string const& text)
{
    std::size_t read = 0;
    auto const found = std::stoull(text, &read);
    if (read != text.size() || text.front() == '-')
        throw std::invalid_argument(text + " is not a number");
    return found;
}

options parse(std::span<char*> arguments)
{
    options parsed;
    for (std::size_t i = 1; i < arguments.size(); i += 2) {
        std::string const name = arguments[i];
        if (name == "--nodes") {
            parsed.where.nodes.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                      arguments.end());
            return parsed;
        }
        std::string const value = i + 1 < arguments.size() ? arguments[i + 1] : "";
        if (name == "--seed")
            parsed.seed = number(value);
        else if (name == "--seconds")
            parsed.seconds = static_cast<unsigned>(number(value));
        else if (name == "--story")
            parsed.story = value;
        else if (name == "--client")
            parsed.client = value;
        else if (name == "--journal")
            parsed.where.journal = value;
        else if (name == "--guarded")
            parsed.where.guarded = static_cast<std::uint16_t>(number(value));
        else
            throw std::invalid_argument("redlock_chaos [--seed N] [--seconds S] [--story FILE], and not " +
                                        name);
    }
    return parsed;
}

int conduct(options const& wanted)
{
    conductor one(wanted.seed, std::chrono::seconds{wanted.seconds},
                  std::filesystem::read_symlink("/proc/self/exe"));
    one.run();
    bool const flawless = one.result().flaws.empty();
    if (!wanted.story.empty())
        std::ofstream(wanted.story) << one.story();
    else if (!flawless)
        std::cerr << one.story();
    std::cout << one.figures() << '\n';
    constexpr int skipped = 77;
    if (!one.clock_was_right())
        return skipped;
    for (std::string const& flaw : one.result().flaws)
        std::cout << "seed " << wanted.seed << ": " << flaw << '\n';
    return flawless ? 0 : 1;
}

} // namespace

int main(int count, char** arguments)
{
    try {
        options const wanted = parse({arguments, static_cast<std::size_t>(count)});
        if (wanted.client.empty())
            return conduct(wanted);
        participate(wanted.seed, static_cast<unsigned>(number(wanted.client)), wanted.where);
        return 0;
    } catch (std::exception const& e) {
        std::fprintf(stderr, "redlock_chaos: %s\n", e.what());
        return 2;
    }
}
