// SPDX-License-Identifier: BSL-1.0
#include "refusal.hpp"
#include <redlock/fenced_mutex.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/mutex.hpp>

#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace redlock::test;
using namespace std::chrono_literals;
using redlock::config;
using redlock::fenced_mutex;
using redlock::lock_options;

std::string const a_node = "redis://127.0.0.1:6379";

std::string of_change(std::function<void(config&)> const& change)
{
    config settings;
    settings.nodes = {a_node};
    settings.password = secret;
    change(settings);
    return of_client(settings);
}

template <class Lock = redlock::mutex>
std::string of_lock(std::string const& name, lock_options const& options, config settings = {})
{
    asio::io_context context;
    settings.nodes = {a_node};
    redlock::client locks(context.get_executor(), settings);
    return refusal([&] { Lock(locks, name, options); });
}

std::string of_options(std::function<void(lock_options&)> const& change)
{
    lock_options options;
    change(options);
    return of_lock("resource", options);
}

std::vector<std::string> many(std::size_t count)
{
    std::vector<std::string> urls;
    for (std::size_t i = 0; i != count; ++i)
        urls.push_back("redis://127.0.0.1:" + std::to_string(7000 + i));
    return urls;
}

} // namespace

BOOST_AUTO_TEST_SUITE(configuration)

// rule N1
BOOST_AUTO_TEST_CASE(config_needs_1_to_63_nodes)
{
    names(of_nodes({}), {"no nodes"});
    BOOST_TEST(of_nodes({a_node}) == "");
    BOOST_TEST(of_nodes(many(63)) == "");
    names(of_nodes(many(64)), {"64 nodes", "63"});
}

// rule N1
BOOST_AUTO_TEST_CASE(config_with_two_urls_of_one_server_is_refused)
{
    auto const twice = [](std::string const& a, std::string const& b) {
        auto text = of_nodes({"redis://127.0.0.3:1", a, b});
        names(text, {"are one server"});
        return text;
    };
    names(twice(a_node, a_node), {a_node + " and " + a_node});
    twice(a_node, "redis://127.0.0.1");
    twice(a_node, "valkey://127.0.0.1:6379");
    twice(a_node, "rediss://127.0.0.1:6379");
    twice(a_node, "redis://[::ffff:127.0.0.1]:6379");
    twice("redis://[::1]:1", "redis://[0:0::0:1]:1");
    twice("redis://Node-A:1", "redis://node-a:1");
    twice("redis://node-a:1", "redis://node-a.:1");
    twice("redis://", "redis://localhost:6379");
    names(twice(a_node, a_node + "/3"), {a_node + "/3"});
    twice(a_node, "redis://locker:" + secret + "@127.0.0.1:6379");
    twice("redis://:" + secret + "@node-a:1", "redis://:other@node-a:1/2?client_name=x");
    twice("unix:///run/redis.sock", "unix:///run/redis.sock?db=2");
    BOOST_TEST(of_nodes({a_node, "redis://127.0.0.1:6380", "redis://127.0.0.2:6379", "unix:///6379"}) == "");
}

BOOST_AUTO_TEST_CASE(config_with_invalid_url_is_refused)
{
    names(of_nodes({a_node, "http://10.0.0.1"}), {"node URL 2 of 2: http://10.0.0.1", "the scheme must be"});
    names(of_nodes({""}), {"node URL", "scheme"});
    names(of_nodes({"10.0.0.1:6379"}), {"10.0.0.1:6379", "scheme"});
    names(of_nodes({"redis://a,b"}), {"redis://a...", "one URL names one node"});
    names(of_nodes({"redis://a:0"}), {"redis://a:0", "1 to 65535"});
    names(of_nodes({"redis://a:65536"}), {"redis://a:65536", "1 to 65535"});
    names(of_nodes({"redis://a/x"}), {"redis://a...", "database"});
    names(of_nodes({"unix://socket"}), {"unix://socket", "absolute path"});
    names(of_nodes({a_node + "?colour=red"}), {a_node, "unknown option, number 1"});
    names(of_nodes({a_node + "?protocol=4"}), {"protocol must be 2 or 3"});
    names(of_nodes({a_node + "?connect_timeout=5"}), {"connect_timeout", "unit"});
    names(of_nodes({a_node + "?connect_timeout=0ms"}), {"connect_timeout must be longer than zero"});
    names(of_nodes({a_node + "?command_timeout=1441m"}), {a_node, "command_timeout", "86460000 ms"});
    names(of_nodes({a_node + "?tls_verify=false"}), {"tls_verify", "rediss://"});
    names(of_nodes({"rediss://a?tls_verify=no"}), {"tls_verify must be true or false"});
}

