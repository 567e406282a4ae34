#include "redis/server_words.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using redlock::redis::longest_words;
using redlock::redis::quote;

BOOST_AUTO_TEST_SUITE(server_words)

BOOST_AUTO_TEST_CASE(that_fit_are_quoted_whole)
{
    std::string const longest(longest_words, 'x');
    BOOST_TEST(quote("") == "");
    BOOST_TEST(quote("ERR no") == "ERR no");
    BOOST_TEST(quote(longest) == longest);
}

BOOST_AUTO_TEST_CASE(that_are_cut_end_in_dots)
{
    std::string const expected = std::string(longest_words - 3, 'x') + "...";
    BOOST_TEST(quote(std::string(longest_words + 1, 'x')) == expected);
    BOOST_TEST(quote(std::string(10'000, 'x')) == expected);
}

BOOST_AUTO_TEST_CASE(lose_what_forges_lines_before_they_are_cut)
{
    std::string const longest(longest_words, 'x');
    BOOST_TEST(quote("one\r\ntwo\x1b[31m\x7f") == "onetwo[31m");
    BOOST_TEST(quote(std::string(100, '\n') + longest) == longest);
}

BOOST_AUTO_TEST_SUITE_END()
