// SPDX-License-Identifier: BSL-1.0
#include "redis/server_words.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using redlock::redis::longest_words;
using redlock::redis::quote;

BOOST_AUTO_TEST_SUITE(server_texts)

BOOST_AUTO_TEST_CASE(server_text_that_fits_is_quoted_whole)
{
    std::string const longest(longest_words, 'x');
    BOOST_TEST(quote("") == "");
    BOOST_TEST(quote("ERR no") == "ERR no");
    BOOST_TEST(quote(longest) == longest);
}

BOOST_AUTO_TEST_CASE(server_text_that_is_cut_ends_in_dots)
{
    std::string const expected = std::string(longest_words - 3, 'x') + "...";
    BOOST_TEST(quote(std::string(longest_words + 1, 'x')) == expected);
    BOOST_TEST(quote(std::string(10'000, 'x')) == expected);
}

BOOST_AUTO_TEST_CASE(server_text_loses_control_characters_before_it_is_cut)
{
    std::string const longest(longest_words, 'x');
    BOOST_TEST(quote("one\r\ntwo\x1b[31m\x7f") == "onetwo[31m");
    BOOST_TEST(quote(std::string(100, '\n') + longest) == longest);
}

BOOST_AUTO_TEST_CASE(server_text_loses_control_characters_of_two_bytes)
{
    BOOST_TEST(quote("a\xc2\x9b[31m\xc2\x80z\xc2\x9f") == "a[31mz");
    BOOST_TEST(quote("\xc2\x01\x9bz") == "z"); // the rest must not form one
    BOOST_TEST(quote("\xc2\xc2\x9b\x9bz") == "z");
    BOOST_TEST(quote("\xc2\xa7 \xc3\x9b") == "\xc2\xa7 \xc3\x9b");
}

BOOST_AUTO_TEST_CASE(name_shows_control_characters)
{
    using redlock::redis::quote_name;
    std::string const longest(longest_words, 'x');
    BOOST_TEST(quote_name(std::string("a\0b\n\x7f", 5)) == "a\\x00b\\x0a\\x7f");
    BOOST_TEST(quote_name("caf\xc3\xa9") == "caf\xc3\xa9");
    BOOST_TEST(quote_name("a\xc2\x9b[31m\xc3\x9b") == "a\\xc2\\x9b[31m\xc3\x9b");
    BOOST_TEST(quote_name(longest) == longest);
    BOOST_TEST(quote_name(longest + 'x').size() == longest_words);
}

BOOST_AUTO_TEST_SUITE_END()
