// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/lone_client.hpp"
#include "component/lone_node.hpp"
#include "component/scripted_node.hpp"
#include "engine/configuration.hpp"
#include "engine/environment.hpp"
#include "engine/node_group.hpp"
#include "kit/patience.hpp"
#include "net/leaf/this_machine.hpp"
#include "redis/command.hpp"
#include "redis/url.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// Messages and pushes of a server, to a connection that has subscribed to a channel.

using namespace redlock;
using namespace redlock::test;

namespace {

redis::endpoint endpoint_of(std::string const& url)
{
    return std::get<redis::endpoint>(redis::parse_url(url));
}

using texts = std::vector<std::string>;

/// Sends other commands meanwhile.
struct asker : net::reply_sink {
    void on_reply(unsigned, std::uint32_t tag, redis::resp_node const& reply) override
    {
        answers.push_back(std::to_string(tag) + ' ' + std::string(reply.text));
        if (then)
            std::exchange(then, nullptr)();
    }
    void on_failure(unsigned, std::uint32_t, net::failure const& why) override
    {
        failures.push_back(why.result);
        if (then)
            std::exchange(then, nullptr)();
    }
    texts answers;
    std::vector<node_result> failures;
    std::function<void()> then; ///< with the next answer or failure
};

/// One node and its server. The server has a context of its own, so the node's context runs dry when the node is idle.
struct channel_fixture {
    asio::io_context outside;
    scripted_node server{outside};
    asio::io_context context;
    lone_node alone;
    net::node& node = alone.node;
    counting_sink& told = alone.sink;
    asker other;

    explicit channel_fixture(net::node_terms const& terms = lone_node::patient())
        : alone{context, endpoint_of(server.url()), terms}
    {}
    ~channel_fixture() { node.close(); }
    channel_fixture(channel_fixture const&) = delete;
    channel_fixture& operator=(channel_fixture const&) = delete;

    template <class Condition>
    void run_both(Condition holds)
    {
        auto const step = [this] {
            outside.poll();
            context.restart();
            context.poll();
        };
        step();
        repeat_until(holds, step, std::source_location::current());
    }
    void connect()
    {
        node.keep_connected(true); // a lost connection is made again
        run_both([&] { return node.state() == node_state::ready; });
    }
    void lose_connection()
    {
        server.close_all();
        run_both([&] {
            (void)node.ensure_can_send();
            return node.state() != node_state::ready;
        });
    }
    void send(std::string_view what, std::uint32_t tag = 0)
    {
        BOOST_TEST_REQUIRE(node.ensure_can_send_now());
        redis::append_command(node.output(), {"SET", what, "x"});
        node.expect(other, tag);
    }
    /// Everything that was sent and said before has been heard.
    void ask()
    {
        auto const before = other.answers.size();
        send("anything");
        run_both([&] { return other.answers.size() == before + 1; });
    }
    void subscribe()
    {
        node.subscribe("news");
        run_both([&] { return server.count("SUBSCRIBE") != 0; });
        ask();
    }
    void say(std::string_view bytes)
    {
        server.say(bytes);
        outside.poll();
    }
    /// The connection is read although no reply is awaited.
    void hear()
    {
        node.expect_pushes(true);
        subscribe();
    }
    /// Nothing was noticed: not an answer, nor the end of a connection.
    [[nodiscard]] bool undisturbed() const
    {
        return server.accepted() == 1 && node.state() == node_state::ready && told.messages.empty() &&
               told.refusals.empty();
    }
};

struct connected_fixture : channel_fixture {
    connected_fixture() { connect(); }
};
struct resp2_fixture : channel_fixture {
    resp2_fixture()
    {
        server.expect("HELLO", reply(canned::unknown_hello));
        connect();
    }
};
struct held_clock_channel_fixture : held_clock_base, channel_fixture {
    explicit held_clock_channel_fixture(net::node_terms const& terms = lone_node::patient())
        : channel_fixture(terms)
    {
        connect();
    }
};
struct impatient_fixture : held_clock_channel_fixture {
    impatient_fixture() : held_clock_channel_fixture({50ms, 5s, 20ms, {}}) {}
};

/// The server's clock is read in front of what is sent next, and was set forward.
struct set_forward_fixture : connected_fixture {
    /// The second service is being asked for meanwhile. The first lets the connection be read.
    void read_clock(void (*first)(net::node&), void (*wanted)(net::node&))
    {
        node.expect_pushes(true);
        first(node);
        ask();
        told.set_forward = true;
        node.expect_pushes(false);
        wanted(node);
        send("vote");
        auto const votes = server.count("SET");
        run_both([&] { return server.count("SET") == votes + 1; });
        server.deliver_late();
        run_both([&] { return !other.failures.empty(); });
        BOOST_TEST(other.failures.front() == node_result::quarantined);
    }
    static void track(net::node& n) { n.track(); }
    static void subscribe(net::node& n) { n.subscribe("news"); }
};

/// A client's group of one node, and its listener.
struct group_fixture : detail::group_listener {
    asio::io_context context;
    scripted_node server{context};
    std::shared_ptr<recorder> seen = std::make_shared<recorder>();
    std::shared_ptr<detail::environment> its;
    std::optional<detail::node_group> nodes;

