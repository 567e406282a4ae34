// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/leaf/this_machine.hpp"
#include "net/loop.hpp"
#include "net/node.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

struct counting_sink : net::reply_sink, net::node_listener {
    void on_reply(unsigned, std::uint32_t, redis::resp_node const&) override { ++replies; }
    void on_failure(unsigned, std::uint32_t tag, net::failure const&) override
    {
        in_order = in_order && tag == failures;
        ++failures;
    }
    void on_node_changed(unsigned) override {}
    std::optional<net::failure> disqualification(unsigned) override { return {}; }
    bool is_certain(unsigned) override { return true; }
    bool was_set_forward(unsigned) override { return set_forward; }
    void on_key_changed(unsigned, std::optional<std::string_view>) override {}
    void on_tracking_refused(unsigned, redis::resp_node const&) override {}
    void on_message(unsigned, std::string_view text) override { messages.emplace_back(text); }
    void on_subscription_refused(unsigned, std::string_view, redis::resp_node const& why) override
    {
        refusals.emplace_back(why.text);
    }

    std::uint32_t replies = 0;
    std::uint32_t failures = 0;
    bool in_order = true;
    bool set_forward = false; ///< the server's clock, whenever it is read
    std::vector<std::string> messages;
    std::vector<std::string> refusals; ///< to subscribe
};

/// A node without the engine. Its owner closes it.
struct lone_node {
    lone_node(boost::asio::io_context& context, redis::endpoint where,
              net::node_terms const& terms = patient())
        : loop(running_on(context)), node(*loop, sink, shared, 0, peer_at(std::move(where)), terms)
    {}
    static net::node_terms patient()
    {
        using namespace std::chrono_literals;
        return {50ms, 5s, 20s, {}};
    }

    std::shared_ptr<net::loop> loop;
    counting_sink sink;
    net::broadcast shared;
    net::node node;

private:
    static std::shared_ptr<net::loop> running_on(boost::asio::io_context& context)
    {
        auto made = std::make_shared<net::loop>(context.get_executor(), net::this_machine());
        made->owned_by(made);
        return made;
    }
    static std::shared_ptr<net::peer> peer_at(redis::endpoint where)
    {
        auto made = std::make_shared<net::peer>();
        made->where = std::move(where);
        made->handshake.group = !made->where.group.empty();
        made->connect_timeout = std::chrono::seconds{20};
        return made;
    }
};

} // namespace redlock::test
