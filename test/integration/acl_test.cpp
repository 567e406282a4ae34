// SPDX-License-Identifier: BSL-1.0
#include "attempt.hpp"
#include "kit/native_right.hpp"
#include "kit/probe.hpp"
#include "kit/recorder.hpp"
#include "kit/redis_server.hpp"
#include "kit/text.hpp"
#include <redlock/election.hpp>
#include <redlock/fenced_multi_mutex.hpp>
#include <redlock/fenced_mutex.hpp>
#include <redlock/fenced_shared_mutex.hpp>
#include <redlock/multi_mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

namespace {

namespace asio = boost::asio;
using namespace redlock::test;

using redlock::server_error;

constexpr char const* needed[] = {"+set",     "+get",  "+del",        "+pexpire", "+eval",
                                  "+evalsha", "+info", "+config|get", "+time"};

constexpr char const* needed_when_fenced[] = {"+set",  "+get",  "+del",     "+pexpire", "+mget",      "+pttl",
                                              "+time", "+eval", "+evalsha", "+info",    "+config|get"};

constexpr char const* full[] = {"+set",
                                "+get",
                                "+del",
                                "+pexpire",
                                "+eval",
                                "+evalsha",
                                "+info",
                                "+config|get",
                                "+time",
                                "+pttl",
                                "+mget",
                                "+select",
                                "+client|tracking",
                                "+client|setname",
                                "+subscribe",
                                "+publish",
                                "+exists",
                                "+type",
                                "+zadd",
                                "+zrange",
                                "+zrem",
                                "+zrank",
                                "+zscore",
                                "+zcard",
                                "&lock:redlock-to:*"};

/// The rights that readers need besides those of every queued client.
constexpr char const* needed_for_readers = " +pexpireat +zremrangebyscore +hget";

template <class Rights>
std::string without(Rights const& rights, std::string const& missing)
{
    std::string list = "~lock:* resetchannels -@all";
    for (std::string const right : rights)
        if (right != missing)
            list += ' ' + right;
    return list;
}

/// The documented list of rights, less one.
std::string full_rights_without(std::string const& missing)
{
    return without(full, missing) + native_right();
}

/// The documented minimum, less one.
std::string rights_without(std::string const& missing)
{
    return without(needed, missing) + native_right();
}

struct guarded_server {
    redis_server server;

    explicit guarded_server(std::string const& rights)
        : server({.acl = {"user default off", "user watcher on nopass ~* &* +@all",
                          "user locker on >pw " + rights}})
    {}

    redlock::config settings() const
    {
        auto made = settings_for({server.url()});
        made.username = "locker";
        made.password = "pw";
        made.key_prefix = "lock:";
        return made;
    }