BOOST_AUTO_TEST_CASE(error_of_invalid_url_hides_password)
{
    std::vector<std::string> const urls{"redis://:" + secret + "@a:x",
                                        "redis://u:" + secret + "@@a",
                                        "redis://u:Xyzzy/Plugh@a",
                                        "redis://u:Xyzzy#Plugh@a",
                                        "redis://u:Xyzzy?Plugh@a",
                                        "redis://u:Xyzzy Plugh@a",
                                        "redis://u:Xyzzy:Plugh@a",
                                        "redis://u:%zz" + secret + "@a",
                                        "u:" + secret + "@a",
                                        "redis://a?password=" + secret,
                                        "redis://a?client_name=Xyzzy%20Plugh",
                                        "unix://:" + secret + "@a/socket",
                                        "http://u:" + secret + "@a"};
    for (auto const& broken : urls)
        names(of_nodes({broken}), {"node URL"});
}

BOOST_AUTO_TEST_CASE(config_with_user_but_no_password_is_refused)
{
    names(of_change([](config& c) { c.username = "locker", c.password.clear(); }),
          {a_node, "config::username is given without config::password"});
    names(of_nodes({"redis://locker@127.0.0.1:6379"}), {a_node, "a user name without a password"});
    BOOST_TEST(of_change([](config& c) { c.username = "locker"; }) == "");
}

BOOST_AUTO_TEST_CASE(config_with_times_out_of_range_is_refused)
{
    names(of_change([](config& c) { c.reconnect.min_delay = 0ms; }), {"reconnect.min_delay", "not 0 ms"});
    names(of_change([](config& c) { c.reconnect.max_delay = -5ms; }), {"reconnect.max_delay", "not -5 ms"});
    names(of_change([](config& c) { c.reconnect.min_delay = 70ms, c.reconnect.max_delay = 60ms; }),
          {"reconnect.min_delay (70 ms) is above reconnect.max_delay (60 ms)"});
    names(of_change([](config& c) { c.reconnect.connect_timeout = 0ms; }), {"connect_timeout", "not 0 ms"});
    names(of_change([](config& c) { c.health.response_timeout = 0ms; }),
          {"health.response_timeout", "not 0 ms"});
    for (auto const none : {-1ms, 0ms}) {
        names(of_change([=](config& c) { c.health.check_interval = none; }),
              {"health.check_interval", "std::nullopt"});
        names(of_change([=](config& c) { c.admission.longest_ttl = none; }),
              {"admission.longest_ttl", "more than zero"});
        names(of_change([=](config& c) { c.node_timeout = none; }), {"node_timeout", "more than zero"});
    }
    names(of_change([](config& c) { c.admission.longest_ttl = 49h; }), {"admission.longest_ttl", "48 hours"});
    BOOST_TEST(of_change([](config& c) { c.admission.longest_ttl = 48h; }) == "");
    names(of_change([](config& c) { c.node_timeout = 25h; }),
          {"node_timeout", "24 hours", "not 90000000 ms"});
    BOOST_TEST(of_change([](config& c) { c.health.check_interval.reset(); }) == "");
    BOOST_TEST(of_change([](config& c) { c.health.check_interval = std::chrono::milliseconds::max(); }) ==
               "");
}

BOOST_AUTO_TEST_CASE(config_with_invalid_client_name_or_prefix_is_refused)
{
    for (std::string const& wrong : {std::string("two words"), std::string("line\n"),
                                     std::string("zero\0", 5), std::string("caf\xc3\xa9")})
        names(of_change([&](config& c) { c.client_name = wrong; }), {"client_name", "not "});
    names(of_change([](config& c) { c.client_name = "two words"; }), {"not \"two words\""});
    names(of_change([](config& c) { c.key_prefix = std::string(513, 'x'); }),
          {"key_prefix", "513 bytes", "512"});
    names(of_change([](config& c) { c.client_name = std::string(513, 'x'); }),
          {"client_name", "513 bytes", "512"});
    BOOST_TEST(of_change([](config& c) { c.client_name.clear(), c.key_prefix = std::string(512, 'x'); }) ==
               "");
}

