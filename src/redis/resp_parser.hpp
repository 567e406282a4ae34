// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/resp.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace redlock::redis {

/// The memory that a peer may make us use. The defaults are far above any reply that a lock client asks for.
struct parse_limits {
    std::size_t max_bulk = std::size_t{1} << 20;    ///< bytes of one string or one line
    std::size_t max_skipped = std::size_t{1} << 30; ///< bytes of a longer string that is a reply of its own
    std::size_t max_message = std::size_t{4} << 20; ///< bytes of one message
    std::size_t max_elements = 65536; ///< elements and attributes of one message, all levels together
    std::uint8_t max_depth = 8;       ///< aggregates inside each other
};

enum class parse_status : std::uint8_t { complete, need_more, malformed };

struct parse_result {
    parse_status status = parse_status::need_more;
    std::size_t consumed =
        0; ///< bytes that are not needed any more: of the complete message, or skipped ones
};

/// A reply that an uncontended lock sees, by the hundred in one buffer: +OK, nil in both protocols, and 0 or 1.
struct frequent_reply {
    resp_node const* value = nullptr;
    std::size_t length = 0;

    static constexpr frequent_reply at_start_of(std::string_view input) noexcept
    {
        if (input.size() < 4)
            return {};
        switch (input[0]) {
        case '+': return input.starts_with("+OK\r\n") ? frequent_reply{&ok, 5} : frequent_reply{};
        case ':':
            return (input[1] == '0' || input[1] == '1') && input.substr(2).starts_with("\r\n")
                       ? frequent_reply{&digits[input[1] - '0'], 4}
                       : frequent_reply{};
        case '$': return input.starts_with("$-1\r\n") ? frequent_reply{&nil, 5} : frequent_reply{};
        case '_': return input.starts_with("_\r\n") ? frequent_reply{&nil, 3} : frequent_reply{};
        default: return {};
        }
    }

private:
    static constexpr resp_node ok{.type = resp_type::simple_string, .text = "OK"};
    static constexpr resp_node nil{};
    static constexpr resp_node digits[] = {{.type = resp_type::number, .number = 0},
                                           {.type = resp_type::number, .number = 1}};
};

/// An incremental parser of RESP2 and RESP3 that keeps its position and copies nothing.
///
/// Streamed strings and aggregates (`$?`) are refused: no server in use sends them. Memory grows with the
/// bytes that were really received, never with a length that a peer merely announced.
///
/// If a reply is one string beyond `max_bulk`, it is skipped, and read as an empty string. Otherwise a client that may
/// write keys could cut the connection with a large value under a name that is asked for.
class resp_parser {
public:
    explicit resp_parser(parse_limits limits = {});

    /// Parses one top-level message. `input` starts at the first byte of the message in progress. After `need_more` the
    /// next call passes the same bytes without the consumed ones, at any address, and more. After `malformed` every
    /// call returns `malformed` until `reset()`: the stream has lost its frame.
    parse_result next(std::string_view input)
    {
        if (fresh_) {
            if (auto const found = frequent_reply::at_start_of(input); found.value) {
                message_ = {found.value, 1};
                return {parse_status::complete, found.length};
            }
        }
        return resume(input);
    }

    /// The message just completed, leading attributes included; empty in any other state. Good until the next
    /// call and while the input lives.
    [[nodiscard]] std::span<resp_node const> message() const noexcept { return message_; }

    /// Why the input is malformed.
    [[nodiscard]] std::string_view what() const noexcept { return reason_; }

    void reset() noexcept;

private:
    enum class step : std::uint8_t { value, open, skipped, starved, broken };
    struct frame {
        std::uint32_t missing;
        bool attribute;
    };

    parse_result resume(std::string_view input);
    parse_result skip(std::string_view input);
    step take_value(std::string_view input);
    step find_line(std::string_view input, std::size_t longest, std::string_view& line);
    step take_line_value(std::string_view input, resp_type type);
    step take_payload(std::string_view input, resp_type type);
    step take_aggregate(std::string_view input, resp_type type);
    step add_text(resp_type type, std::size_t offset, std::size_t length);
    step add(resp_node node);
    bool close_values() noexcept;
    std::size_t finish(std::string_view input) noexcept;
    step broken(std::string_view reason) noexcept;

    parse_limits limits_;
    std::vector<resp_node> nodes_;
    std::span<resp_node const> message_;
    std::vector<frame> open_;
    std::size_t used_ = 0;     // nodes of the message in progress
    std::size_t cursor_ = 0;   // first byte not yet understood
    std::size_t searched_ = 0; // no line ends before this byte
    std::size_t declared_ = 0; // elements announced so far
    std::size_t skipping_ = 0; // bytes of the string that is read past, the end of its line included
    bool fresh_ = true;        // between two messages
    std::string_view reason_;
};

} // namespace redlock::redis
