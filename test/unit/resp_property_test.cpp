// SPDX-License-Identifier: BSL-1.0
#include "redis/command.hpp"
#include "redis/resp_parser.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <tuple>
#include <vector>

using namespace redlock::redis;

namespace {

std::size_t allocated_bytes = 0;
std::size_t allocations = 0;

} // namespace

void* operator new(std::size_t size)
{
    ++allocations;
    allocated_bytes += size;
    if (void* const memory = std::malloc(size == 0 ? 1 : size))
        return memory;
    throw std::bad_alloc{};
}

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}

namespace {

// A value as the test builds it, the parser's answer to compare with, and the bytes in between.
struct sample {
    resp_type type = resp_type::null;
    std::int64_t number = 0;
    std::string text;
    std::vector<sample> elements;
};

using flat = std::tuple<resp_type, int, std::size_t, std::int64_t, std::string>;

struct stream {
    std::string wire;
    std::vector<flat> expected;
    std::vector<std::size_t> ends; // ends of messages, in the wire
};

void encode(sample const& value, std::string& out)
{
    static constexpr std::string_view marks = "+-:_#,($!=*%~|>";
    auto const mark = marks[static_cast<std::size_t>(value.type)];
    auto const payload = value.type == resp_type::verbatim_string ? "txt:" + value.text : value.text;
    out += mark;
    switch (value.type) {
    case resp_type::null: out += "\r\n"; return;
    case resp_type::boolean: out += value.number != 0 ? "t\r\n" : "f\r\n"; return;
    case resp_type::number: out += std::to_string(value.number) + "\r\n"; return;
    case resp_type::bulk_string:
    case resp_type::bulk_error:
    case resp_type::verbatim_string:
        out += std::to_string(payload.size()) + "\r\n" + payload + "\r\n";
        return;
    default: break;
    }
    if (!is_aggregate(value.type)) {
        out += payload + "\r\n";
        return;
    }
    bool const pairs = value.type == resp_type::map || value.type == resp_type::attribute;
    out += std::to_string(value.elements.size() / (pairs ? 2 : 1)) + "\r\n";
    for (auto const& element : value.elements)
        encode(element, out);
}

void flatten(sample const& value, int depth, std::vector<flat>& out)
{
    out.emplace_back(value.type, depth, value.elements.size(), value.number, value.text);
    for (auto const& element : value.elements)
        flatten(element, depth + 1, out);
}

std::vector<flat> flatten(std::span<resp_node const> message)
{
    std::vector<flat> out;
    for (auto const& node : message)
        out.emplace_back(node.type, node.depth, node.size, node.number, node.text);
    return out;
}

std::string line_text()
{
    auto text = *rc::gen::arbitrary<std::string>();
    std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
    return text;
}

sample any_scalar()
{
    sample value;
    value.type =
        *rc::gen::element(resp_type::simple_string, resp_type::simple_error, resp_type::number,
                          resp_type::null, resp_type::boolean, resp_type::real, resp_type::big_number,
                          resp_type::bulk_string, resp_type::bulk_error, resp_type::verbatim_string);
    switch (value.type) {
    case resp_type::number: value.number = *rc::gen::arbitrary<std::int64_t>(); break;
    case resp_type::boolean: value.number = *rc::gen::inRange(0, 2); break;
    case resp_type::real: value.text = std::to_string(*rc::gen::arbitrary<double>()); break;
    case resp_type::big_number:
        value.text = std::to_string(*rc::gen::arbitrary<std::int64_t>()) + "000";
        break;
    case resp_type::simple_string:
    case resp_type::simple_error: value.text = line_text(); break;
    case resp_type::null: break;
    default: value.text = *rc::gen::arbitrary<std::string>(); break;
    }
    return value;
}

sample any_value(int depth);

sample any_aggregate(resp_type type, int depth)
{
    sample value{.type = type, .number = 0, .text = {}, .elements = {}};
    bool const pairs = type == resp_type::map || type == resp_type::attribute;
    auto const size = *rc::gen::inRange(0, 4) * (pairs ? 2 : 1);
    for (int i = 0; i < size; ++i)
        value.elements.push_back(any_value(depth + 1));
    return value;
}

sample any_value(int depth)
{
    if (depth >= 4 || *rc::gen::inRange(0, 3) != 0)
        return any_scalar();
    return any_aggregate(*rc::gen::element(resp_type::array, resp_type::map, resp_type::set), depth);
}

stream any_stream()
{
    stream result;
    auto const messages = *rc::gen::inRange(1, 6);
    for (int i = 0; i < messages; ++i) {
        std::vector<sample> parts;
        if (*rc::gen::inRange(0, 4) == 0)
            parts.push_back(any_aggregate(resp_type::attribute, 0));
        if (*rc::gen::inRange(0, 4) == 0)
            parts.push_back(any_aggregate(resp_type::push, 0));
        else
            parts.push_back(any_value(0));
        for (auto const& part : parts) {
            encode(part, result.wire);
            flatten(part, 0, result.expected);
        }
        result.ends.push_back(result.wire.size());
    }
    return result;
}

struct outcome {
    std::vector<flat> values;
    std::vector<std::size_t> ends;
    parse_status status = parse_status::need_more;