    probe eye() const
    {
        probe made(server.port());
        BOOST_TEST_REQUIRE(made.command({"AUTH", "watcher", "any"}) == "OK");
        return made;
    }
};

/// A lock's life, twice, so that scripts go out in full and by their hash; and what the node's row says afterwards.
struct life {
    std::vector<boost::system::error_code> results;
    std::string complaint;
    std::vector<redlock::node_outcome> table;
};

template <class Step>
asio::awaitable<void> note(life& into, redlock::client& locks, Step step)
{
    auto const outcome = co_await std::move(step)(asio::as_tuple(asio::use_awaitable));
    into.results.push_back(std::get<0>(outcome));
    if (std::get<0>(outcome) && into.complaint.empty())
        into.complaint = locks.node_table().at(0).detail;
}

template <class Lock = redlock::mutex>
life live(redlock::config const& settings)
{
    life seen;
    asio::io_context context;
    redlock::client locks(context.get_executor(), settings);
    run(context, [&]() -> asio::awaitable<void> {
        for (char const* const name : {"first", "second"}) {
            Lock lock(locks, name, long_lived);
            boost::system::error_code ec;
            redlock::lease held = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
            seen.results.push_back(ec);
            seen.table = lock.last_attempt();
            if (ec)
                co_return;
            co_await note(seen, locks, [&](auto token) { return held.extend(token); });
            co_await note(seen, locks, [&](auto token) { return held.release(token); });
        }
    });
    return seen;
}

struct missing_right {
    char const* right;
    std::size_t fails_at; ///< acquire, extend, release, and the same again
    char const* words;
    char const* newer_words = words; ///< on Redis from 7.2, and on Valkey
};

std::ostream& operator<<(std::ostream& out, missing_right const& row)
{
    return out << row.right;
}

std::size_t occurrences(std::string const& text, std::string_view what)
{
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
        ++found;
    return found;
}

constexpr char const* in_script = "ERR The user executing the script";
constexpr char const* at_key = "NOPERM this user has no permissions to access one of the keys";
constexpr missing_right missing_rights[] = {
    {"+get", 1, "extend: ERR The user executing the script", "no permissions to run the 'get' command"},
    {"+pexpire", 1, "extend: ERR The user executing the script",
     "no permissions to run the 'pexpire' command"},
    {"+del", 2, "release: ERR The user executing the script", "no permissions to run the 'del' command"},
    {"+eval", 1, " has no permissions to run the 'eval' command"},
    {"+evalsha", 4, " has no permissions to run the 'evalsha' command"},
};

} // namespace

BOOST_AUTO_TEST_SUITE(access_rules)

/// A fenced lock is taken and renewed, another client waits for it, and gets it: what `nodes()` says of that.
std::string complaints(redlock::config const& settings, bool line = false)
{
    auto const options = line ? with_queue(long_lived) : long_lived;
    asio::io_context context;
    redlock::client first(context.get_executor(), settings);
    redlock::client second(context.get_executor(), settings);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await redlock::fenced_mutex(first, "seat", options).acquire();
        co_await held.extend();
        redlock::fenced_mutex wanted(second, "seat", options);
        boost::system::error_code refused;
        redlock::lease none = co_await wanted.acquire_for(std::chrono::milliseconds{200},
                                                          asio::redirect_error(asio::use_awaitable, refused));
        BOOST_TEST(refused == make_error_code(redlock::errc::timed_out));
        co_await held.release();
        redlock::lease got = co_await wanted.acquire();
        co_await got.release();
    });
    return first.node_table().at(0).detail + second.node_table().at(0).detail;
}

BOOST_AUTO_TEST_CASE(documented_acl_line_causes_no_complaint)
{
    guarded_server const guarded(full_rights_without("nothing"));
    BOOST_TEST(complaints(guarded.settings(), true) == "");
    auto const log = guarded.eye().command({"ACL", "LOG"});
    BOOST_TEST(occurrences(log, "reason, ") == occurrences(log, "object, client|setinfo"), log);
    guarded_server const lacking(full_rights_without("+client|tracking"));
    BOOST_TEST(complaints(lacking.settings()).find("CLIENT TRACKING") != std::string::npos);
}

