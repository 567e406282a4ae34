// SPDX-License-Identifier: BSL-1.0
#include "redis/resp_parser.hpp"

#include "redis/resp_number.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <limits>

namespace redlock::redis {
namespace {

// A sign, 19 digits and some grace for leading zeros: a longer header cannot be a valid number.
constexpr std::size_t longest_header = 32;

constexpr bool line_ends(std::string_view input, std::size_t at) noexcept
{
    return input[at] == '\r' && input[at + 1] == '\n';
}

constexpr resp_node skipped{.type = resp_type::bulk_string, .text = ""}; // and no null: it is copied from

} // namespace

resp_parser::resp_parser(parse_limits limits) : limits_{limits}, nodes_(1)
{
    // While a message is incomplete, a text's offset and length share the node with fields of 32 bits.
    limits_.max_bulk = std::min<std::size_t>(limits_.max_bulk, std::numeric_limits<std::int32_t>::max());
    limits_.max_elements =
        std::min<std::size_t>(limits_.max_elements, std::numeric_limits<std::int32_t>::max());
    limits_.max_skipped =
        std::min<std::size_t>(limits_.max_skipped, std::numeric_limits<std::int64_t>::max());
    open_.reserve(limits_.max_depth);
}

void resp_parser::reset() noexcept
{
    open_.clear();
    message_ = {};
    used_ = cursor_ = searched_ = declared_ = skipping_ = 0;
    fresh_ = true;
    reason_ = {};
}

parse_result resp_parser::resume(std::string_view input)
{
    message_ = {};
    fresh_ = false;
    if (!reason_.empty())
        return {parse_status::malformed, 0};
    if (skipping_ != 0)
        return skip(input);
    for (;;) {
        switch (take_value(input)) {
        case step::skipped: return skip(input);
        case step::starved: return {parse_status::need_more, 0};
        case step::broken: return {parse_status::malformed, 0};
        case step::open: break;
        case step::value:
            if (close_values())
                return {parse_status::complete, finish(input)};
        }
    }
}

parse_result resp_parser::skip(std::string_view input)
{
    constexpr std::size_t line_end = 2;
    auto const part = std::min(input.size(), skipping_ - line_end);
    skipping_ -= part;
    if (input.size() < part + skipping_)
        return {parse_status::need_more, part};
    if (!line_ends(input, part)) {
        broken("string without its end of line");
        return {parse_status::malformed, 0};
    }
    reset();
    message_ = {&skipped, 1};
    return {parse_status::complete, part + line_end};
}

resp_parser::step resp_parser::take_value(std::string_view input)
{
    if (cursor_ >= limits_.max_message)
        return broken("message too long");
    if (cursor_ >= input.size())
        return step::starved;
    switch (input[cursor_]) {
    case '+': return take_line_value(input, resp_type::simple_string);
    case '-': return take_line_value(input, resp_type::simple_error);
    case ':': return take_line_value(input, resp_type::number);
    case '_': return take_line_value(input, resp_type::null);
    case '#': return take_line_value(input, resp_type::boolean);
    case ',': return take_line_value(input, resp_type::real);
    case '(': return take_line_value(input, resp_type::big_number);
    case '$': return take_payload(input, resp_type::bulk_string);
    case '!': return take_payload(input, resp_type::bulk_error);
    case '=': return take_payload(input, resp_type::verbatim_string);
    case '*': return take_aggregate(input, resp_type::array);
    case '%': return take_aggregate(input, resp_type::map);
    case '~': return take_aggregate(input, resp_type::set);
    case '|': return take_aggregate(input, resp_type::attribute);
    case '>': return take_aggregate(input, resp_type::push);
    default: return broken("unknown type of value");
    }
}

// Answers the line at the cursor without its type and its end. The search goes on where it stopped, so that a
// line that arrives byte by byte is looked at once.
resp_parser::step resp_parser::find_line(std::string_view input, std::size_t longest, std::string_view& line)
{
    auto const start = cursor_ + 1;
    auto const feed = input.find('\n', std::max(start, searched_));
    if (feed == std::string_view::npos) {
        searched_ = input.size();
        return input.size() - start > longest + 1 ? broken("line too long") : step::starved;
    }
    if (feed == start || input[feed - 1] != '\r')
        return broken("line feed without carriage return");
    line = input.substr(start, feed - 1 - start);
    if (line.size() > longest)
        return broken("line too long");
    if (feed >= limits_.max_message)
        return broken("message too long");
    return step::value;
}

resp_parser::step resp_parser::take_line_value(std::string_view input, resp_type type)
{
    bool const long_line = type != resp_type::number && type != resp_type::null && type != resp_type::boolean;
    std::string_view line;
    auto const found = find_line(input, long_line ? limits_.max_bulk : longest_header, line);
    if (found != step::value)
        return found;
    auto const offset = cursor_ + 1;
    cursor_ = offset + line.size() + 2;
    switch (type) {
    case resp_type::number: {
        resp_node node{.type = type};
        return read_integer(line, node.number) ? add(node) : broken("bad number");
    }
    case resp_type::null: return line.empty() ? add({}) : broken("bad null");
    case resp_type::boolean:
        if (line != "t" && line != "f")
            return broken("bad boolean");
        return add({.type = type, .number = line == "t"});
    case resp_type::real: return is_real(line) ? add_text(type, offset, line.size()) : broken("bad double");
    case resp_type::big_number:
        return is_big_number(line) ? add_text(type, offset, line.size()) : broken("bad big number");
    default:
        if (line.find('\r') != std::string_view::npos)
            return broken("carriage return inside a line");
        return add_text(type, offset, line.size());
    }
}

resp_parser::step resp_parser::take_payload(std::string_view input, resp_type type)
{
    std::string_view line;
    if (auto const found = find_line(input, longest_header, line); found != step::value)
        return found;
    auto offset = cursor_ + line.size() + 3;
    if (type == resp_type::bulk_string && line == "-1") {
        cursor_ = offset;
        return add({});
    }
    std::size_t length = 0;
    if (!read_number(line, length))
        return broken("bad length");
    if (length > limits_.max_bulk) {
        if (type != resp_type::bulk_string || used_ != 0 || length > limits_.max_skipped)
            return broken("string too long");
        skipping_ = offset + length + 2;
        return step::skipped;
    }
    if (offset + length + 2 > limits_.max_message)
        return broken("message too long");
    if (input.size() < offset + length + 2)
        return step::starved;
    if (!line_ends(input, offset + length))
        return broken("string without its end of line");
    cursor_ = offset + length + 2;
    if (type == resp_type::verbatim_string) {
        if (length < 4 || input[offset + 3] != ':')
            return broken("verbatim string without its format");
        offset += 4;
        length -= 4;
    }
    return add_text(type, offset, length);
}

resp_parser::step resp_parser::take_aggregate(std::string_view input, resp_type type)
{
    std::string_view line;
    if (auto const found = find_line(input, longest_header, line); found != step::value)
        return found;
    bool const attribute = type == resp_type::attribute;
    std::size_t size = 0;
    if (type == resp_type::array && line == "-1") {
        cursor_ += line.size() + 3;
        return add({});
    }
    if (!read_number(line, size))
        return broken("bad length");
    if (type == resp_type::push && !open_.empty())
        return broken("push inside another value");
    if (size > limits_.max_elements)
        return broken("too many elements");
    if (type == resp_type::map || attribute)
        size *= 2;
    // An attribute is no element of what encloses it, so nothing else would bound a run of empty ones.
    declared_ += size + (attribute ? 1 : 0);
    if (declared_ > limits_.max_elements)
        return broken("too many elements");
    if (size != 0 && open_.size() >= limits_.max_depth)
        return broken("nested too deeply");
    cursor_ += line.size() + 3;
    auto const count = static_cast<std::uint32_t>(size);
    add({.type = type, .size = count});
    if (size == 0 && !attribute)
        return step::value;
    if (size != 0)
        open_.push_back({count, attribute});
    return step::open;
}

// The bytes may move before the message is complete: until finish() a text is its offset and its length.
resp_parser::step resp_parser::add_text(resp_type type, std::size_t offset, std::size_t length)
{
    return add({.type = type,
                .size = static_cast<std::uint32_t>(length),
                .number = static_cast<std::int64_t>(offset)});
}

resp_parser::step resp_parser::add(resp_node node)
{
    node.depth = static_cast<std::uint8_t>(open_.size());
    if (used_ < nodes_.size())
        nodes_[used_] = node;
    else
        nodes_.push_back(node);
    ++used_;
    return step::value;
}

// A value has ended: closes what ends with it. True when that was the message.
bool resp_parser::close_values() noexcept
{
    while (!open_.empty()) {
        auto& innermost = open_.back();
        if (--innermost.missing != 0)
            return false;
        bool const attribute = innermost.attribute;
        open_.pop_back();
        if (attribute)
            return false;
    }
    return true;
}

std::size_t resp_parser::finish(std::string_view input) noexcept
{
    for (auto& node : std::span{nodes_}.first(used_)) {
        bool const textual = !is_aggregate(node.type) && node.type != resp_type::number &&
                             node.type != resp_type::null && node.type != resp_type::boolean;
        if (!textual)
            continue;
        node.text = {input.data() + node.number, node.size};
        node.number = 0;
        node.size = 0;
    }
    auto const length = cursor_;
    auto const count = used_;
    reset();
    message_ = std::span{nodes_}.first(count);
    return length;
}

resp_parser::step resp_parser::broken(std::string_view reason) noexcept
{
    reason_ = reason;
    return step::broken;
}

} // namespace redlock::redis
