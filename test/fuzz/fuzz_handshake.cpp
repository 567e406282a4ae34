// SPDX-License-Identifier: BSL-1.0
#include "fuzz/garbled_server.hpp"
#include "redis/error_class.hpp"
#include <redlock/observer.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

// A server's answers while a connection is set up, and to the first vote on it.

using namespace redlock;
using namespace redlock::fuzz;

namespace {

/// HELLO or AUTH or PING, SELECT, CLIENT SETNAME (in RESP2), twice CLIENT SETINFO, INFO, CONFIG GET, TIME.
constexpr int resp3_flight = 7;
constexpr int resp2_flight = 8;

/// Checks that texts about nodes are fit for a log, and contain no password.
struct reader : observer {
    explicit reader(std::string_view its_password) : password(its_password) {}

    std::string_view password;

    void check(std::string_view words) const
    {
        require(words.size() <= 300);
        require(password.empty() || words.find(password) == std::string_view::npos);
        require(std::ranges::all_of(words, [](unsigned char c) { return c >= 0x20 && c != 0x7f; }));
    }
    void on_node(node_event const& e) noexcept override
    {
        check(e.detail);
        if (e.state == node_state::ready)
            password = {}; // it is not said any more, so nobody repeats it
    }
    void on_vote(vote_event const& e) noexcept override { check(e.detail); }
    void on_warning(warning_event const& e) noexcept override { check(e.words); }
};

/// Replies of one connection, by their number.
struct replies {
    redis::resp_parser parser{};
    std::string unread{};
    std::vector<std::string> texts{};

    void take(std::string const& bytes)
    {
        unread += bytes;
        for (;;) {
            auto const parsed = parser.next(unread);
            if (parsed.status == redis::parse_status::malformed)
                return;
            if (parsed.status == redis::parse_status::complete &&
                redis::value(parser.message()).type != redis::resp_type::push)
                texts.push_back(describe(redis::value(parser.message())));
            unread.erase(0, parsed.consumed);
            if (parsed.status == redis::parse_status::need_more)
                return;
        }
    }
    [[nodiscard]] static std::string describe(redis::resp_node const& reply)
    {
        char const* const kind = redis::is_error(reply.type)                     ? "-"
                                 : reply.type == redis::resp_type::simple_string ? "+"
                                                                                 : "";
        return kind + std::string(reply.text);
    }
};

bool speaks_against(std::string const& reply)
{
    auto const error = reply.starts_with('-') ? redis::classify(reply.substr(1)) : server_error::none;
    return error == server_error::noauth || error == server_error::wrongpass ||
           error == server_error::loading || error == server_error::denied ||
           error == server_error::max_clients;
}

bool speaks_resp3(unsigned how)
{
    return (how & 8U) == 0;
}

config settings(unsigned how, std::shared_ptr<reader> watcher)
{
    constexpr std::array<std::string_view, 3> users{"u", "", "default"};
    std::string const password(watcher->password);
    std::string const who = password.empty() ? "" : std::string(users.at(how % 3)) + ':' + password + '@';
    config made;
    made.nodes = {"redis://" + who + "127.77.0.1:6379/3?client_name=fuzz" +
                  (speaks_resp3(how) ? "" : "&protocol=2")};
    made.admission.assume_fresh = true;
    made.observer = std::move(watcher);
    return made;
}

/// Each time that the server answers, the next part of the input is told in its place.
struct conversation {
    garbled_server server;
    std::deque<std::string> parts;
    std::optional<world::server::connection_id> first{};
    replies told{};
    bool done = false;

    conversation(unsigned seed, std::string_view text) : server(seed), parts(parts_of(text, 32))
    {
        server.node().garble = [this](auto id, std::string const&) { return answer(id); };
    }

    std::string answer(world::server::connection_id id)
    {
        if (first.value_or(id) != id || parts.empty())
            return {};
        first = id;
        std::string const instead = std::move(parts.front());
        parts.pop_front();
        told.take(instead);
        return instead;
    }

    void hold(unsigned how)
    {
        auto const watcher = std::make_shared<reader>((how & 4U) == 0 ? "QX7-secret" : "");
        auto locks = std::make_optional(server.program.make_client(settings(how, watcher)));
        lease held;
        {
            mutex lock(*locks, "resource");
            lock.try_acquire([&](boost::system::error_code, lease got) {
                done = true;
                held = std::move(got);
            });
            server.run_until(20s, [this] { return done; });
            require(done);
            for (auto const& row : lock.last_attempt())
                watcher->check(row.detail);
        }
        for (auto const& row : locks->node_table())
            watcher->check(row.detail);
        if (!held.empty())
            judge(speaks_resp3(how));
        held = {};
        locks.reset();
        server.run_until(server.time.now() + 20s);
        require(server.program.has_forgotten_clients());
    }

    /// Only its own answer is a vote, and none is sent behind a flight that was refused.
    void judge(bool resp3) const
    {
        bool const refused = resp3 && told.texts.front().starts_with('-');
        auto const flight = told.texts.begin() + (refused ? resp3_flight : 0);
        auto const vote = flight + (refused || !resp3 ? resp2_flight : resp3_flight);
        require(vote < told.texts.end() && *vote == "+OK");
        require(std::none_of(flight, vote, speaks_against));
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    if (size < 2)
        return 0;
    conversation talk(data[0], {reinterpret_cast<char const*>(data) + 2, size - 2});
    talk.hold(data[1]);
    return 0;
}