    group_fixture()
    {
        auto const machine = net::this_machine();
        config with = settings_for({server.url()});
        with.observer = seen;
        its = std::make_shared<detail::environment>(context.get_executor(), detail::check(with, *machine),
                                                    machine);
        its->loop().owned_by(its);
        nodes.emplace(*its, static_cast<detail::group_listener&>(*this));
        nodes->connect();
        nodes->expect_pushes();
        run_until(context, [&] { return nodes->ready() == 1; });
    }
    ~group_fixture() { nodes->close(); }
    group_fixture(group_fixture const&) = delete;
    group_fixture& operator=(group_fixture const&) = delete;

    void on_connected(unsigned) override {}
    void on_nodes_changed() override {}
    void on_usable(unsigned) override {}
    void on_invalidation(unsigned, std::optional<std::string_view> key) override
    {
        invalidations.emplace_back(key.value_or("all"));
    }
    void for_each_lock(std::function<void(detail::lock_descriptor const&)> const&) const override {}

    /// The words about nodes that are ready.
    [[nodiscard]] texts told() const
    {
        texts all;
        for (auto const& change : seen->nodes)
            if (change.state == node_state::ready && !change.detail.empty())
                all.push_back(change.detail);
        return all;
    }

    texts invalidations;
};

struct reader : detail::message_listener {
    void on_message(unsigned node, std::string_view text) override
    {
        heard.push_back(std::to_string(node) + ' ' + std::string(text));
    }
    texts heard;
};

} // namespace

BOOST_AUTO_TEST_SUITE(channels)

// rule Q3
BOOST_FIXTURE_TEST_CASE(node_subscribes_once_in_each_connection, connected_fixture)
{
    BOOST_TEST(!node.subscribed());
    BOOST_TEST(node.may_subscribe());
    node.subscribe("news");
    BOOST_TEST(node.subscribed());
    subscribe(); // once before the answer, and
    subscribe(); // once after it
    BOOST_TEST(server.count("SUBSCRIBE") == 1U);
    BOOST_TEST(node.subscribed());
    BOOST_TEST(node.may_subscribe());

    lose_connection();
    BOOST_TEST(!node.subscribed());
    BOOST_TEST(node.may_subscribe());
    connect();
    BOOST_TEST(!node.subscribed());
    subscribe();
    BOOST_TEST(server.count("SUBSCRIBE") == 2U);
    BOOST_TEST((server.heard().end()[-2] == scripted_node::words{"SUBSCRIBE", "news"}));
    BOOST_TEST(node.subscribed());
}

// rule Q3
BOOST_FIXTURE_TEST_CASE(message_is_told_though_no_reply_is_awaited, connected_fixture)
{
    hear();
    texts const all = {"hello", "", std::string("\r\n\0>3\r\n", 7)};
    for (auto const& text : all)
        say(message_push("news", text));
    run_both([&] { return told.messages.size() == all.size(); });
    BOOST_TEST(told.messages == all);
    BOOST_TEST(server.accepted() == 1U);
}