/// A writer waits for a reader, and a reader behind it, which comes in when the writer becomes a reader.
using locks_in_turn = std::tuple<redlock::shared_mutex, redlock::fenced_shared_mutex>;
BOOST_AUTO_TEST_CASE_TEMPLATE(documented_rights_suffice_for_readers_and_writers, lock, locks_in_turn)
{
    guarded_server const guarded(full_rights_without("nothing") + needed_for_readers);
    probe eye = guarded.eye();
    asio::io_context context;
    redlock::client first(context.get_executor(), guarded.settings());
    redlock::client second(context.get_executor(), guarded.settings());
    lock one(first, "seat", long_lived);
    lock other(second, "seat", long_lived);
    redlock::client third(context.get_executor(), guarded.settings());
    lock another(third, "seat", long_lived);
    auto const wait = [&](auto over) -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor);
        while (!over()) {
            timer.expires_after(std::chrono::milliseconds{1});
            co_await timer.async_wait(asio::use_awaitable);
        }
    };
    auto const in_queue = [&] { return eye.command({"ZCARD", "lock:seat:redlock-queue"}); };
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease reads = co_await one.acquire_shared();
        co_await reads.extend();
        redlock::lease writes;
        other.acquire([&](boost::system::error_code, redlock::lease got) { writes = std::move(got); });
        co_await wait([&] { return in_queue() == "1"; });
        redlock::lease late;
        another.acquire_shared([&](boost::system::error_code, redlock::lease got) { late = std::move(got); });
        co_await wait([&] { return in_queue() == "2"; });
        co_await reads.release();
        co_await wait([&] { return writes.valid(); });
        co_await writes.extend();
        writes.downgrade();
        co_await wait([&] { return late.valid(); });
        co_await writes.release();
        co_await late.release();
    });
    BOOST_TEST(eye.command({"EXISTS", "lock:seat", "lock:seat:redlock-queue"}) == "0");
    BOOST_TEST(first.node_table().at(0).detail + second.node_table().at(0).detail == "");
    auto const log = eye.command({"ACL", "LOG"});
    auto const tolerated =
        occurrences(log, "object, client|setinfo") + occurrences(log, "object, client|setname");
    BOOST_TEST(occurrences(log, "reason, ") == tolerated, log);
}

/// A reader may do nothing with permits but see that they are there.
BOOST_AUTO_TEST_CASE_TEMPLATE(rights_of_readers_suffice_to_learn_that_permits_hold_the_name, lock,
                              locks_in_turn)
{
    guarded_server const guarded(full_rights_without("nothing") + needed_for_readers);
    redlock::config settings = guarded.settings();
    asio::io_context context;
    redlock::client reading(context.get_executor(), settings);
    settings.username = "watcher";
    redlock::client other(context.get_executor(), settings);
    lock wanted(reading, "seat", long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await redlock::semaphore(other, "seat", 2, long_lived).acquire();
        boost::system::error_code ec;
        co_await wanted.try_acquire_shared(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(ec == make_error_code(redlock::errc::contended));
        auto const rows = wanted.last_attempt();
        BOOST_TEST_REQUIRE(rows.size() == 1U);
        BOOST_TEST(rows[0].holder == redlock::holder_kind::permits);
        redlock::inspection const seen = co_await wanted.inspect(asio::use_awaitable);
        BOOST_TEST((seen.holder == redlock::holder_kind::permits));
        co_await held.release();
    });
}

using locks_of_several = std::tuple<redlock::multi_mutex, redlock::fenced_multi_mutex>;
// rule M9
BOOST_AUTO_TEST_CASE_TEMPLATE(documented_rights_suffice_for_several_names, lock, locks_of_several)
{
    guarded_server const guarded(rights_without("nothing") + " +mget +pttl +exists");
    asio::io_context context;
    redlock::client locks(context.get_executor(), guarded.settings());
    lock both(locks, {"a", "b"}, long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        for (int i = 0; i != 2; ++i) { // the second time by the scripts' hashes
            redlock::lease held = co_await both.acquire();
            co_await held.extend();
            co_await held.release();
        }
    });
    probe eye = guarded.eye();
    BOOST_TEST(eye.command({"EXISTS", "lock:a", "lock:b"}) == "0");
}

