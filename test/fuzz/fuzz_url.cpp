// SPDX-License-Identifier: BSL-1.0
#include "fuzz/require.hpp"
#include "redis/url.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace redlock::redis;
using redlock::fuzz::require;

namespace {

void check(endpoint const& node)
{
    auto const shown = display(node);
    auto const again = parse_url(shown);
    require(std::holds_alternative<endpoint>(again));
    auto const& same = std::get<endpoint>(again);
    require(same_server(node, node) && same_server(node, same) && same_server(same, node));
    require(same.transport == node.transport && same.database == node.database && display(same) == shown);
    require(same.username.empty() && same.password.empty());
    require(node.port != 0 && (node.transport == endpoint::kind::unix_socket) == !node.path.empty());
    require(node.host.find('\0') == std::string::npos && node.path.find('\0') == std::string::npos);
}

bool printable(std::string_view text)
{
    return text.find_first_of(std::string_view{"\0\r\n\t\x1b\x7f", 6}) == std::string_view::npos;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    std::string const url(reinterpret_cast<char const*>(data), size);
    auto const parsed = parse_url(url);
    if (auto const* const node = std::get_if<endpoint>(&parsed))
        check(*node);
    else
        require(printable(std::get<url_error>(parsed).message));

    // The secret holds every mark that could make a parser mistake it for something else.
    std::string const secret = "QX7";
    if (url.find(secret) != std::string::npos)
        return 0;
    auto const guarded = parse_url("redis://:" + secret + "/Z?Q#" + url + "@" + url);
    require(std::holds_alternative<url_error>(guarded));
    require(std::get<url_error>(guarded).message.find(secret) == std::string::npos);
    return 0;
}
