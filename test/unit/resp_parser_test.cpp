// SPDX-License-Identifier: BSL-1.0
#include "redis/resp_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <vector>

using namespace redlock::redis;

namespace {

using namespace std::string_view_literals;

parse_status parse(std::string_view input, parse_limits limits = {})
{
    return resp_parser{limits}.next(input).status;
}

// A message as text that a reader can check: "depth type size|number|text" per value.
std::string describe(std::span<resp_node const> message)
{
    static constexpr std::string_view names[] = {"simple", "error", "number", "null",  "bool",
                                                 "real",   "big",   "bulk",   "bulk!", "verbatim",
                                                 "array",  "map",   "set",    "attr",  "push"};
    std::string result;
    for (auto const& node : message) {
        result.append(node.depth * 2U, ' ').append(names[static_cast<std::size_t>(node.type)]);
        if (is_aggregate(node.type))
            result += ' ' + std::to_string(node.size);
        else if (node.type == resp_type::number || node.type == resp_type::boolean)
            result += ' ' + std::to_string(node.number);
        else if (node.type != resp_type::null)
            result.append(" ").append(node.text);
        result += '\n';
    }
    return result;
}

// Parses the whole input as one message, first at once, then byte by byte out of a buffer that moves every
// time.
std::string read(std::string_view input)
{
    resp_parser parser;
    auto const result = parser.next(input);
    BOOST_TEST((result.status == parse_status::complete));
    BOOST_TEST(result.consumed == input.size());
    auto const at_once = describe(parser.message());

    resp_parser dribbled;
    for (std::size_t length = 0; length < input.size(); ++length) {
        std::vector<char> const moved(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(length));
        BOOST_TEST((dribbled.next({moved.data(), moved.size()}).status == parse_status::need_more));
        BOOST_TEST(dribbled.message().empty());
    }
    BOOST_TEST((dribbled.next(input).status == parse_status::complete));
    BOOST_TEST(describe(dribbled.message()) == at_once);
    return at_once;
}

} // namespace

BOOST_AUTO_TEST_SUITE(resp_parsing)

BOOST_AUTO_TEST_CASE(parser_reads_every_resp_type)
{
    struct row {
        std::string_view wire;
        std::string_view expected;
    };
    row const rows[] = {
        {"+OK\r\n", "simple OK\n"},
        {"+\r\n", "simple \n"},
        {"+QUEUED\r\n", "simple QUEUED\n"},
        {"-ERR no\r\n", "error ERR no\n"},
        {":0\r\n", "number 0\n"},
        {":1\r\n", "number 1\n"},
        {":-1\r\n", "number -1\n"},
        {":+12\r\n", "number 12\n"},
        {":9223372036854775807\r\n", "number 9223372036854775807\n"},
        {":-9223372036854775808\r\n", "number -9223372036854775808\n"},
        {"$-1\r\n", "null\n"},
        {"*-1\r\n", "null\n"},
        {"_\r\n", "null\n"},
        {"#t\r\n", "bool 1\n"},
        {"#f\r\n", "bool 0\n"},
        {",3.25\r\n", "real 3.25\n"},
        {",-1e-3\r\n", "real -1e-3\n"},
        {",+2.5\r\n", "real +2.5\n"},
        {",inf\r\n", "real inf\n"},
        {",-inf\r\n", "real -inf\n"},
        {",nan\r\n", "real nan\n"},
        {",1e999\r\n", "real 1e999\n"},
        {"(3492890328409238509324850943850943825024385\r\n",
         "big 3492890328409238509324850943850943825024385\n"},
        {"(-12\r\n", "big -12\n"},
        {"$0\r\n\r\n", "bulk \n"},
        {"$5\r\na\r\nb\n\r\n", "bulk a\r\nb\n\n"},
        {"!9\r\nSYNTAX no\r\n", "bulk! SYNTAX no\n"},
        {"=7\r\ntxt:a\r\n\r\n", "verbatim a\r\n\n"},
        {"=4\r\nmkd:\r\n", "verbatim \n"},
        {"*0\r\n", "array 0\n"},
        {"%0\r\n", "map 0\n"},
        {"~0\r\n", "set 0\n"},
        {">0\r\n", "push 0\n"},
        {"*3\r\n:1\r\n$-1\r\n*1\r\n+a\r\n", "array 3\n  number 1\n  null\n  array 1\n    simple a\n"},
        {"*2\r\n*0\r\n*0\r\n", "array 2\n  array 0\n  array 0\n"},
        {"%2\r\n+a\r\n:1\r\n+b\r\n%1\r\n+c\r\n_\r\n",
         "map 4\n  simple a\n  number 1\n  simple b\n  map 2\n    simple c\n    null\n"},
        {"~2\r\n+a\r\n#t\r\n", "set 2\n  simple a\n  bool 1\n"},
        {">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n", "push 2\n  simple invalidate\n  array 1\n    bulk k\n"},
        {"|1\r\n+ttl\r\n:3\r\n+OK\r\n", "attr 2\n  simple ttl\n  number 3\nsimple OK\n"},
        {"|0\r\n|1\r\n+a\r\n*0\r\n:7\r\n", "attr 0\nattr 2\n  simple a\n  array 0\nnumber 7\n"},
        {"*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n|0\r\n:2\r\n",
         "array 2\n  attr 2\n    simple a\n    simple b\n  number 1\n  attr 0\n  number 2\n"},
        {"$3\r\na\0b\r\n"sv, "bulk a\0b\n"sv},
    };
    for (auto const& row : rows)
        BOOST_TEST_CONTEXT(row.wire)
    BOOST_TEST(read(row.wire) == row.expected);
}