using locks_with_permits = std::tuple<redlock::semaphore, redlock::fenced_semaphore>;
// rule P10
BOOST_AUTO_TEST_CASE_TEMPLATE(documented_rights_suffice_for_permits, lock, locks_with_permits)
{
    guarded_server const guarded(
        "resetchannels &lock:redlock-to:* ~lock:* +eval +evalsha +info +config|get +time +type +pttl +del "
        "+pexpire "
        "+pexpireat +mget +hget +hmget +hgetall +hset +hdel +hlen +hkeys +exists +zadd +zrem +zrange +zscore "
        "+zrank +zcard +client|tracking +subscribe +publish +set +get");
    asio::io_context context;
    redlock::client first(context.get_executor(), guarded.settings());
    redlock::client second(context.get_executor(), guarded.settings());
    lock one(first, "pool", 2, long_lived);
    lock other(second, "pool", 2, long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        for (int i = 0; i != 2; ++i) { // the second time by the scripts' hashes
            redlock::lease held = co_await one.acquire(2);
            co_await held.extend();
            std::optional<redlock::lease> next;
            other.acquire([&](boost::system::error_code, redlock::lease got) { next = std::move(got); });
            co_await until([&] { return other.waiting() == 1; });
            co_await held.release();
            co_await until([&] { return next.has_value(); });
            BOOST_TEST(next->valid());
            co_await next->release();
        }
    });
    probe eye = guarded.eye();
    BOOST_TEST(eye.command({"EXISTS", "lock:pool", "lock:pool:redlock-queue"}) == "0");
    auto const log = eye.command({"ACL", "LOG"});
    BOOST_TEST(occurrences(log, "reason, ") == occurrences(log, "object, client|setinfo"), log);
}

/// Then names are deleted, not handed on.
// rule M3
BOOST_AUTO_TEST_CASE_TEMPLATE(names_whose_queues_are_not_permitted_are_given_back, lock, locks_of_several)
{
    std::string rights = rights_without("nothing") + " +mget +pttl +exists";
    rights.replace(rights.find("~lock:*"), 7, "~lock:a ~lock:b ~lock:*-fence ~lock:redlock-marker");
    guarded_server const guarded(rights);
    asio::io_context context;
    redlock::client locks(context.get_executor(), guarded.settings());
    lock both(locks, {"a", "b"}, long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        for (int i = 0; i != 2; ++i) { // the second time by the scripts' hashes
            redlock::lease held = co_await both.acquire();
            co_await held.release();
        }
    });
    BOOST_TEST(contains(locks.node_table().at(0).detail, "queue: NOPERM"), locks.node_table().at(0).detail);
    probe eye = guarded.eye();
    BOOST_TEST(eye.command({"EXISTS", "lock:a", "lock:b"}) == "0");
}

/// An observer may write nothing.
// rule EL7
BOOST_AUTO_TEST_CASE(documented_rights_suffice_to_observe_an_election)
{
    guarded_server const guarded(
        "%R~lock:* resetchannels -@all +get +info +config|get +time +client|tracking");
    asio::io_context context;
    redlock::config settings = guarded.settings();
    redlock::client looking(context.get_executor(), settings);
    settings.username = "watcher";
    redlock::client leading(context.get_executor(), settings);
    redlock::election const view(looking, "seat", long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::leader_info seen = co_await view.leader();
        BOOST_TEST(seen.vacant);
        redlock::leadership led = co_await redlock::election(leading, "seat", long_lived).campaign("me");
        seen = co_await view.observe(seen);
        BOOST_TEST(seen.term == led.term());
        BOOST_TEST(seen.value == "me");
        std::optional<redlock::leader_info> next;
        view.observe(seen,
                     [&](boost::system::error_code, redlock::leader_info told) { next = std::move(told); });
        co_await led.resign();
        while (!next) { // the server reports this
            asio::steady_timer timer(context, std::chrono::milliseconds{1});
            co_await timer.async_wait(asio::use_awaitable);
        }
        BOOST_TEST(next->vacant);
    });
    BOOST_TEST(looking.node_table().at(0).detail == "");
    probe eye = guarded.eye();
    auto const log = eye.command({"ACL", "LOG"});
    auto const tolerated =
        occurrences(log, "object, client|setinfo") + occurrences(log, "object, client|setname");
    BOOST_TEST(occurrences(log, "reason, ") == tolerated, log);
}

struct election_right {
    char const* missing;
    char const*
        words; ///< on Redis before 7.2: of a command in a script it only says that one is not permitted
    bool releasable = true; ///< nothing that gives the lock back is missing
    char const* keys = "~lock:*";
};

inline std::ostream& operator<<(std::ostream& out, election_right const& row)
{
    return out << row.missing << ' ' << row.keys;
}

