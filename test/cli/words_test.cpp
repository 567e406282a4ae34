// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <regex>
#include <set>

using namespace redlock::test;

namespace {

using words = std::set<std::string>;

words long_options(std::string const& text)
{
    static std::regex const option("--[a-z][a-z-]+");
    return {std::sregex_token_iterator(text.begin(), text.end(), option), std::sregex_token_iterator()};
}

std::string output_of(std::string const& command)
{
    std::string text;
    FILE* const pipe = ::popen(command.c_str(), "r");
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;)
        text += static_cast<char>(c);
    ::pclose(pipe);
    return text;
}

/// Returns bash's completions for the last of these words.
std::string offered(std::string const& line)
{
    return output_of("bash -c 'source \"" REDLOCK_COMPLETIONS "/redlock\"; COMP_WORDS=(" + line +
                     "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _redlock; echo \"${COMPREPLY[@]}\"'");
}

/// Returns fish's completions, without the descriptions.
std::string offered_by_fish(std::string const& line)
{
    return output_of("fish --no-config -c 'source \"" REDLOCK_COMPLETIONS "/redlock.fish\"; complete -C \"" +
                     line + "\"' | cut -f 1");
}

/// Returns the options that zsh's completion knows, one a line: the names that it gives to _arguments, and "=" if the
/// option has a value.
std::string known_to_zsh(std::string const& line)
{
    return output_of(
        "zsh -fc '_arguments() { for spec; print -r -- ${${spec#\\(*\\)}%%\\[*} }; words=(" + line +
        "); CURRENT=$#words; functions[_redlock]=$(<\"" REDLOCK_COMPLETIONS "/_redlock\"); _redlock'");
}

bool is_there(std::string const& shell)
{
    bool const there = !output_of("command -v " + shell).empty();
    if (!there)
        BOOST_TEST_MESSAGE("without " << shell << ", its completion is not tried");
    return there;
}

std::string manual()
{
    return std::regex_replace(text_of(REDLOCK_MANUAL), std::regex(R"(\\-)"), "-");
}

char const* const verbs[] = {"run",    "elect",  "acquire", "extend", "release",
                             "leader", "status", "list",    "doctor"};

} // namespace

BOOST_AUTO_TEST_SUITE(completion_and_manual)

BOOST_DATA_TEST_CASE(completion_and_manual_list_every_option, boost::unit_test::data::make(verbs), verb)
{
    words const known = long_options(finished_run({verb, "--help"}).out);
    BOOST_TEST(known.size() > 10U);
    std::string const line = std::string("redlock ") + verb + " --";
    BOOST_TEST(long_options(offered(line)) == known, boost::test_tools::per_element());
    if (is_there("fish"))
        BOOST_TEST(long_options(offered_by_fish(line)) == known, boost::test_tools::per_element());
    if (is_there("zsh"))
        BOOST_TEST(long_options(known_to_zsh(line)) == known, boost::test_tools::per_element());
    words const described = long_options(manual());
    for (std::string const& option : known)
        BOOST_TEST(described.contains(option), option);
}

BOOST_AUTO_TEST_CASE(manual_lists_options_without_verb)
{
    words const described = long_options(manual());
    words const known = long_options(finished_run({"--help"}).out);
    BOOST_TEST(known.contains("--version"));
    for (std::string const& option : known)
        BOOST_TEST(described.contains(option), option);
}

BOOST_AUTO_TEST_CASE(completion_offers_verbs_and_some_values)
{
    BOOST_TEST(offered("redlock a") == "acquire\n");
    BOOST_TEST(offered("redlock --json -u redis://a st") == "status\n");
    BOOST_TEST(offered("redlock --assu") == "--assume-fresh\n");
    BOOST_TEST(offered("redlock -u redis://a run --kil") == "--kill-after\n");
    BOOST_TEST(offered("redlock run --on-lost w") == "warn\n");
    BOOST_TEST(contains(offered("redlock run seat -- bas"), "bash"));
    BOOST_TEST(contains(offered("redlock elect seat -- bas"), "bash"));
    BOOST_TEST(contains(offered("redlock run seat -- nice -s bas"), "bash")); // it is not our -s
    BOOST_TEST(contains(offered("redlock run -- -x -- bas"), "bash"));
    BOOST_TEST(offered("redlock acquire -- --") == "\n"); // a name
}

BOOST_AUTO_TEST_CASE(fish_completion_offers_verbs_and_some_values)
{
    if (!is_there("fish"))
        return;
    BOOST_TEST(offered_by_fish("redlock a") == "acquire\n");
    BOOST_TEST(offered_by_fish("redlock --json -u redis://a st") == "status\n");
    BOOST_TEST(offered_by_fish("redlock --vers") == "--version\n");
    BOOST_TEST(offered_by_fish("redlock run --on-lost w") == "warn\n");
    BOOST_TEST(offered_by_fish("redlock run --ttl 1").empty());
    BOOST_TEST(contains(offered_by_fish("redlock run seat -- bas"), "bash"));
    BOOST_TEST(contains(offered_by_fish("redlock run -- -x -- bas"), "bash"));
}

BOOST_AUTO_TEST_CASE(completion_offers_no_options_as_values)
{
    for (std::string const verb : verbs) {
        std::string const help = finished_run({verb, "--help"}).out;
        std::regex const valued(
            "(--[a-z-]+) (URL|TEXT|NAME|DURATION|NUMBER|LINE|HOST|TOKEN|SIGNAL|FILE|DIR)");
        std::string const zsh = is_there("zsh") ? known_to_zsh("redlock " + verb + " --") : "";
        for (std::sregex_iterator at(help.begin(), help.end(), valued), end; at != end; ++at) {
            BOOST_TEST(offered("redlock " + verb + ' ' + at->str(1) + " --") == "\n", at->str());
            if (!zsh.empty())
                BOOST_TEST(contains(zsh, at->str(1) + "=\n"), at->str());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
