// SPDX-License-Identifier: BSL-1.0
#include "fuzz/require.hpp"
#include "redis/handshake.hpp"
#include "redis/resp_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

using namespace redlock::redis;
using redlock::fuzz::require;

namespace {

struct judgement {
    std::vector<std::size_t> ends;
    std::vector<resp_type> types;
    parse_status status = parse_status::need_more;

    bool operator==(judgement const&) const = default;
};

void check(std::span<resp_node const> message, std::string_view input, parse_limits const& limits)
{
    require(!message.empty() && message.size() <= limits.max_elements + 1);
    require(!body(message).empty() && body(message).front().depth == 0);
    for (auto const& node : message) {
        require(node.depth <= limits.max_depth);
        bool const inside = node.text.data() >= input.data() &&
                            node.text.data() + node.text.size() <= input.data() + input.size();
        require(node.text.empty() || inside || input == "+OK\r\n"); // for which a constant stands
    }
}

// Every chunk comes in memory of exactly its size, so that the sanitizer sees a read beyond it.
judgement feed(std::string_view wire, std::size_t chunk, parse_limits const& limits)
{
    judgement result;
    resp_parser parser{limits};
    handshake machine{{.password = "pw", .database = 1}};
    std::size_t begin = 0;
    for (std::size_t cut = 0; cut < wire.size();) {
        cut = std::min(wire.size(), cut + chunk);
        for (;;) {
            std::vector<char> const buffer(wire.data() + begin, wire.data() + cut);
            std::string_view const input{buffer.data(), buffer.size()};
            auto const [status, consumed] = parser.next(input);
            result.status = status;
            if (status == parse_status::malformed)
                return result;
            if (status == parse_status::need_more) {
                require(consumed <= input.size());
                begin += consumed;
                break;
            }
            require(consumed > 0 && consumed <= input.size());
            check(parser.message(), input.substr(0, consumed), limits);
            require(machine.failure_text().size() <= 200);
            machine.on_reply(parser.message());
            machine.take_output();
            for (auto const& node : parser.message())
                result.types.push_back(node.type);
            begin += consumed;
            result.ends.push_back(begin);
        }
    }
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    if (size < 1 || size > 4096)
        return 0;
    parse_limits const limits{
        .max_bulk = 512, .max_skipped = 1024, .max_message = 2048, .max_elements = 64, .max_depth = 4};
    std::string_view const wire{reinterpret_cast<char const*>(data) + 1, size - 1};
    auto const at_once = feed(wire, wire.size() + 1, limits);
    require(feed(wire, 1U + data[0] % 32U, limits) == at_once);
    return 0;
}