constexpr election_right election_rights[] = {
    {"nothing", ""},
    {"+set", in_script},
    {"+get", in_script, false},
    {"+del", in_script, false},
    {"+pexpire", in_script},
    {"+mget", in_script},
    {"+pttl", in_script},
    {"+time", in_script},
    {"+eval", " has no permissions to run the 'eval' command"},
    {"+evalsha", " has no permissions to run the 'evalsha' command"},
    {"nothing", at_key, true, "~lock:seat ~lock:seat:redlock-fence ~lock:redlock-marker"},
    {"nothing", at_key, true,
     "~lock:seat ~lock:seat:redlock-fence ~lock:redlock-marker ~lock:seat:redlock-queue"},
    {"nothing", at_key, true, "~lock:seat ~lock:seat:redlock-leader ~lock:redlock-marker"},
    {"nothing", at_key, true, "~lock:seat:redlock-*  ~lock:redlock-marker"},
    {"nothing", at_key, true, "~lock:seat ~lock:seat:*"},
};

/// A campaign that cannot announce its leader gives everything back.
// rule EL2
BOOST_DATA_TEST_CASE(campaign_without_a_right_names_it_and_leaves_nothing, election_rights, row)
{
    std::string rights = without(needed_when_fenced, row.missing);
    rights.replace(0, std::string("~lock:*").size(), row.keys);
    guarded_server const guarded(rights);
    asio::io_context context;
    redlock::client locks(context.get_executor(), guarded.settings());
    redlock::election seat(locks, "seat", long_lived);
    std::string detail;
    run(context, [&]() -> asio::awaitable<void> {
        for (int i = 0; i != (row.releasable ? 2 : 1); ++i) { // the second time by the scripts' hashes
            try {
                redlock::leadership led = co_await seat.campaign("me");
                co_await led.resign(asio::as_tuple(asio::use_awaitable));
            } catch (redlock::lock_error const& e) {
                BOOST_TEST(e.code() == make_error_code(redlock::errc::no_quorum));
                BOOST_TEST_REQUIRE(e.outcomes().size() == 1U);
                BOOST_TEST((e.outcomes()[0].error == server_error::noperm));
                detail = e.outcomes()[0].detail;
            }
        }
        co_await locks.shutdown(asio::as_tuple(asio::use_awaitable));
    });
    bool const named = detail.find(row.words) != std::string::npos ||
                       detail.find(std::string_view(row.missing).substr(1)) != std::string::npos ||
                       (row.words == at_key && detail.find("permissions to access") != std::string::npos);
    BOOST_TEST((detail.empty() ? row.words == std::string_view() || !row.releasable : named), detail);
    if (row.releasable)
        BOOST_TEST(guarded.eye().command({"EXISTS", "lock:seat"}) == "0");
}

/// Another client waits meanwhile, unqueued, and gets the lock.
// rule K8
BOOST_AUTO_TEST_CASE(plain_locks_need_no_scripts_on_servers_that_compare)
{
    guarded_server const guarded(
        "~lock:* resetchannels -@all +set +get +pttl +client|tracking +info +config|get +time" +
        native_right());
    life const seen = live(guarded.settings());
    if (native_right().empty()) {
        BOOST_TEST_REQUIRE(seen.results.size() >= 2U);
        BOOST_TEST(!seen.results.at(0));
        BOOST_TEST(seen.results.at(1).failed());
        return;
    }
    for (auto const& ec : seen.results)
        BOOST_TEST(!ec, ec.message());
    BOOST_TEST(seen.results.size() == 6U);
    BOOST_TEST(seen.complaint == "");
    probe eye = guarded.eye();
    BOOST_TEST(eye.command({"DBSIZE"}) == "0");
    asio::io_context context;
    redlock::client first(context.get_executor(), guarded.settings());
    redlock::client second(context.get_executor(), guarded.settings());
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await redlock::mutex(first, "seat", with_queue(long_lived)).acquire();
        std::optional<redlock::lease> got;
        redlock::mutex(second, "seat", with_queue(long_lived))
            .acquire([&](boost::system::error_code, redlock::lease won) { got = std::move(won); });
        asio::steady_timer timer(context);
        while (occurrences(eye.command({"CLIENT", "LIST"}), "flags=t") == 0) {
            timer.expires_after(std::chrono::milliseconds{1});
            co_await timer.async_wait(asio::use_awaitable);
        }
        co_await held.release();
        while (!got) {
            timer.expires_after(std::chrono::milliseconds{1});
            co_await timer.async_wait(asio::use_awaitable);
        }
        BOOST_TEST(got->valid());
        co_await got->release();
    });
    BOOST_TEST(eye.command({"DBSIZE"}) == "0");
}

