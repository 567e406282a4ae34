// SPDX-License-Identifier: BSL-1.0
#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>

using namespace redlock::test;
using nlohmann::json;

namespace {

/// Each of these is a lock's name, although a shell or an option parser may take it for something else.
std::vector<std::string> const odd_names{"-x",
                                         "-",
                                         "--",
                                         "--help",
                                         "--json",
                                         "--ttl=1s",
                                         " ",
                                         "it's \"$(id)\"",
                                         "Zürich ☃",
                                         "\xff\xfe",
                                         "two\nlines\t.",
                                         "run",
                                         std::string(512, 'n')};

/// Returns the first line without its newline.
std::string first_line(std::string const& text)
{
    return text.substr(0, text.find('\n'));
}

struct names_fixture : servers {
    names_fixture() : servers({}, 1) {}

    finished_run call(std::vector<std::string> const& arguments, environment more = {})
    {
        more.merge(env());
        return finished_run(arguments, more);
    }
    bool is_held(std::string const& name) { return probes[0].get(name).has_value(); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(names, names_fixture)

BOOST_AUTO_TEST_CASE(any_name_behind_double_dash_is_taken_extended_and_released)
{
    for (std::string const& name : odd_names)
        BOOST_TEST_CONTEXT("name " << name)
        {
            finished_run const acquired = call({"acquire", "--json", "-t", "60s", "--", name});
            BOOST_TEST(acquired.status == 0, acquired.err);
            BOOST_TEST_REQUIRE(is_held(name));
            json const told = json::parse(acquired.out);
            std::string const owner = told.at("owner");
            BOOST_TEST(call({"status", "--", name}).status == 0);
            BOOST_TEST(call({"extend", "--owner", owner, "--", name}).status == 0);
            BOOST_TEST(call({"release", "--owner", owner, "--", name}).status == 0);
            BOOST_TEST(!is_held(name));
            BOOST_TEST(call({"status", "--", name}).status == 1);
        }
}

BOOST_AUTO_TEST_CASE(any_name_survives_evaluation_by_a_shell)
{
    for (std::string const& name : odd_names)
        BOOST_TEST_CONTEXT("name " << name)
        {
            std::string const tool = "'" REDLOCK_TOOL "' ";
            finished_run const shell =
                call({"run", "--prefix", "outer:", "shell", "-c",
                      "lock=$(" + tool + "acquire -t 60s -- \"$N\") && eval \"$lock\" && " +
                          "[ \"$REDLOCK_NAME\" = \"$N\" ] && " + tool + "status -- \"$N\" >&2 && " + tool +
                          "extend >&2 && " + tool + "release && " + "echo done"},
                     {{"N", name}});
            BOOST_TEST(shell.out == "done\n", shell.err);
            BOOST_TEST(!is_held(name));
        }
}

BOOST_AUTO_TEST_CASE(run_takes_a_name_and_a_command_behind_double_dash)
{
    std::string const print = "[ \"$REDLOCK_NAME\" = \"$N\" ] && echo \"$@\"";
    for (std::string const& name : odd_names)
        BOOST_TEST_CONTEXT("name " << name)
        {
            std::vector<std::string> const command{"/bin/sh", "-c", print, "sh", "--", "-y"};
            std::vector<std::string> marked{"run", "--", name, "--"};
            marked.insert(marked.end(), command.begin(), command.end());
            BOOST_TEST(call(marked, {{"N", name}}).out == "-- -y\n");
            // Otherwise a command's first word would be the name where a shell's variable is empty.
            finished_run const unmarked = call({"run", "--", name, "true", "-y"});
            BOOST_TEST(unmarked.status == 64);
            BOOST_TEST(contains(unmarked.err, "NAME is required (after -- it needs another --"),
                       unmarked.err);
            BOOST_TEST(call({"run", "-c", "printf %s \"$REDLOCK_NAME\"", "--", name}).out == name);
            BOOST_TEST(call({"run", "seat", "--also=" + name, "--", "true"}).status == 0);
            BOOST_TEST(call({"run", "seat", "--also", name, "-c", "true"}).status ==
                       (name == "--" ? 64 : 0)); // there it ends the options
        }
}

BOOST_AUTO_TEST_CASE(elections_take_any_name_behind_double_dash)
{
    for (std::string const& name : odd_names)
        BOOST_TEST_CONTEXT("name " << name)
        {
            std::string const inside = "'" REDLOCK_TOOL "' leader -- \"$REDLOCK_NAME\"";
            finished_run const run =
                call({"elect", "--value", "-here", "--", name, "--", "/bin/sh", "-c", inside});
            BOOST_TEST(run.status == 0, run.err);
            BOOST_TEST(contains(run.out, ": led by -here in term "), run.out);
            BOOST_TEST(call({"leader", "--", name}).status == 1);
        }
}

BOOST_AUTO_TEST_CASE(doctor_takes_any_name_behind_double_dash)
{
    for (std::string const& name : odd_names)
        BOOST_TEST_CONTEXT("name " << name)
        {
            probes[0].command({"RPUSH", name, "1"});
            finished_run const run = call({"doctor", "--", name});
            BOOST_TEST(run.status == 2);
            BOOST_TEST(contains(run.out, "[foreign-key]"), run.out + run.err);
            BOOST_TEST(probes[0].keys().size() == 1U);
            probes[0].command({"FLUSHALL"});
        }
}

/// Nothing that a name holds acts on the terminal, or looks like a second line.
BOOST_AUTO_TEST_CASE(control_characters_of_a_name_are_not_printed)
{
    for (std::string const verb : {"status", "leader"}) {
        finished_run const run = call({verb, "two\nlines\x1b[2J"});
        BOOST_TEST(first_line(run.out).starts_with("twolines[2J: "), run.out);
        BOOST_TEST(json::parse(call({verb, "--json", "two\nlines"}).out).at("name") == "two\nlines");
    }
    finished_run const held =
        call({"run", "two\nlines", "--", REDLOCK_TOOL, "run", "-n", "two\nlines", "true"});
    BOOST_TEST(held.status == 75);
    BOOST_TEST(contains(held.err, "'twolines'"), held.err);
}

BOOST_AUTO_TEST_CASE(bad_names_are_usage_errors_of_every_verb)
{
    std::string const owner(32, 'a');
    std::vector<std::vector<std::string>> const calls{{"run", "-c", "true"},
                                                      {"elect", "-c", "true"},
                                                      {"acquire"},
                                                      {"extend", "--owner", owner},
                                                      {"release", "--owner", owner},
                                                      {"leader"},
                                                      {"status"},
                                                      {"doctor"}};
    std::vector<std::pair<std::string, std::string>> const bad{
        {"", "the lock's name is empty"},
        {std::string(513, 'n'), "the lock's name has 513 bytes, more than 512"},
        {std::string(100'000, 'n'), "the lock's name has 100000 bytes, more than 512"},
        {"seat:redlock-fence",
         "a name that ends in ':redlock-fence' is reserved for the library's own keys"}};
    for (auto const& call_of : calls)
        for (auto const& [name, why] : bad)
            for (bool const behind : {false, true})
                BOOST_TEST_CONTEXT(call_of.front() << ' ' << name.substr(0, 20))
                {
                    std::vector<std::string> words = call_of;
                    if (behind)
                        words.emplace_back("--");
                    words.push_back(name);
                    finished_run const run = call(words, {{"REDLOCK_NAME", "other"}});
                    BOOST_TEST(run.status == 64);
                    BOOST_TEST(contains(run.err, why), run.err.substr(0, 300));
                }
    BOOST_TEST(keys() == 0U);
}

BOOST_AUTO_TEST_CASE(missing_or_second_name_is_a_usage_error)
{
    for (std::string const verb : {"run", "elect", "acquire", "leader", "status"})
        for (bool const marked : {false, true}) {
            std::vector<std::string> words{verb};
            if (marked)
                words.emplace_back("--");
            finished_run const run = call(words);
            BOOST_TEST(run.status == 64);
            BOOST_TEST(contains(run.err, "NAME is required"), run.err);
            BOOST_TEST(contains(run.err, "redlock " + verb + " --help tells more"), run.err);
        }
    for (std::string const verb : {"acquire", "extend", "release", "leader", "status", "doctor"}) {
        BOOST_TEST(contains(call({verb, "seat", "--", "row"}).err, verb + " takes one name, and no command"));
        BOOST_TEST(contains(call({verb, "--", "seat", "row"}).err, verb + " takes one name, and no command"));
    }
    BOOST_TEST(contains(call({"acquire", "-x"}).err, "a name that begins with a dash must follow --"));
    BOOST_TEST(contains(call({"status", "seat", "--sheared"}).err, "--sheared"));
}

BOOST_AUTO_TEST_SUITE_END()