// rule Q3
BOOST_FIXTURE_TEST_CASE(subscription_in_resp2_is_refused_without_a_byte, resp2_fixture)
{
    BOOST_TEST(!node.may_subscribe());
    BOOST_TEST_REQUIRE(node.ensure_can_send_now());
    node.subscribe("news");
    BOOST_TEST(node.output() == "");
    BOOST_TEST(!node.subscribed());
    BOOST_TEST(!node.may_subscribe());
    ask();
    BOOST_TEST(server.count("SUBSCRIBE") == 0U);
    BOOST_TEST(undisturbed());
}

// rule Q17
BOOST_FIXTURE_TEST_CASE(refused_subscription_is_told_once_and_asked_for_in_next_connection, connected_fixture)
{
    server.expect("SUBSCRIBE", reply(canned::noperm_subscribe));
    subscribe();
    texts const once = {std::string(canned::noperm_subscribe.substr(1, canned::noperm_subscribe.size() - 3))};
    BOOST_TEST(told.refusals == once);
    BOOST_TEST(!node.subscribed());
    BOOST_TEST(!node.may_subscribe());
    server.expect("SET", reply(message_push("news", "to nobody") + std::string(canned::ok)));
    subscribe();
    BOOST_TEST(server.count("SUBSCRIBE") == 1U);
    BOOST_TEST(told.refusals == once);
    BOOST_TEST(told.messages.empty());
    BOOST_TEST(server.accepted() == 1U);

    lose_connection();
    connect();
    BOOST_TEST(node.may_subscribe());
    subscribe();
    BOOST_TEST(server.count("SUBSCRIBE") == 2U);
    BOOST_TEST(node.subscribed());
    BOOST_TEST(told.refusals == once);
}

/// A proxy may know the command, and no pushes.
// rule Q17
BOOST_FIXTURE_TEST_CASE(subscription_answered_by_no_push_is_refused, connected_fixture)
{
    server.expect("SUBSCRIBE", reply("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"));
    subscribe();
    BOOST_TEST(told.refusals == texts{""});
    BOOST_TEST(!node.subscribed());
    BOOST_TEST(server.accepted() == 1U);
}