constexpr std::chrono::seconds long_enough{20}; ///< for waiters that will be queued

/// One client has a lock, and another one waits for it.
struct two_clients {
    explicit two_clients(guarded_server const& guarded) : eye(guarded.eye())
    {
        redlock::config settings = guarded.settings();
        settings.observer = told;
        first.emplace(context.get_executor(), settings);
        second.emplace(context.get_executor(), settings);
    }

    asio::awaitable<redlock::lease> acquire(redlock::client& by, std::string const& name)
    {
        redlock::mutex wanted(by, name, with_queue(long_lived));
        co_return co_await wanted.acquire();
    }
    /// The other client waits for it, and gets it when it is queued, or after that time.
    asio::awaitable<void> pass_on(redlock::lease& held, redlock::client& to,
                                  std::chrono::milliseconds longest)
    {
        std::string const name(held.resource());
        std::optional<redlock::lease> got;
        asio::co_spawn(
            context, [&]() -> asio::awaitable<void> { got = co_await acquire(to, name); }, asio::detached);
        auto const end = std::chrono::steady_clock::now() + longest;
        do {
            co_await sleep(std::chrono::milliseconds{1});
            standing = eye.command({"ZCARD", "lock:" + name + ":redlock-queue"});
        } while (standing == "0" && std::chrono::steady_clock::now() < end);
        co_await held.release();
        while (!got)
            co_await sleep(std::chrono::milliseconds{1});
        held = std::move(*got);
    }
    static asio::awaitable<void> sleep(std::chrono::milliseconds time)
    {
        asio::steady_timer timer(co_await asio::this_coro::executor, time);
        co_await timer.async_wait(asio::use_awaitable);
    }
    /// Returns what the observer was told of the node while it was ready.
    [[nodiscard]] std::string words() const
    {
        std::string all;
        for (auto const& change : told->nodes)
            if (change.state == redlock::node_state::ready && !change.detail.empty())
                all += change.detail + '\n';
        return all;
    }

    asio::io_context context;
    std::shared_ptr<recorder> told = std::make_shared<recorder>();
    std::optional<redlock::client> first;
    std::optional<redlock::client> second;
    probe eye;
    std::string standing; ///< how many stood there, just before it was passed on
};

/// The waiter polls, and the missing right can be seen.
// rule Q18
BOOST_AUTO_TEST_CASE(waiter_that_may_not_be_called_waits_in_the_queue)
{
    for (std::string const right : {"+subscribe", "+publish", "&lock:redlock-to:*", "+client|tracking"})
        BOOST_TEST_CONTEXT(right)
        {
            guarded_server const lacking(full_rights_without(right));
            two_clients both(lacking);
            run(both.context, [&]() -> asio::awaitable<void> {
                redlock::lease held = co_await both.acquire(*both.first, "seat");
                for (redlock::client* const next : {&*both.second, &*both.first, &*both.second}) {
                    co_await both.pass_on(held, *next, long_enough);
                    BOOST_TEST(both.standing == "1");
                }
                co_await held.release();
            });
            BOOST_TEST(both.words().find("NOPERM") != std::string::npos, both.words());
            BOOST_TEST(both.words().find("queue: ") == std::string::npos, both.words());
            BOOST_TEST(both.eye.command({"EXISTS", "lock:seat:redlock-queue"}) == "0");
        }
}

