// SPDX-License-Identifier: BSL-1.0
#include "fuzz/garbled_server.hpp"
#include "redis/push.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

// A server's pushes between its answers, to a client that waits for a lock, gets it and holds it.

using namespace redlock;
using namespace redlock::fuzz;

namespace {

constexpr auto rival_leaves = 60ms;
constexpr auto has_it = 90ms;

/// The inserted bytes, as a client may read them.
struct interjections {
    bool only_pushes = true;
    std::size_t words = 0; ///< changed keys and pushes; at most as many as there are keys in them

    explicit interjections(std::deque<std::string> const& parts)
    {
        for (std::string_view part : parts)
            read(part);
    }

    /// Each push has one meaning at most, and a message points to nothing but received bytes.
    static void check(std::span<redis::resp_node const> push)
    {
        auto const said = redis::read_message(push);
        require(!said ||
                (push.size() == 4 && !redis::read_invalidation(push) && !redis::is_subscription(push)));
        require(!redis::is_subscription(push) || !redis::read_invalidation(push));
        if (said)
            require(said->channel.data() == push[2].text.data() && said->text.data() == push[3].text.data());
    }

    void read(std::string_view part)
    {
        redis::resp_parser parser;
        while (part.starts_with('>')) {
            auto const parsed = parser.next(part);
            if (parsed.status != redis::parse_status::complete)
                break;
            if (auto const told = redis::read_invalidation(parser.message()))
                words += 1 + told->keys.size();
            check(parser.message());
            part.remove_prefix(parsed.consumed);
        }
        only_pushes = only_pushes && part.empty();
    }
};

/// Each time that the server says something, the next part comes first.
struct story {
    garbled_server server;
    std::deque<std::string> parts;
    std::string right{}; ///< the server's own output
    std::set<world::server::connection_id> connections{};
    std::optional<client> locks;
    std::optional<mutex> wanted;
    bool done = false;
    lease held{};
    boost::system::error_code released{};

    story(unsigned seed, std::deque<std::string> told) : server(seed), parts(std::move(told))
    {
        server.node().garble = [this](world::server::connection_id id, std::string bytes) {
            connections.insert(id);
            right += bytes;
            if (parts.empty())
                return bytes;
            bytes.insert(0, parts.front());
            parts.pop_front();
            return bytes;
        };
        config settings;
        settings.nodes = {server.net.url(0)};
        settings.admission.assume_fresh = true;
        locks.emplace(server.program.make_client(settings));
        wanted.emplace(*locks, "resource");
    }

    void rival(std::initializer_list<std::string> words)
    {
        (void)server.node().redis.execute(words, server.node().wall_us(server.time.now()));
    }

    /// A rival has it, renews it, and leaves.
    void wait()
    {
        wanted->acquire([this](boost::system::error_code, lease got) {
            done = true;
            held = std::move(got);
        });
        for (auto at = 0ms; at != rival_leaves; at += 5ms) {
            rival({"SET", "resource", "rival", "PX", "100000"});
            server.run_until(at + 5ms);
        }
        rival({"DEL", "resource"});
    }
    /// The server has something to say meanwhile.
    void hold()
    {
        mutex other(*locks, "other");
        for (auto left = 6; left != 0; --left) {
            other.try_acquire([](boost::system::error_code, lease) {});
            server.run_until(server.time.now() + 10ms);
        }
    }
    void let_go()
    {
        if (held.empty()) // an answer that was none made an end of waiting
            return;
        held.release([this](boost::system::error_code ec) { released = ec; });
        server.run_until(server.time.now() + 10ms);
    }
    void end()
    {
        held = {};
        wanted.reset();
        locks.reset();
        server.run_until(server.time.now() + 20s);
        require(server.program.has_forgotten_clients());
    }
};

/// Only what a server may say at any time came in between: so it is waited, held and let go as ever.
void undisturbed(story& told)
{
    told.wait();
    told.server.run_until(has_it);
    told.hold();
    require(told.held.valid());
    require(told.server.value_of("resource") == told.held.nonce());
    told.let_go();
    require(!told.released && !told.server.value_of("resource"));
    require(told.connections.size() == 1);
}

/// Waiting ends, whatever the server sends.
void disturbed(story& told)
{
    told.wait();
    told.server.run_until(10min, [&] { return told.done; });
    require(told.done);
    told.hold();
    told.let_go();
}

/// Returns the output of a server that is not disturbed.
std::string silence()
{
    story told(0, {});
    undisturbed(told);
    told.end();
    return told.right;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    static std::string const usual = silence();
    if (size == 0)
        return 0;
    auto const parts = parts_of({reinterpret_cast<char const*>(data) + 1, size - 1}, 64);
    interjections const between(parts);
    story told(data[0], parts);
    between.only_pushes ? undisturbed(told) : disturbed(told);
    told.end();
    constexpr std::size_t answers =
        200; // to what a word may lead to: two questions, or a vote that is taken back
    if (between.only_pushes)
        require(told.right.size() <= usual.size() + between.words * answers);
    if (between.only_pushes && between.words == 0 && data[0] % 2 == 0)
        require(told.right == usual);
    return 0;
}