BOOST_FIXTURE_TEST_CASE(unasked_subscription_is_ignored, connected_fixture)
{
    server.expect("SET", reply(subscription_push("news") + std::string(canned::ok)));
    ask();
    BOOST_TEST(!node.subscribed());
    server.expect("SET", reply(message_push("news", "to nobody") + std::string(canned::ok)));
    ask();
    BOOST_TEST(undisturbed());
    BOOST_TEST(other.answers.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(second_subscription_push_is_ignored, connected_fixture)
{
    hear();
    say(subscription_push("news"));
    ask();
    server.expect("SET", reply(subscription_push("news") + std::string(canned::ok)));
    ask();
    BOOST_TEST(undisturbed());
    BOOST_TEST(node.subscribed());
    BOOST_TEST(other.answers == texts(3, "0 OK"));
}

BOOST_FIXTURE_TEST_CASE(subscription_refused_for_want_of_memory_is_asked_for_again, connected_fixture)
{
    server.expect("SUBSCRIBE", reply("-OOM command not allowed when used memory > 'maxmemory'.\r\n"));
    subscribe();
    BOOST_TEST(told.refusals.size() == 1U);
    BOOST_TEST(!node.subscribed());
    BOOST_TEST(node.may_subscribe());
    subscribe();
    BOOST_TEST(server.count("SUBSCRIBE") == 2U);
    BOOST_TEST(node.subscribed());
    BOOST_TEST(told.refusals.size() == 1U);
}

/// A server that runs a long script refuses everything until that ends.
BOOST_FIXTURE_TEST_CASE(busy_server_is_asked_again_in_the_same_connection, connected_fixture)
{
    server.expect("CLIENT", reply(canned::busy))
        .expect("SUBSCRIBE", reply(canned::busy))
        .expect("SET", reply(canned::ok))
        .expect("PUBLISH", reply(canned::busy));
    for (int i = 0; i != 2; ++i) {
        node.track();
        subscribe();
        BOOST_TEST(!node.subscribed());
        BOOST_TEST(node.may_subscribe());
        BOOST_TEST(node.tracks() == (i != 0));
        BOOST_TEST(node.may_track());
    }
    subscribe();
    BOOST_TEST(node.subscribed());
    BOOST_TEST(told.refusals.size() == 2U);
    BOOST_TEST(server.accepted() == 1U);
}

/// A waiter that hears of it would ask at once, and again.
BOOST_FIXTURE_TEST_CASE(group_is_not_told_that_a_busy_server_does_not_track, group_fixture)
{
    server.expect("CLIENT", reply(canned::busy));
    nodes->at(0).track();
    run_until(context, [&] { return !nodes->at(0).tracks(); });
    BOOST_TEST(told().empty());
    BOOST_TEST(nodes->at(0).may_track());
}

/// Commands before the subscription are answered by something else.
BOOST_FIXTURE_TEST_CASE(subscription_push_answers_no_earlier_command, connected_fixture)
{
    server.expect("SET", reply(subscription_push("news") + "$3\r\none\r\n"))
        .expect("SUBSCRIBE", reply(canned::noperm_subscribe))
        .expect("SET", reply("$3\r\ntwo\r\n"));
    send("first", 1);
    node.subscribe("news");
    send("second", 2);
    run_both([&] { return other.answers.size() == 2; });
    BOOST_TEST(other.answers == (texts{"1 one", "2 two"}));
    BOOST_TEST(told.refusals.size() == 1U);
    BOOST_TEST(server.accepted() == 1U);
}

/// The push was read before that command was sent.
BOOST_FIXTURE_TEST_CASE(subscription_push_behind_answer_is_no_answer_to_what_that_leads_to, connected_fixture)
{
    server.expect("SET", reply(std::string(canned::ok) + subscription_push("news")))
        .expect("SUBSCRIBE", reply(canned::noperm_subscribe));
    other.then = [this] { node.subscribe("news"); };
    ask();
    run_both([&] { return !told.refusals.empty(); });
    BOOST_TEST(!node.subscribed());
    ask();
    BOOST_TEST(server.accepted() == 1U);
}

// rule Q3
BOOST_FIXTURE_TEST_CASE(other_channels_messages_are_ignored, connected_fixture)
{
    hear();
    say(message_push("new", "no") + message_push("newss", "no") + message_push("", "no"));
    say(">4\r\n$8\r\npmessage\r\n$4\r\nnews\r\n$4\r\nnews\r\n$2\r\nno\r\n");
    say(message_push("news", "yes"));
    run_both([&] { return !told.messages.empty(); });
    BOOST_TEST(told.messages == texts{"yes"});
    BOOST_TEST(server.accepted() == 1U);
}

// rule Q3
BOOST_FIXTURE_TEST_CASE(messages_between_replies_leave_them_their_order, connected_fixture)
{
    server.expect("SET", reply("$3\r\none\r\n"))
        .expect("SUBSCRIBE",
                reply(message_push("news", "a") + subscription_push("news") + message_push("news", "b")))
        .expect("SET", reply(message_push("news", "c") + "$3\r\ntwo\r\n" + message_push("news", "d")))
        .expect("SET", reply("$5\r\nthree\r\n"));
    send("first", 1);
    node.subscribe("news");
    send("second", 2);
    send("third", 3);
    run_both([&] { return other.answers.size() == 3; });
    BOOST_TEST(other.answers == (texts{"1 one", "2 two", "3 three"}));
    BOOST_TEST(told.messages == (texts{"a", "b", "c", "d"}));
    BOOST_TEST(server.accepted() == 1U);
}

BOOST_FIXTURE_TEST_CASE(answer_and_messages_may_come_byte_by_byte, connected_fixture)
{
    node.expect_pushes(true);
    server.expect("SUBSCRIBE", dribble(subscription_push("news") + message_push("news", "slowly")));
    subscribe();
    BOOST_TEST(told.messages == texts{"slowly"});
    auto const word = message_push("news", "in two");
    for (std::size_t cut = 1; cut != word.size(); ++cut) {
        say(word.substr(0, cut));
        run_both([&] { return context.poll() == 0; });
        say(word.substr(cut));
        run_both([&] { return told.messages.size() == cut + 1; });
        BOOST_TEST(told.messages.back() == "in two");
    }
    BOOST_TEST(server.accepted() == 1U);
}

BOOST_FIXTURE_TEST_CASE(connection_may_end_while_subscription_is_awaited, connected_fixture)
{
    server.expect("SUBSCRIBE", hang_up());
    node.subscribe("news");
    send("lost", 1);
    run_both([&] { return node.state() != node_state::ready; });
    BOOST_TEST(!node.subscribed());
    BOOST_TEST(other.failures == std::vector{node_result::unreachable}, boost::test_tools::per_element());
    BOOST_TEST(told.refusals.empty());
    connect();
    hear();
    say(message_push("news", "again"));
    run_both([&] { return !told.messages.empty(); });
    BOOST_TEST(server.count("SUBSCRIBE") == 2U);
    BOOST_TEST(server.accepted() == 2U);
}

BOOST_FIXTURE_TEST_CASE(closed_node_is_not_subscribed, connected_fixture)
{
    subscribe();
    node.close();
    BOOST_TEST(!node.subscribed());
}

/// The message is reported late, with the next answer.
// rule Q3
BOOST_FIXTURE_TEST_CASE(unread_message_does_not_end_connection, connected_fixture)
{
    subscribe();
    run_both([&] { return context.stopped(); });
    say(message_push("news", "unread"));
    run_both([&] { return context.stopped(); });
    BOOST_TEST(told.messages.empty());
    ask();
    BOOST_TEST(told.messages == texts{"unread"});
    BOOST_TEST(server.accepted() == 1U);
}

BOOST_FIXTURE_TEST_CASE(unread_push_without_subscription_ends_connection, connected_fixture)
{
    server.expect("SUBSCRIBE", reply(canned::noperm_subscribe));
    subscribe();
    run_both([&] { return context.stopped(); });
    say(message_push("news", "to nobody"));
    (void)node.ensure_can_send_now();
    run_both([&] { return server.accepted() == 2; });
}

BOOST_FIXTURE_TEST_CASE(reading_ends_when_nobody_listens, connected_fixture)
{
    hear();
    run_both([&] { return context.poll() == 0; });
    BOOST_TEST(!context.stopped());
    node.expect_pushes(false);
    run_both([&] { return context.stopped(); });
    BOOST_TEST(server.heard().back().front() == "TIME");
    BOOST_TEST(undisturbed());
}

BOOST_FIXTURE_TEST_CASE(answered_subscription_is_awaited_no_more, held_clock_channel_fixture)
{
    hear();
    clock.advance(1h);
    ask(); // a timer would be due in that turn
    BOOST_TEST(undisturbed());
}

BOOST_FIXTURE_TEST_CASE(server_silent_to_subscription_times_out, impatient_fixture)
{
    server.expect("SUBSCRIBE", silence());
    node.subscribe("news");
    run_both([&] { return server.done(); });
    run_both([&] {
        clock.advance(1s);
        return node.state() == node_state::down;
    });
    BOOST_TEST(node.last_failure().detail == "no answer within the response timeout");
}

/// The answer to the subscription is a push. It must not count as the answer to the vote behind it.
BOOST_FIXTURE_TEST_CASE(subscription_outlasts_set_forward_clock, set_forward_fixture)
{
    server.expect("SET", reply(canned::ok)).expect("TIME", late(canned::time));
    read_clock(track, subscribe);
    node.expect_pushes(true);
    ask();
    say(message_push("news", "heard"));
    run_both([&] { return !told.messages.empty(); });
    ask();
    BOOST_TEST(other.answers == texts(3, "0 OK"));
    BOOST_TEST(node.subscribed());
    BOOST_TEST(server.accepted() == 1U);
}

BOOST_FIXTURE_TEST_CASE(refused_subscription_behind_set_forward_clock_is_told, set_forward_fixture)
{
    server.expect("SET", reply(canned::ok))
        .expect("TIME", late(canned::time))
        .expect("SUBSCRIBE", reply(canned::noperm_subscribe));
    read_clock(track, subscribe);
    ask();
    BOOST_TEST(told.refusals.size() == 1U);
    BOOST_TEST(!node.subscribed());
}

/// All others have failed with the connection.
BOOST_FIXTURE_TEST_CASE(sink_may_end_the_connection_when_its_answer_does_not_count, set_forward_fixture)
{
    server.expect("SET", reply(canned::ok)).expect("TIME", late(canned::time));
    node.expect_pushes(true);
    node.track();
    ask();
    told.set_forward = true;
    node.expect_pushes(false);
    auto const votes = server.count("SET");
    for (std::string_view const each : {"one", "two", "three"})
        send(each);
    run_both([&] { return server.count("SET") == votes + 3; });
    other.then = [this] { node.renew(); };
    server.deliver_late();
    run_both([&] { return !other.failures.empty(); });
    BOOST_TEST(other.failures.size() == 3U);
}

/// Otherwise its pushes would be awaited in vain.
BOOST_FIXTURE_TEST_CASE(refused_tracking_behind_set_forward_clock_is_told, set_forward_fixture)
{
    server.expect("SET", reply(canned::ok))
        .expect("TIME", late(canned::time))
        .expect("CLIENT", reply(canned::noperm));
    read_clock(subscribe, track);
    ask();
    BOOST_TEST(!node.tracks());
    BOOST_TEST(!node.may_track());
}

// rule Q3
BOOST_AUTO_TEST_CASE(real_server_sends_what_is_published)
{
    redis_server server;
    asio::io_context context;
    lone_node alone(context, endpoint_of(server.url()));
    alone.node.keep_connected(true);
    alone.node.expect_pushes(true);
    run_until(context, [&] { return alone.node.state() == node_state::ready; });
    alone.node.subscribe("news");
    alone.node.track(); // its answer is no push
    probe eye(server.port());
    run_until(context, [&] { return eye.command({"PUBLISH", "news", "hello"}) == "1"; });
    run_until(context, [&] { return !alone.sink.messages.empty(); });
    BOOST_TEST(alone.sink.messages == texts{"hello"});
    redis::append_command(alone.node.output(), {"GET", "nothing"});
    alone.node.expect(alone.sink, 0);
    run_until(context, [&] { return alone.sink.replies == 1; });
    BOOST_TEST(alone.node.subscribed());
    BOOST_TEST(alone.node.tracks());
    BOOST_TEST(eye.command({"PUBSUB", "NUMSUB", "news"}) == "[news, 1]");
    alone.node.close();
}

// rule Q23
BOOST_AUTO_TEST_CASE(real_server_refuses_channel_to_user_without_right)
{
    redis_server_options options;
    options.acl = {"user default on nopass ~* resetchannels +@all"};
    redis_server server(options);
    asio::io_context context;
    lone_node alone(context, endpoint_of(server.url()));
    alone.node.keep_connected(true);
    run_until(context, [&] { return alone.node.state() == node_state::ready; });
    alone.node.subscribe("news");
    run_until(context, [&] { return !alone.sink.refusals.empty(); });
    BOOST_TEST(alone.sink.refusals.front().starts_with("NOPERM"), alone.sink.refusals.front());
    BOOST_TEST((alone.node.state() == node_state::ready));
    alone.node.close();
}

BOOST_FIXTURE_TEST_CASE(group_passes_messages_on, group_fixture)
{
    reader who;
    nodes->set_message_listener(&who);
    nodes->at(0).subscribe("news");
    run_until(context, [&] { return server.count("SUBSCRIBE") == 1; });
    server.say(message_push("news", "hello") + std::string(canned::invalidation));
    run_until(context, [&] { return !invalidations.empty(); });
    BOOST_TEST(who.heard == texts{"0 hello"});

    nodes->set_message_listener(nullptr);
    server.say(message_push("news", "to nobody") + std::string(canned::invalidation));
    run_until(context, [&] { return invalidations.size() == 2; });
    BOOST_TEST(who.heard == texts{"0 hello"});
}

// rule Q23
BOOST_FIXTURE_TEST_CASE(group_shows_refused_subscription_in_servers_words, group_fixture)
{
    server.expect("SUBSCRIBE", reply(canned::noperm_subscribe));
    nodes->at(0).subscribe("news");
    run_until(context, [&] { return !told().empty(); });
    BOOST_TEST(!nodes->at(0).may_subscribe());
    BOOST_TEST(nodes->statuses().front().detail ==
               "SUBSCRIBE: NOPERM this user has no permissions to run the 'subscribe' command");
}

/// A channel to which nobody may publish is of no use.
// rule Q18
BOOST_FIXTURE_TEST_CASE(subscription_is_refused_if_publishing_is, group_fixture)
{
    server.expect("PUBLISH", reply(canned::noperm));
    nodes->at(0).subscribe("news");
    run_until(context, [&] { return !told().empty() && server.count("SUBSCRIBE") == 1; });
    BOOST_TEST(!nodes->at(0).may_subscribe());
    BOOST_TEST(!nodes->at(0).subscribed());
    BOOST_TEST(told() ==
               texts{"PUBLISH: " + std::string(canned::noperm.substr(1, canned::noperm.size() - 3))});
}

/// Each connection asks, and is refused.
// rule Q23
BOOST_FIXTURE_TEST_CASE(group_tells_observer_once_what_is_refused, group_fixture)
{
    server.expect("SUBSCRIBE", reply(canned::noperm_subscribe))
        .expect("CLIENT", reply(canned::noperm))
        .expect("SUBSCRIBE", reply(canned::noperm_subscribe))
        .expect("SUBSCRIBE", reply("-NOPERM other words\r\n"));
    nodes->keep_connected(true);
    nodes->at(0).subscribe("news");
    nodes->at(0).track();
    texts all{"SUBSCRIBE: NOPERM this user has no permissions to run the 'subscribe' command",
              "CLIENT TRACKING: " + std::string(canned::noperm.substr(1, canned::noperm.size() - 3))};
    run_until(context, [&] { return told().size() == 2; });
    BOOST_TEST(told() == all);
    for (std::size_t connection = 2; connection != 4; ++connection) {
        server.close_all();
        run_until(context, [&] { return server.accepted() == connection && nodes->ready() == 1; });
        nodes->at(0).subscribe("news");
        run_until(context, [&] { return !nodes->at(0).may_subscribe(); });
    }
    all.push_back("SUBSCRIBE: NOPERM other words");
    BOOST_TEST(told() == all);
}

/// A server that has other words each time does not fill logs.
BOOST_FIXTURE_TEST_CASE(group_tells_observer_only_some_refusals, group_fixture)
{
    for (int i = 0; i != 100; ++i)
        nodes->note_minor_refusal(
            0, "queue", {.type = redis::resp_type::simple_error, .text = "ERR " + std::to_string(i)});
    BOOST_TEST(told().size() == 16U);
    auto const shown = nodes->statuses().front().detail;
    BOOST_TEST(shown.starts_with("queue: ERR 0; queue: ERR 1; "));
    BOOST_TEST(shown.size() < 1100U);
}

BOOST_FIXTURE_TEST_CASE(group_shows_what_is_refused_beside_what_is_found_later, group_fixture)
{
    server.expect("SUBSCRIBE", reply(canned::noperm_subscribe)).expect("EVAL", reply(canned::marker));
    nodes->at(0).subscribe("news");
    run_until(context, [&] { return !told().empty(); });
    nodes->require_markers();
    run_until(context, [&] { return !nodes->marker_of(0).text().empty(); });
    BOOST_TEST(nodes->statuses().front().detail.starts_with("SUBSCRIBE: "));
}

BOOST_FIXTURE_TEST_CASE(group_without_reader_shows_refused_subscription, group_fixture)
{
    server.expect("SUBSCRIBE", reply(canned::noperm_subscribe));
    nodes->at(0).subscribe("news");
    run_until(context, [&] { return nodes->statuses().front().detail.starts_with("SUBSCRIBE: "); });
    BOOST_TEST(nodes->ready() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