/// The waiter's date has changed since it entered.
// rule Q18
BOOST_AUTO_TEST_CASE(polling_waiter_that_leaves_takes_its_position_along)
{
    guarded_server const lacking(full_rights_without("+subscribe"));
    two_clients both(lacking);
    run(both.context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await both.acquire(*both.first, "seat");
        boost::system::error_code ec;
        redlock::lease none =
            co_await redlock::mutex(*both.second, "seat", with_queue(long_lived))
                .acquire_for(std::chrono::milliseconds{100}, asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(ec == make_error_code(redlock::errc::timed_out));
        while (both.eye.command({"EXISTS", "lock:seat:redlock-queue"}) != "0")
            co_await two_clients::sleep(std::chrono::milliseconds{1});
        co_await held.release();
    });
}

/// The refusal does not concern another lock's queue; and a refused client does not ask again.
// rule Q23
BOOST_AUTO_TEST_CASE(queue_whose_key_is_not_permitted_bars_no_other)
{
    std::string rights = full_rights_without("");
    rights.replace(rights.find("~lock:*"), 7, "~lock:open* ~lock:shut");
    guarded_server const lacking(rights);
    two_clients both(lacking);
    run(both.context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await both.acquire(*both.first, "shut");
        co_await both.pass_on(held, *both.second, std::chrono::seconds{2});
        BOOST_TEST(both.standing == "0");
        BOOST_TEST(occurrences(both.words(), "queue: NOPERM") == 1U, both.words());
        auto const log = both.eye.command({"ACL", "LOG"});
        auto const shut = log.find("object, lock:shut:redlock-queue");
        BOOST_TEST_REQUIRE(shut != log.npos, log);
        BOOST_TEST(std::stoi(log.substr(log.rfind("count, ", shut) + 7)) == 2, log); // to enter, and to leave
        co_await held.release();
        held = co_await both.acquire(*both.first, "open");
        co_await both.pass_on(held, *both.second, long_enough);
        BOOST_TEST(both.standing == "1");
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(observer_is_told_once_that_waiter_cannot_ask_for_expiry)
{
    guarded_server const lacking(full_rights_without("+pttl"));
    two_clients both(lacking);
    run(both.context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await both.acquire(*both.first, "seat");
        co_await both.pass_on(held, *both.second, std::chrono::seconds{1});
        BOOST_TEST(both.standing == "0");
        BOOST_TEST(occurrences(both.words(), "PTTL: NOPERM") == 1U, both.words());
        co_await held.release();
    });
}

/// The missing right can be seen.
// rule Q23
BOOST_AUTO_TEST_CASE(missing_right_to_the_queue_is_tolerated_and_shown)
{
    for (std::string const right :
         {"+subscribe", "+publish", "+zadd", "+zrange", "+zrem", "+zrank", "&lock:redlock-to:*"}) {
        guarded_server const lacking(full_rights_without(right));
        std::string const seen = complaints(lacking.settings(), true);
        if (right != "+zrem" && right != "+publish") // needed only for other waiters
            BOOST_TEST(!seen.empty(), right);
    }
}

BOOST_AUTO_TEST_CASE(documented_minimal_rights_suffice_for_fenced_locks)
{
    std::string rights = "~lock:* resetchannels -@all";
    for (char const* const right : needed_when_fenced)
        rights += std::string(" ") + right;
    guarded_server const guarded(rights);
    life const seen = live<redlock::fenced_mutex>(guarded.settings());
    BOOST_TEST(seen.results.size() == 6U);
    for (auto const& ec : seen.results)
        BOOST_TEST(!ec, ec.message() << "; " << seen.complaint);
}

// rule N2
BOOST_AUTO_TEST_CASE(documented_minimal_rights_suffice_for_plain_locks)
{
    guarded_server const guarded(rights_without("nothing"));
    auto const seen = live(guarded.settings());
    BOOST_TEST(seen.results.size() == 6U);
    for (auto const& result : seen.results)
        BOOST_TEST(!result, result.message());
    BOOST_TEST(seen.complaint == "");
    auto eye = guarded.eye();
    BOOST_TEST(eye.keys().empty());
    auto const log =
        eye.command({"ACL", "LOG"}); // nothing was tried in vain, but what servers before 7.2 do not know
    BOOST_TEST(occurrences(log, "reason, ") == occurrences(log, "object, client|setinfo"), log);
}

BOOST_AUTO_TEST_CASE(documented_minimal_rights_suffice_in_resp2)
{
    guarded_server const guarded(rights_without("nothing"));
    auto settings = guarded.settings();
    settings.nodes[0] += "?protocol=2";
    for (auto const& result : live(settings).results)
        BOOST_TEST(!result, result.message());
}

BOOST_AUTO_TEST_CASE(missing_rights_to_info_config_and_time_are_tolerated)
{
    guarded_server const silent(rights_without("+info"));
    auto const unguarded = live(silent.settings());
    for (auto const& result : unguarded.results)
        BOOST_TEST(!result, result.message());
    for (char const* const right : {"+config|get", "+time"}) {
        guarded_server const discreet(rights_without(right));
        for (auto const& result : live(discreet.settings()).results)
            BOOST_TEST(!result, result.message());
    }
}

BOOST_AUTO_TEST_CASE(missing_right_to_set_is_no_quorum)
{
    guarded_server const guarded(rights_without("+set"));
    auto const seen = live(guarded.settings());
    BOOST_TEST_REQUIRE(seen.results.size() == 1U);
    BOOST_TEST(seen.results[0] == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST((seen.table.at(0).result == redlock::node_result::refused));
    BOOST_TEST((seen.table[0].error == server_error::noperm));
    auto const& words = seen.table[0].detail; // Redis 7.0 says "this user", later ones name it
    BOOST_TEST(
        (words.starts_with("NOPERM ") && words.ends_with(" has no permissions to run the 'set' command")),
        words);
}

/// If servers compare by themselves, the rights of scripts are not missed.
BOOST_DATA_TEST_CASE(missing_right_is_named_in_the_error, missing_rights, row)
{
    guarded_server const guarded(rights_without(row.right));
    auto const seen = live(guarded.settings());
    if (!native_right().empty()) {
        BOOST_TEST((seen.results == std::vector<boost::system::error_code>(6)));
        BOOST_TEST(seen.complaint == "");
        return;
    }
    BOOST_TEST_REQUIRE(seen.results.size() > row.fails_at);
    for (std::size_t i = 0; i != row.fails_at; ++i)
        BOOST_TEST(!seen.results[i], seen.results[i].message());
    BOOST_TEST(seen.results[row.fails_at] == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST((seen.complaint.find(row.words) != std::string::npos ||
                seen.complaint.find(row.newer_words) != std::string::npos),
               seen.complaint);
}

BOOST_AUTO_TEST_CASE(key_outside_the_allowed_pattern_is_refused)
{
    guarded_server const guarded(rights_without("nothing"));
    auto settings = guarded.settings();
    settings.key_prefix = "other:";
    auto const seen = live(settings);
    BOOST_TEST_REQUIRE(seen.results.size() == 1U);
    BOOST_TEST((seen.table.at(0).error == server_error::noperm));
    BOOST_TEST((seen.table[0].detail.find("NOPERM") != std::string::npos), seen.table[0].detail);
}

// rule A8
BOOST_AUTO_TEST_CASE(missing_right_ends_acquire_at_once)
{
    guarded_server const guarded(rights_without("+set"));
    BOOST_TEST(acquire_despite_outages(guarded.settings()) == make_error_code(redlock::errc::no_quorum));
}

BOOST_AUTO_TEST_SUITE_END()