BOOST_AUTO_TEST_CASE(parser_refuses_malformed_input)
{
    std::string_view const inputs[] = {
        "\r\n",
        "OK\r\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "\0"sv,
        "+O\nK\r\n",
        "+O\rK\r\n",
        "+OK\n",
        ":\r\n",
        ":-\r\n",
        ":+\r\n",
        ":+-1\r\n",
        ":--1\r\n",
        ": 1\r\n",
        ":1 \r\n",
        ":1.0\r\n",
        ":0x1\r\n",
        ":9223372036854775808\r\n",
        ":-9223372036854775809\r\n",
        ":00000000000000000000000000000000000000000001",
        "$\r\n",
        "$-2\r\n",
        "$+1\r\na\r\n",
        "$?\r\n",
        "*?\r\n",
        "%-1\r\n",
        "!-1\r\n",
        "$1a\r\n",
        "$18446744073709551616\r\n",
        "$99999999999999999999999999999999999",
        "$1\r\nab\r\n",
        "$1\r\na\n\r",
        "_x\r\n",
        "#\r\n",
        "#true\r\n",
        ",\r\n",
        ",1,5\r\n",
        ",+-1\r\n",
        "(\r\n",
        "(-\r\n",
        "(12a\r\n",
        "=3\r\ntxt\r\n",
        "=5\r\ntxt-a\r\n",
        "*1\r\n>0\r\n",
        "*1\r\nx",
        "%9223372036854775808\r\n",
    };
    for (auto const input : inputs) {
        BOOST_TEST_CONTEXT(input)
        {
            resp_parser parser;
            auto const result = parser.next(input);
            BOOST_TEST((result.status == parse_status::malformed));
            BOOST_TEST(result.consumed == 0U);
            BOOST_TEST(parser.message().empty());
            BOOST_TEST(!parser.what().empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(parser_stays_broken_until_reset)
{
    resp_parser parser;
    BOOST_TEST((parser.next("?\r\n").status == parse_status::malformed));
    BOOST_TEST((parser.next("+OK\r\n").status == parse_status::malformed));
    parser.reset();
    BOOST_TEST(parser.what().empty());
    BOOST_TEST((parser.next("+OK\r\n").status == parse_status::complete));
}

BOOST_AUTO_TEST_CASE(parser_reset_forgets_message_in_progress)
{
    resp_parser parser;
    BOOST_TEST((parser.next("*3\r\n:1\r\n").status == parse_status::need_more));
    parser.reset();
    BOOST_TEST((parser.next("+OK\r\n").status == parse_status::complete));
    BOOST_TEST(describe(parser.message()) == "simple OK\n");
}

BOOST_AUTO_TEST_CASE(parser_takes_one_message_at_a_time_from_batch)
{
    std::string_view input = "+OK\r\n$-1\r\n_\r\n:1\r\n>1\r\n+p\r\n$2\r\nhi\r\n+O";
    resp_parser parser;
    std::string all;
    parse_result result;
    while ((result = parser.next(input)).status == parse_status::complete) {
        all += describe(parser.message());
        input.remove_prefix(result.consumed);
    }
    BOOST_TEST((result.status == parse_status::need_more));
    BOOST_TEST(input == "+O");
    BOOST_TEST(all == "simple OK\nnull\nnull\nnumber 1\npush 1\n  simple p\nbulk hi\n");
    BOOST_TEST((parser.next("+OK\r\n").consumed == 5U));
}

BOOST_AUTO_TEST_CASE(parser_refuses_message_above_its_limits)
{
    parse_limits const limits{
        .max_bulk = 10, .max_skipped = 20, .max_message = 40, .max_elements = 4, .max_depth = 2};
    struct row {
        std::string_view wire;
        parse_status expected;
    };
    row const rows[] = {
        {"$10\r\n0123456789\r\n", parse_status::complete},
        {"$11\r\n", parse_status::need_more},
        {"$21\r\n", parse_status::malformed},
        {"!11\r\n", parse_status::malformed},
        {"=11\r\n", parse_status::malformed},
        {"*1\r\n$11\r\n", parse_status::malformed},
        {"|1\r\n:1\r\n:1\r\n$11\r\n", parse_status::malformed},
        {"$4294967296\r\n", parse_status::malformed},
        {"+0123456789\r\n", parse_status::complete},
        {"+01234567890\r\n", parse_status::malformed},
        {"+0123456789\r", parse_status::need_more},
        {"+01234567890123", parse_status::malformed},
        {"*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", parse_status::complete},
        {"*5\r\n", parse_status::malformed},
        {"*2\r\n*3\r\n", parse_status::malformed},
        {"%2\r\n", parse_status::need_more},
        {"%3\r\n", parse_status::malformed},
        {"|0\r\n|0\r\n|0\r\n|0\r\n", parse_status::need_more},
        {"|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n", parse_status::malformed},
        {"*1\r\n*1\r\n:1\r\n", parse_status::complete},
        {"*1\r\n*1\r\n*0\r\n", parse_status::complete},
        {"*1\r\n*1\r\n*1\r\n", parse_status::malformed},
        {"*4\r\n$10\r\n0123456789\r\n$10\r\n0123456789\r\n$1", parse_status::need_more},
        {"*4\r\n$10\r\n0123456789\r\n$10\r\n0123456789\r\n$10\r\n", parse_status::malformed},
        {"*4\r\n$10\r\n0123456789\r\n+0123456789\r\n+01234\r\n", parse_status::malformed},
    };
    for (auto const& row : rows)
        BOOST_TEST_CONTEXT(row.wire)
    BOOST_TEST((parse(row.wire, limits) == row.expected));
}

BOOST_AUTO_TEST_CASE(parser_skips_reply_too_long_to_keep)
{
    std::string const wire = "$11\r\n0123456789\n\r\n:1\r\n";
    for (std::size_t chunk = 1; chunk <= wire.size(); ++chunk) {
        BOOST_TEST_CONTEXT(chunk)
        {
            resp_parser parser{{.max_bulk = 10}};
            std::string said;
            std::string held;
            for (std::size_t at = 0; at < wire.size(); at += chunk) {
                held += wire.substr(at, chunk);
                for (auto result = parser.next(held);; result = parser.next(held)) {
                    if (result.status == parse_status::complete)
                        said += describe(parser.message());
                    held.erase(0, result.consumed);
                    if (result.status != parse_status::complete)
                        break;
                }
                BOOST_TEST(held.size() < chunk + 5);
            }
            BOOST_TEST(said == "bulk \nnumber 1\n");
        }
    }
    resp_parser parser{{.max_bulk = 1}};
    BOOST_TEST((parser.next("$2\r\nab\n\n").status == parse_status::malformed));
    BOOST_TEST(parser.what() == "string without its end of line");
    BOOST_TEST((parser.next("+OK\r\n").status == parse_status::malformed));
    parser.reset();
    BOOST_TEST((parser.next("$2\r\nab\r").status == parse_status::need_more));
    parser.reset();
    BOOST_TEST((parser.next("+OK\r\n").consumed == 5U));
}

BOOST_AUTO_TEST_CASE(parser_limits_may_be_largest_values_of_their_types)
{
    constexpr auto widest = std::numeric_limits<std::size_t>::max();
    parse_limits const limits{.max_bulk = widest,
                              .max_skipped = widest,
                              .max_message = widest,
                              .max_elements = widest,
                              .max_depth = 255};
    BOOST_TEST((parse("$18446744073709551615\r\n", limits) == parse_status::malformed));
    BOOST_TEST((parse("*18446744073709551615\r\n", limits) == parse_status::malformed));
    BOOST_TEST((parse("%9223372036854775808\r\n", limits) == parse_status::malformed));
    BOOST_TEST((parse("$2147483647\r\n", limits) == parse_status::need_more));
}

BOOST_AUTO_TEST_CASE(value_skips_only_leading_attributes)
{
    resp_parser parser;
    BOOST_TEST((parser.next("|1\r\n+a\r\n*1\r\n:5\r\n|0\r\n*2\r\n|0\r\n:1\r\n:2\r\n").status ==
                parse_status::complete));
    BOOST_TEST(describe(body(parser.message())) == "array 2\n  attr 0\n  number 1\n  number 2\n");
    BOOST_TEST((value(parser.message()).type == resp_type::array));
    BOOST_TEST(body({}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
