// SPDX-License-Identifier: BSL-1.0
// The searches' node answers as the simulated server does, which is compared with a real one: what they show of it holds for
// the scripts as they are.
#include "kind/kind.hpp"
#include "kit/dice.hpp"
#include "model/small_node.hpp"
#include "redis/handshake.hpp"
#include "world/server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

namespace redlock::test {

namespace {

using model::fence;
using model::fenced_call;
using model::millis;
using small_reply = model::reply;

constexpr std::chrono::milliseconds key_ttl{50};
constexpr std::chrono::milliseconds fence_ttl{500};

class pair_of_nodes {
public:
    explicit pair_of_nodes(std::uint64_t seed) : dice_(seed)
    {
        server_.is.resp3 = true;
        server_.connect(1);
        std::string hello;
        redis::append_command(hello, {"HELLO", "3"});
        (void)say(hello);
    }

    /// Few owners and few numbers, so that they meet; and time passes.
    void step()
    {
        small_.advance(dice_.between(0, 20));
        fenced_call call{.px = key_ttl.count(), .fence_px = fence_ttl.count(), .owner = 0, .number = 0};
        call.owner = static_cast<model::nonce>(1 + dice_.below(3));
        call.number = dice_.one_in(4) ? 1 + dice_.below(10'000) : small_.counter.value + dice_.below(4);
        call.number = std::max<fence>(call.number, 1); // no proposal and no token is less
        std::string const owner(32, static_cast<char>('a' + call.owner));
        kind::command_arguments const whose{{"", "lock"}, owner, call.number};
        using kind::request;
        std::string command;
        auto const as_text = redis::script_form::text;
        switch (dice_.below(6)) {
        case 0:
            plain_->append(command, request::vote, whose, as_text);
            return compare(command, small_.vote(call.owner, call.px));
        case 1:
            plain_->append(command, request::extend, whose, as_text);
            return compare(command, small_.extend(call.owner, call.px));
        case 2:
            plain_->append(command, request::release, whose, as_text);
            return compare(command, small_.release(call.owner));
        case 3:
            fenced_->append(command, request::vote, whose, as_text);
            return compare_fenced(command, small_.fenced_vote(call));
        case 4:
            fenced_->append(command, request::write_back, whose, as_text);
            return compare_fenced(command, small_.fenced_raise(call));
        default:
            fenced_->append(command, request::extend, whose, as_text);
            return compare_fenced(command, small_.fenced_extend(call));
        }
    }

private:
    std::string say(std::string const& command)
    {
        server_.receive(1, command, small_.clock * 1000);
        return server_.take_output(1);
    }

    void compare_fenced(std::string& command, small_reply const& expected)
    {
        kind::append_marker(command, "");
        compare(command, expected);
    }

    void compare(std::string const& command, small_reply const& expected)
    {
        std::string const said = say(command);
        switch (expected.what) {
        case small_reply::kind::ok: BOOST_TEST(said == "+OK\r\n"); return;
        case small_reply::kind::nil: BOOST_TEST(said == "_\r\n"); return;
        case small_reply::kind::number:
            BOOST_TEST(said == ":" + std::to_string(expected.number) + "\r\n");
            return;
        case small_reply::kind::held: break;
        }
        std::string const head =
            "+HELD " + std::to_string(expected.left) + ' ' + std::to_string(expected.number) + ' ';
        BOOST_TEST(said.substr(0, head.size()) == head);
    }

    dice dice_;
    std::unique_ptr<kind::commands const> plain_ = kind::plain.make_commands("", {key_ttl, fence_ttl});
    std::unique_ptr<kind::commands const> fenced_ = kind::fenced.make_commands("", {key_ttl, fence_ttl});
    world::server server_{[](world::server::connection_id) {}};
    model::small_node small_{.lock = {}, .counter = {}, .clock = 5000};
};

} // namespace

BOOST_AUTO_TEST_CASE(model_node_answers_like_simulated_server)
{
    pair_of_nodes nodes(1);
    for (unsigned call = 0; call != 5'000; ++call)
        BOOST_TEST_CONTEXT("call " << call)
        {
            nodes.step();
        }
}

} // namespace redlock::test
