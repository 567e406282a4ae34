// SPDX-License-Identifier: BSL-1.0
#include "cli/exit_status.hpp"
#include "cli/options.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <istream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// The meaning of single arguments.
namespace redlock::cli {

std::string without_secrets(std::string text)
{
    for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
        auto const word_ends = std::min(text.find_first_of(" \t\r\n", at), text.size());
        auto const mark = text.rfind('@', word_ends - 1);
        if (mark != std::string::npos && mark > at)
            text.replace(at + 3, mark - at - 3, "***");
    }
    // The form of other libraries, and of an option that does not exist.
    constexpr std::string_view name = "password=";
    auto const same_letter = [](char a, char b) { return (a | 0x20) == b || a == b; };
    for (auto at = text.begin();;) {
        at = std::search(at, text.end(), name.begin(), name.end(), same_letter);
        if (at == text.end())
            return text;
        auto const value = at - text.begin() + static_cast<std::ptrdiff_t>(name.size());
        auto const begin = static_cast<std::size_t>(value);
        text.replace(begin, std::min(text.find_first_of(" \t\r\n,;&'", begin), text.size()) - begin, "***");
        at = text.begin() + value;
    }
}

std::chrono::milliseconds read_duration(std::string const& text)
{
    constexpr std::pair<char const*, double> units[] = {
        {"", 1e3}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}};
    constexpr double longest = 1e12; // 30 years; the library reports a time that is too long for its purpose
    double number = -1;
    auto const [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    for (auto const& [unit, factor] : units)
        if (error == std::errc{} && text.c_str() + (rest - text.data()) == std::string(unit) && number >= 0 &&
            number * factor <= longest)
            return std::chrono::milliseconds{std::llround(number * factor)};
    throw failure(exit_status::usage,
                  "not a time: '" + text + "' (30s, 500ms, 1.5m, 2h; without a unit: seconds)");
}

int read_signal(std::string const& text)
{
    // sigabbrev_np() is glibc's alone.
    static constexpr std::pair<std::string_view, int> known[] = {
        {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT},
        {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"PIPE", SIGPIPE},
        {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CONT", SIGCONT}, {"WINCH", SIGWINCH}};
    std::string const name = text.starts_with("SIG") ? text.substr(3) : text;
    for (auto const& [abbreviation, number] : known)
        if (name == abbreviation)
            return number;
    for (int number = 1; number != NSIG; ++number)
        if (name == std::to_string(number))
            return number;
    throw failure(exit_status::usage, "not a signal: '" + text + "' (TERM, INT, USR1, 15)");
}

namespace {

/// Splits at spaces and line ends; `#` at the beginning of a word comments the rest of its line out.
std::vector<std::string> split(std::istream& in)
{
    std::vector<std::string> words;
    for (std::string line; std::getline(in, line);) {
        std::istringstream rest(line);
        for (std::string word; rest >> word && !word.starts_with('#');)
            words.push_back(word);
    }
    return words;
}

/// A space in a password has cut a URL in two: no part of it may be repeated.
void refuse_fragments(std::vector<std::string> const& words, std::string const& where)
{
    auto const holds = [](std::string_view what) {
        return [what](std::string const& word) { return word.find(what) != std::string::npos; };
    };
    auto const strange = std::ranges::find_if_not(words, holds("://"));
    if (strange != words.end() && std::ranges::any_of(words, holds("@")))
        throw failure(exit_status::bad_configuration,
                      where + ": word " + std::to_string(strange - words.begin() + 1) + " of " +
                          std::to_string(words.size()) + " is no URL" + advice_on_nodes(words));
}

} // namespace

std::vector<std::string> find_nodes(std::vector<std::string> const& flags, std::string const& file)
{
    if (!flags.empty())
        return flags;
    std::vector<std::string> found;
    std::string where = "$REDLOCK_NODES";
    if (!file.empty()) {
        where = file;
        std::ifstream in(file);
        if (!in)
            throw failure(exit_status::bad_configuration,
                          "--nodes-file " + file + ": " + std::strerror(errno));
        found = split(in);
    } else if (char const* const environment = std::getenv("REDLOCK_NODES")) {
        std::istringstream in(environment);
        found = split(in);
    } else {
        throw failure(exit_status::usage,
                      "no nodes: give them in REDLOCK_NODES, with --nodes-file or with --node");
    }
    if (found.empty())
        throw failure(exit_status::bad_configuration, where + " names no nodes");
    refuse_fragments(found, where);
    return found;
}

std::string read_password(std::string const& file)
{
    std::string first;
    std::ifstream in(file);
    std::string const why = in ? "its first line is empty" : std::strerror(errno);
    std::getline(in, first);
    if (first.empty())
        throw failure(exit_status::bad_configuration, "--password-file " + file + ": " + why);
    return first;
}

std::string advice_on_nodes(std::vector<std::string> const& nodes)
{
    auto const is_suspect = [](std::string const& word) {
        return word.find("://") == std::string::npos || word.find(',') != std::string::npos;
    };
    return std::ranges::any_of(nodes, is_suspect)
               ? "\n(URLs are separated by spaces; a space inside one is %20)"
               : "";
}

} // namespace redlock::cli
