// SPDX-License-Identifier: BSL-1.0
#include "fuzz/require.hpp"
#include "redis/handshake.hpp"
#include "redis/info.hpp"
#include "redis/resp_parser.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace redlock::redis;
using redlock::fuzz::require;

namespace {

bool plain(std::string_view text)
{
    return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f' && c != ':'; });
}

void check(server_info const& info)
{
    require(info.run_id.size() <= 64 && plain(info.run_id));
    require(info.replid.size() <= 64 && plain(info.replid));
    require(!info.uptime ||
            (*info.uptime >= std::chrono::seconds::zero() && *info.uptime < std::chrono::hours{24 * 40'000}));
    require(info.version.size() <= 200 && info.version.find('\n') == std::string::npos);
    // Our own words for what was read are read as the same.
    auto const flag = [](bool f) { return f ? "1\n" : "0\n"; };
    std::string text = "run_id:" + info.run_id + "\nloading:" + flag(info.loading) +
                       "aof_enabled:" + flag(info.aof) + "master_replid2:" + flag(info.promoted);
    if (info.uptime)
        text += "uptime_in_seconds:" + std::to_string(info.uptime->count()) + '\n';
    if (info.replica)
        text += std::string("role:") + (*info.replica ? "slave\n" : "master\n");
    if (info.cluster)
        text += std::string("cluster_enabled:") + flag(*info.cluster);
    auto const again = parse_info(text);
    require(again.run_id == info.run_id && again.uptime == info.uptime && again.promoted == info.promoted);
    require(again.replica == info.replica && again.loading == info.loading && again.cluster == info.cluster);
}

/// Answers a whole handshake with any bytes.
void converse(std::string_view wire, int protocol)
{
    handshake talk(
        {.username = "u", .password = "p", .client_name = "c", .database = 1, .protocol = protocol});
    resp_parser parser;
    for (auto step = handshake::step::more; step == handshake::step::more;) {
        (void)talk.take_output();
        auto const parsed = parser.next(wire);
        if (parsed.status != parse_status::complete)
            return;
        if (value(parser.message()).type != resp_type::push)
            step = talk.on_reply(parser.message());
        wire.remove_prefix(parsed.consumed);
    }
    auto const facts = talk.facts();
    require(!facts.durable || facts.forgetful.empty());
    require(facts.info.has_value() || incarnation(facts).empty());
    if (facts.info)
        check(*facts.info);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    check(parse_info(text));
    for (int const protocol : {2, 3})
        converse(text, protocol);
    return 0;
}
