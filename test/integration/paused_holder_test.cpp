// SPDX-License-Identifier: BSL-1.0
#include "../examples/fenced_register.hpp"
#include "processes.hpp"

#include <cstdint>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A value that holders of the lock may write, on a server of its own, guarded by their tokens.
class guarded_value {
public:
    explicit guarded_value(std::uint16_t port) : server_(port) {}

    std::string read(std::uint64_t token) { return call(fenced_scripts::read, token, {}); }
    bool write(std::uint64_t token, std::string const& value)
    {
        return call(fenced_scripts::write, token, {value}) == "1";
    }
    std::string now() { return server_.get("value").value_or(""); }
    void finish() { server_.command({"SET", "finished", "1"}); }
    bool finished() { return server_.exists("finished"); }

private:
    std::string call(std::string_view script, std::uint64_t token, std::vector<std::string> const& more)
    {
        std::vector<std::string> words{"EVAL",  std::string(script), "2",
                                       "value", "value:fence",       std::to_string(token)};
        words.insert(words.end(), more.begin(), more.end());
        return server_.command(words);
    }

    probe server_;
};

lock_options pausing_lease()
{
    return {.ttl = 2s, .slack = 200ms, .node_timeout = 1s};
}

/// Has the lock, is about to write, and finds at its next step that other clients have finished.
void hold_and_write_late(std::vector<std::string> const& urls, std::uint16_t resource, journal const& log)
{
    asio::io_context context;
    client locks(context.get_executor(), patient(urls));
    guarded_value value(resource);
    test::run(context, [&]() -> asio::awaitable<void> {
        fenced_mutex lock(locks, "lock", pausing_lease());
        lease held = co_await lock.acquire();
        log.append(std::to_string(held.fencing_token()));
        co_await until([&] { return value.finished(); }); // renews itself, until the process is stopped
        log.append(held.valid() ? "valid" : "not valid");
        log.append(value.write(held.fencing_token(), "late") ? "written" : "refused");
        (void)co_await error_of(held.release());
    });
}

} // namespace

BOOST_AUTO_TEST_SUITE(paused_holder)

// rule H1
BOOST_AUTO_TEST_CASE(paused_holder_is_not_valid_and_its_late_write_is_refused)
{
    server_group servers(3);
    redis_server resource;
    auto const urls = servers.urls();
    journal log;
    child holder([&] { hold_and_write_late(urls, resource.port(), log); });
    asio::io_context context;
    run_until(context, [&] { return log.lines().size() == 1; });
    holder.stop();
    auto const stale = std::stoull(log.lines()[0]);

    client locks(context.get_executor(), patient(urls));
    guarded_value value(resource.port());
    test::run(context, [&]() -> asio::awaitable<void> {
        fenced_mutex lock(locks, "lock", long_lived);
        lease held = co_await lock.acquire(); // when the other one's keys have expired
        BOOST_TEST(held.fencing_token() > stale);
        BOOST_TEST(value.read(held.fencing_token()) == "[1, (nil)]");
        value.finish();
        holder.go_on();
        co_await until([&] { return log.lines().size() == 3; });
        BOOST_TEST(held.valid());
        BOOST_TEST(value.write(held.fencing_token(), "in time"));
        co_await held.release();
    });
    BOOST_TEST(holder.join());
    BOOST_TEST(log.lines()[1] == "not valid");
    BOOST_TEST(log.lines()[2] == "refused");
    BOOST_TEST(value.now() == "in time");
}

BOOST_AUTO_TEST_SUITE_END()