    bool operator==(outcome const&) const = default;
};

// Feeds the bytes as they would come from a network, out of a buffer of exactly their size that moves every
// time.
outcome feed(std::string_view wire, std::vector<std::size_t> const& cuts, parse_limits limits = {})
{
    outcome result;
    resp_parser parser{limits};
    std::size_t begin = 0;
    for (auto const cut : cuts) {
        for (;;) {
            std::vector<char> const buffer(wire.begin() + static_cast<std::ptrdiff_t>(begin),
                                           wire.begin() + static_cast<std::ptrdiff_t>(cut));
            auto const [status, consumed] = parser.next({buffer.data(), buffer.size()});
            result.status = status;
            if (status == parse_status::malformed)
                return result;
            if (status == parse_status::need_more) {
                begin += consumed;
                break;
            }
            RC_ASSERT(consumed > 0U && consumed <= buffer.size());
            auto const values = flatten(parser.message());
            result.values.insert(result.values.end(), values.begin(), values.end());
            begin += consumed;
            result.ends.push_back(begin);
        }
    }
    return result;
}

std::vector<std::size_t> any_cuts(std::size_t size)
{
    auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, size + 1));
    std::sort(cuts.begin(), cuts.end());
    cuts.push_back(size);
    return cuts;
}

std::vector<std::size_t> every_byte(std::size_t size)
{
    std::vector<std::size_t> cuts;
    for (std::size_t i = 1; i <= size; ++i)
        cuts.push_back(i);
    return cuts;
}

std::string mutated(std::string wire)
{
    auto const changes = *rc::gen::inRange(1, 5);
    for (int i = 0; i < changes && !wire.empty(); ++i) {
        auto const at = *rc::gen::inRange<std::size_t>(0, wire.size());
        switch (*rc::gen::inRange(0, 4)) {
        case 0: wire[at] = *rc::gen::arbitrary<char>(); break;
        case 1: wire.erase(at, *rc::gen::inRange<std::size_t>(1, 4)); break;
        case 2: wire.insert(at, 1, *rc::gen::element('\r', '\n', '*', '%', '|', '>', '$', '-', '9')); break;
        default:
            wire.insert(at, *rc::gen::element<std::string>("*65536\r\n", "$1048576\r\n", "$1048577\r\n",
                                                           "|0\r\n", "999999"));
            break;
        }
    }
    return wire;
}

} // namespace

BOOST_AUTO_TEST_SUITE(resp_property)

RC_BOOST_PROP(parser_reads_same_values_in_any_chunks, ())
{
    auto const input = any_stream();
    auto const result = feed(input.wire, any_cuts(input.wire.size()));
    RC_ASSERT(result.values == input.expected);
    RC_ASSERT(result.ends == input.ends);
    RC_ASSERT(result.status == parse_status::need_more);
}

RC_BOOST_PROP(parser_judges_broken_stream_the_same_in_any_chunks, ())
{
    auto const wire = mutated(any_stream().wire);
    auto const at_once = feed(wire, {wire.size()});
    RC_ASSERT(feed(wire, any_cuts(wire.size())) == at_once);
    RC_ASSERT(feed(wire, every_byte(wire.size())) == at_once);
}

RC_BOOST_PROP(parser_memory_is_bounded_by_received_bytes, ())
{
    auto const wire = mutated(any_stream().wire);
    resp_parser parser;
    auto const before = allocated_bytes;
    std::string_view rest = wire;
    for (auto result = parser.next(rest); result.status == parse_status::complete; result = parser.next(rest))
        rest.remove_prefix(result.consumed);
    // The shortest value has three bytes; a growing vector gives away what it held, twice at most over all.
    RC_ASSERT(allocated_bytes - before <= 4 * sizeof(resp_node) * (wire.size() / 3 + 2));
}

RC_BOOST_PROP(command_is_parsed_back_to_its_arguments, (std::vector<std::string> const& args))
{
    RC_PRE(!args.empty());
    std::vector<std::string_view> const views(args.begin(), args.end());
    std::string wire;
    append_command(wire, views);
    resp_parser parser;
    RC_ASSERT(parser.next(wire).consumed == wire.size());
    auto const message = parser.message();
    RC_ASSERT(message.size() == args.size() + 1);
    for (std::size_t i = 0; i < args.size(); ++i)
        RC_ASSERT(message[i + 1].text == args[i]);
}

BOOST_AUTO_TEST_CASE(parser_reads_batch_of_replies_without_allocation)
{
    std::string batch;
    for (int i = 0; i < 500; ++i)
        batch += "+OK\r\n$-1\r\n_\r\n:1\r\n-NOAUTH no\r\n$5\r\nhello\r\n";
    resp_parser parser;
    std::size_t replies = 0;
    auto const before = allocations;
    std::string_view rest = batch;
    for (auto result = parser.next(rest); result.status == parse_status::complete;
         result = parser.next(rest)) {
        rest.remove_prefix(result.consumed);
        ++replies;
    }
    auto const after = allocations;
    BOOST_TEST(after == before);
    BOOST_TEST(replies == 3000U);
    BOOST_TEST(rest.empty());
}

BOOST_AUTO_TEST_SUITE_END()