BOOST_AUTO_TEST_CASE(client_with_concurrent_executor_is_refused)
{
    asio::thread_pool pool(1);
    config settings;
    settings.nodes = {a_node};
    names(refusal([&] { redlock::client(pool.get_executor(), settings); }),
          {"executor does not serialise", "strand"});
    names(refusal([&] { redlock::client(asio::any_io_executor(), settings); }), {"executor is empty"});
    BOOST_TEST(refusal([&] { redlock::client(asio::make_strand(pool), settings); }) == "");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(lock_configuration)

BOOST_AUTO_TEST_CASE(lock_name_must_have_1_to_512_bytes)
{
    names(of_lock("", {}), {"name is empty"});
    BOOST_TEST(of_lock("x", {}) == "");
    BOOST_TEST(of_lock(std::string(512, 'x'), {}) == "");
    names(of_lock(std::string(513, 'x'), {}), {"513 bytes", "512"});
    BOOST_TEST(of_lock(std::string("\0\xff\r\n ", 5), {}) == "");
}

// rule V5
BOOST_AUTO_TEST_CASE(lock_with_ttl_too_short_to_use_is_refused)
{
    names(of_options([](auto& o) { o.ttl = 0ms; }), {"ttl", "not 0 ms"});
    names(of_options([](auto& o) { o.ttl = -1s; }), {"ttl", "not -1000 ms"});
    names(of_options([](auto& o) { o.ttl = 25h; }), {"ttl", "24 hours", "not 90000000 ms"});
    names(of_options([](auto& o) { o.ttl = 22ms; }),
          {"ttl 22 ms is too small", "1 % and 2 ms", "20 ms (node_timeout)"});
    BOOST_TEST(of_options([](auto& o) { o.ttl = 23ms; }) == "");
    names(of_options([](auto& o) { o.ttl = 1s, o.node_timeout = 988ms; }),
          {"ttl 1000 ms is too small", "988 ms (node_timeout)"});
    BOOST_TEST(of_options([](auto& o) { o.ttl = 1s, o.node_timeout = 987ms; }) == "");
    config slow;
    slow.node_timeout = 5s;
    names(of_lock("resource", {.ttl = 5s}, slow), {"ttl 5000 ms is too small", "5000 ms (node_timeout)"});
    BOOST_TEST(of_lock("resource", {}, slow) == "");
}

/// Other clients rely on the promised limit.
// rule N4
BOOST_AUTO_TEST_CASE(lock_longer_than_longest_ttl_is_refused)
{
    config settings;
    settings.admission.longest_ttl = 11s;
    BOOST_TEST(of_lock("resource", {.ttl = 10s}, settings) == "");
    names(of_lock("resource", {.ttl = 10s, .slack = 1001ms}, settings),
          {"ttl and slack are 11001 ms together", "admission.longest_ttl (11000 ms)"});
    names(of_lock<fenced_mutex>("resource", {.ttl = 11s}, settings), {"admission.longest_ttl (11000 ms)"});
    BOOST_TEST(of_lock("resource", {.ttl = 24h}) == "");
}

BOOST_AUTO_TEST_CASE(lock_with_slack_or_limits_out_of_range_is_refused)
{
    names(of_options([](auto& o) { o.slack = -1ms; }), {"slack", "is -1 ms"});
    names(of_options([](auto& o) { o.slack = 24h + 1ms; }), {"slack", "24 hours"});
    for (auto const slack : {0ms, std::chrono::milliseconds(24h)})
        BOOST_TEST(of_options([=](auto& o) { o.slack = slack; }) == "");
    names(of_options([](auto& o) { o.node_timeout = 0ms; }), {"node_timeout", "not 0 ms"});
    names(of_options([](auto& o) { o.max_hold = 0ms; }), {"max_hold", "not 0 ms"});
    names(of_options([](auto& o) { o.progress_within = 25h; }), {"progress_within", "not 90000000 ms"});
    names(of_options([](auto& o) { o.handover.batch = 0; }), {"handover.batch", "not 0"});
    names(of_options([](auto& o) { o.handover.period = 0ms; }), {"handover.period", "not 0 ms"});
    names(of_options([](auto& o) { o.retry.min_delay = 0ms; }), {"retry.min_delay", "not 0 ms"});
    names(of_options([](auto& o) { o.retry.max_delay = 0ms; }), {"retry.max_delay", "not 0 ms"});
    names(of_options([](auto& o) { o.retry.min_delay = 300ms; }),
          {"retry.min_delay (300 ms) is above retry.max_delay (200 ms)"});
    names(of_options([](auto& o) { o.retry.outage_patience = -1ms; }),
          {"retry.outage_patience", "not -1 ms"});
    BOOST_TEST(of_options([](auto& o) { o.retry.outage_patience = 0ms; }) == "");
    names(of_options([](auto& o) { o.retry.outage_patience = std::chrono::milliseconds::max(); }),
          {"retry.outage_patience", "up to a year"});
    names(of_options([](auto& o) { o.retry.outage_patience = 24h * 365 + 1ms; }), {"retry.outage_patience"});
    BOOST_TEST(of_options([](auto& o) { o.retry.outage_patience = 24h * 365; }) == "");
}

BOOST_AUTO_TEST_CASE(fence_ttl_outside_its_limits_is_misconfigured)
{
    asio::io_context context;
    redlock::client locks(context, {.nodes = {a_node}});
    auto const of_fence = [&](std::chrono::milliseconds time) {
        return refusal([&] { fenced_mutex(locks, "resource", {}, {.fence_ttl = time}); });
    };
    for (std::chrono::milliseconds const time :
         {std::chrono::milliseconds::max(), std::chrono::milliseconds(24h * 366 + 1ms), 109'999ms}) {
        names(of_fence(time), {"fence_ttl", "(110000 ms) and a year"});
    }
    for (std::chrono::milliseconds const time : {std::chrono::milliseconds(24h * 365), 110'000ms})
        BOOST_TEST(of_fence(time) == "");
}

BOOST_AUTO_TEST_SUITE_END()
