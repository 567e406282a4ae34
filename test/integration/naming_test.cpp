// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(naming)

BOOST_AUTO_TEST_CASE(lock_names_are_bytes)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        using namespace std::string_literals;
        std::string const names[] = {"\r\n"s, "a\0b"s,        "\xff\xfe\x80"s,
                                     " "s,    "{tag}:*?[x]"s, std::string(512, 'n')};
        for (std::string const& name : names) {
            mutex lock = nodes.lock(name);
            lease held = co_await lock.acquire();
            BOOST_TEST((held.resource() == name));
            co_await until([&] { return held.votes() == 3; });
            BOOST_TEST(nodes.holders(name, held.nonce()) == 3U);
            BOOST_TEST(nodes.keys_left() == 3U);
            co_await held.extend();
            co_await held.release();
            co_await until([&] { return nodes.no_keys(); });
        }
    });
}

// rule A2
BOOST_AUTO_TEST_CASE(key_prefix_is_part_of_key_and_not_of_name)
{
    cluster nodes(3, [](config& settings) { settings.key_prefix = "locks:"; });
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock("name");
        lease held = co_await lock.acquire();
        BOOST_TEST(held.resource() == "name");
        co_await until([&] { return held.votes() == 3; });
        BOOST_TEST(nodes.holders("locks:name", held.nonce()) == 3U);
        BOOST_TEST(!nodes.ask(0).exists("name"));
        co_await held.extend();
        co_await held.release();
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(locks_with_different_names_do_not_exclude_each_other)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        std::vector<lease> held;
        for (int i = 0; i != 50; ++i) {
            mutex lock = nodes.lock("name:" + std::to_string(i));
            held.push_back(co_await lock.try_acquire());
        }
        co_await until([&] { return nodes.keys_left() == 150; });
        held.clear();
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(locks_in_different_databases_do_not_exclude_each_other)
{
    redis_server server;
    probe direct(server.port());
    asio::io_context context;
    client zero(context.get_executor(), patient({server.url()}));
    client seven(context.get_executor(), patient({server.url() + "/7"}));
    run(context, [&]() -> asio::awaitable<void> {
        mutex here(zero, "lock", long_lived);
        mutex there(seven, "lock", long_lived);
        lease first = co_await here.try_acquire();
        lease second = co_await there.try_acquire();
        BOOST_TEST(direct.get("lock").value() == first.nonce());
        direct.command({"SELECT", "7"});
        BOOST_TEST(direct.get("lock").value() == second.nonce());
    });
}

BOOST_AUTO_TEST_CASE(lock_works_over_unix_sockets)
{
    server_group servers(3);
    std::vector<std::string> urls;
    for (auto const& server : servers)
        urls.push_back("unix://" + server->unix_path());
    asio::io_context context;
    client locks(context.get_executor(), patient(urls));
    run(context, [&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", long_lived);
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        probe direct(servers[0].unix_path());
        BOOST_TEST(direct.get("lock").value() == held.nonce());
        co_await held.extend();
        co_await held.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()
