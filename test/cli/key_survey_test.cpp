// SPDX-License-Identifier: BSL-1.0
#include "cli/key_survey.hpp"
#include "kit/text.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace redlock::cli;
using namespace std::chrono_literals;
using redlock::test::contains;

namespace {

answer text_answer(std::string text)
{
    return {.type = answer::kind::text, .text = std::move(text)};
}

answer number_answer(std::int64_t number)
{
    return {.type = answer::kind::number, .number = number};
}

answer error_answer(std::string text)
{
    return {.type = answer::kind::error, .text = std::move(text)};
}

answer page_answer(std::string cursor, std::vector<std::string> keys)
{
    return {.type = answer::kind::list, .list = {std::move(cursor), ""}, .inner = std::move(keys)};
}

std::string const no_key = "NOPERM No permissions to access a key";
std::string const no_command = "NOPERM User few has no permissions to run the 'type' command";

struct survey_fixture {
    questions tell(std::vector<answer> const& answers) { return survey.next(answers, 1s); }

    /// Answers the questions about strings that expire.
    questions tell_of_locks(std::size_t locks)
    {
        std::vector<answer> types;
        std::vector<answer> holders;
        for (std::size_t i = 0; i != locks; ++i) {
            types.insert(types.end(), {text_answer("string"), number_answer(5000)});
            holders.insert(holders.end(), {text_answer("owner"),
                                           text_answer("none"),
                                           text_answer("none"),
                                           number_answer(0),
                                           {.type = answer::kind::list}});
        }
        BOOST_TEST(tell(types).count == 5 * locks);
        return tell(holders);
    }

    key_survey survey{{.key_prefix = "prod:", .beginning = "s*", .limit = 2}};
    questions first = survey.next({}, 1s);
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(key_surveys, survey_fixture)

BOOST_AUTO_TEST_CASE(survey_asks_in_steps_until_the_cursor_is_zero)
{
    BOOST_TEST(first.count == 1U);
    BOOST_TEST(
        contains(first.bytes, "SCAN\r\n$1\r\n0\r\n$5\r\nMATCH\r\n$9\r\nprod:s\\**\r\n$5\r\nCOUNT\r\n"));
    questions const second = tell({page_answer("17", {})});
    BOOST_TEST(contains(second.bytes, "SCAN\r\n$2\r\n17\r\n"));
    BOOST_TEST(tell({page_answer("18", {"prod:s*1", "prod:s*1:redlock-fence", "prod:other"})}).count == 2U);
    BOOST_TEST(contains(tell_of_locks(1).bytes, "SCAN\r\n$2\r\n18\r\n"));
    BOOST_TEST(!survey.complete());
    BOOST_TEST(tell({page_answer("0", {})}).count == 0U);
    BOOST_TEST(survey.complete());
    BOOST_TEST(survey.trouble() == "");
    keys_of_node const found = survey.take();
    BOOST_TEST_REQUIRE(found.size() == 1U);
    BOOST_TEST(found.begin()->first == "s*1");
    BOOST_TEST(found.begin()->second.owner == "owner");
    BOOST_TEST((found.begin()->second.left == 5s));
}

BOOST_AUTO_TEST_CASE(survey_keeps_the_first_names_and_one_more)
{
    tell({page_answer("5", {"prod:s*4", "prod:s*9", "prod:s*5"})});
    tell_of_locks(3);
    BOOST_TEST(tell({page_answer("6", {"prod:s*1", "prod:s*99"})}).count ==
               2U); // the last one is not asked for
    tell_of_locks(1);
    BOOST_TEST(tell({page_answer("0", {})}).count == 0U);
    keys_of_node const found = survey.take();
    BOOST_TEST_REQUIRE(found.size() == 3U);
    BOOST_TEST(found.begin()->first == "s*1");
    BOOST_TEST(found.rbegin()->first == "s*5");
}

BOOST_AUTO_TEST_CASE(survey_skips_keys_that_ended_or_are_no_locks)
{
    tell({page_answer("0", {"prod:s*1", "prod:s*2", "prod:s*3", "prod:s*4"})});
    questions const rest =
        tell({text_answer("none"), number_answer(-2), text_answer("string"), number_answer(-1),
              text_answer("list"), number_answer(5000), text_answer("string"), number_answer(5000)});
    BOOST_TEST(rest.count == 5U);
    answer const gone;
    BOOST_TEST(tell({gone, text_answer("none"), text_answer("none"), number_answer(0), gone}).count == 0U);
    BOOST_TEST(survey.complete());
    BOOST_TEST(survey.take().empty());
}

BOOST_AUTO_TEST_CASE(survey_skips_readers_and_permits_that_ended_before_they_were_counted)
{
    tell({page_answer("0", {"prod:s*1", "prod:s*2", "prod:s*3"})});
    tell({text_answer("hash"), number_answer(5000), text_answer("zset"), number_answer(5000),
          text_answer("zset"), number_answer(5000)});
    answer const none{.type = answer::kind::list};
    std::vector<answer> holders;
    for (char const* const who : {"PERMITS", "READERS", "READERS"}) // the last key is asked first
        holders.insert(holders.end(),
                       {text_answer(who), text_answer("none"), text_answer("none"), number_answer(0), none});
    BOOST_TEST(tell(holders).count == 4U);
    answer const empty{.type = answer::kind::list, .list = {"", ""}};
    BOOST_TEST(tell({empty, empty, number_answer(0), number_answer(2)}).count == 0U);
    keys_of_node const found = survey.take();
    BOOST_TEST_REQUIRE(found.size() == 1U);
    BOOST_TEST(found.begin()->first == "s*1");
    BOOST_TEST(found.begin()->second.readers == 2);
}

BOOST_AUTO_TEST_CASE(key_that_ends_between_two_questions_has_no_holder)
{
    answer const no_string = error_answer("WRONGTYPE Operation against a key");
    answer const left = number_answer(1);
    BOOST_TEST((holder_of(no_string, left, text_answer("READERS")) == redlock::holder_kind::readers));
    BOOST_TEST((holder_of(no_string, left, text_answer("NONE")) == redlock::holder_kind::unknown));
    BOOST_TEST((holder_of(no_string, left, error_answer(no_key)) == redlock::holder_kind::maybe_readers));
    tell({page_answer("0", {"prod:s*1"})});
    tell({text_answer("zset"), left});
    tell({text_answer("NONE"), text_answer("none"), text_answer("none"), number_answer(0), {}});
    BOOST_TEST(survey.complete());
    BOOST_TEST(survey.take().empty());
}

BOOST_AUTO_TEST_CASE(survey_hides_keys_that_the_user_may_not_read)
{
    tell({page_answer("0", {"prod:s*1", "prod:s*2"})});
    tell({error_answer(no_key), error_answer(no_key), error_answer(no_key), error_answer(no_key)});
    BOOST_TEST(survey.complete());
    BOOST_TEST(survey.trouble() == "2 keys may not be read: " + no_key);
}

BOOST_AUTO_TEST_CASE(survey_fails_without_a_right_that_it_needs)
{
    tell({page_answer("0", {"prod:s*1", "prod:s*2"})});
    BOOST_TEST(tell({error_answer(no_key), error_answer(no_key), error_answer(no_command), number_answer(1)})
                   .count == 0U);
    BOOST_TEST(!survey.complete());
    BOOST_TEST(survey.trouble() == no_command);
    key_survey other{{.limit = 2}};
    (void)other.next({}, 1s);
    BOOST_TEST(other.next({error_answer("LOADING")}, 1s).count == 0U);
    BOOST_TEST(!other.complete());
    BOOST_TEST(other.trouble() == "LOADING");
}

BOOST_AUTO_TEST_SUITE_END()
