// SPDX-License-Identifier: BSL-1.0
// Servers that compare by themselves: what they are told instead of scripts, and when not (rules K8 and A7).
#include "component/simulated_program.hpp"
#include "world/command.hpp"
#include <redlock/error.hpp>
#include <redlock/fenced_mutex.hpp>
#include <redlock/mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace redlock::test {

namespace {

using version = world::server::release;
using boost::system::error_code;

/// Renewals are minutes away.
constexpr lock_options lasting{.ttl = 10min, .fair = false};

/// Notes what every node hears of locks.
struct native_locks_fixture : simulated_program {
    native_locks_fixture() : talk(net.size()), unread(net.size())
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).overhear = [this, n](world::server::connection_id, std::string_view said) {
                unread[n] += said;
                while (auto const command = world::take_command(unread[n]))
                    note(n, *command);
            };
    }

    void note(std::size_t node, std::vector<std::string> const& words)
    {
        std::string const& name = words.front();
        if (name == "SET")
            talk[node] += "SET " + words.at(3) + ", ";
        for (std::string_view const known : {"GET", "EVAL", "EVALSHA", "DELEX", "DELIFEQ"})
            if (name == known)
                talk[node] += name + ", ";
    }
    /// Returns the node's commands since the last call.
    std::string heard(std::size_t node = 0) { return std::exchange(talk[node], {}); }

    template <class Change>
    void everywhere(Change change)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            change(net.at(n).redis.is);
    }
    void become(version now)
    {
        everywhere([&](auto& is) { is.version = now; });
    }
    void forbid(std::set<std::string> const& commands)
    {
        everywhere([&](auto& is) { is.forbidden = commands; });
    }
    void be_full(bool now)
    {
        everywhere([&](auto& is) { is.out_of_memory = now; });
    }
    void execute(std::size_t node, std::vector<std::string> const& words)
    {
        (void)net.at(node).redis.execute(words, net.at(node).wall_us(time.now()));
    }
    bool has_key(std::size_t node) { return net.at(node).redis.keys().shows("lock", now_ms(node)); }
    world::millis now_ms(std::size_t node) { return net.at(node).wall_us(time.now()) / 1000; }

    void acquire(lock_options const& options = lasting)
    {
        if (!locks)
            locks.emplace(program.make_client(settings));
        mutex(*locks, "lock", options).try_acquire([this](error_code ec, lease got) {
            result = ec;
            held = std::move(got);
        });
        pass(10ms);
    }
    error_code extend()
    {
        result.reset();
        held.extend([this](error_code ec) { result = ec; });
        pass(10ms);
        return result.value();
    }
    error_code release()
    {
        result.reset();
        held.release([this](error_code ec) { result = ec; });
        pass(10ms);
        return result.value();
    }

    std::vector<std::string> talk;
    std::vector<std::string> unread;
    std::optional<client> locks{};
    lease held{};
    std::optional<error_code> result{};
};

struct row {
    version it;
    char const* talk;
};

std::ostream& operator<<(std::ostream& out, row const& one)
{
    return out << one.talk;
}

constexpr row rows[] = {{version::redis_7_0, "SET NX, EVAL, EVAL, "},
                        {version::redis_8_6, "SET NX, SET IFEQ, DELEX, "},
                        {version::valkey_9_1, "SET NX, SET IFEQ, DELIFEQ, "}};

} // namespace

BOOST_FIXTURE_TEST_SUITE(native_commands, native_locks_fixture)

// rule K8
BOOST_DATA_TEST_CASE_F(native_locks_fixture, native_commands_follow_version,
                       boost::unit_test::data::make(rows))
{
    become(sample.it);
    acquire();
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(release() == error_code());
    BOOST_TEST(heard() == sample.talk);
    BOOST_TEST(!has_key(0));
}

// rule K8
BOOST_AUTO_TEST_CASE(nodes_of_different_versions_are_told_in_different_words)
{
    for (std::size_t n = 0; n != 3; ++n)
        net.at(n).redis.is.version = rows[n].it;
    acquire();
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(release() == error_code());
    for (std::size_t n = 0; n != 3; ++n) {
        BOOST_TEST(heard(n) == rows[n].talk);
        BOOST_TEST(!has_key(n));
    }
    acquire();
    BOOST_TEST(release() == error_code());
    char const* const known[] = {"SET NX, EVALSHA, ", "SET NX, DELEX, ", "SET NX, DELIFEQ, "};
    for (std::size_t n = 0; n != 3; ++n)
        BOOST_TEST(heard(n) == known[n]);
}

/// A reader's extension has no such answer.
// rule S12
BOOST_AUTO_TEST_CASE(late_answer_to_native_extension_is_no_refusal)
{
    become(version::redis_8_6);
    locks.emplace(program.make_client(settings));
    shared_mutex(*locks, "lock", lasting).acquire([this](error_code, lease got) { held = std::move(got); });
    pass(10ms);
    BOOST_TEST_REQUIRE(held.valid());
    held.extend([](error_code) {});
    held.downgrade();
    pass(10ms);
    BOOST_TEST(held.shared());
    for (node_status const& each : locks->node_table())
        BOOST_TEST(each.detail == "");
}

// rule A7
BOOST_AUTO_TEST_CASE(unknown_native_release_is_said_once_more_as_script)
{
    become(version::redis_8_6);
    acquire();
    become(version::redis_7_0); // behind its proxy
    BOOST_TEST(release() == error_code());
    BOOST_TEST(heard() == "SET NX, DELEX, EVAL, ");
    BOOST_TEST(!has_key(0));
    acquire();
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(release() == error_code());
    BOOST_TEST(heard() == "SET NX, EVAL, EVALSHA, ");
}

// rule A7
BOOST_AUTO_TEST_CASE(native_extension_with_syntax_error_is_said_once_more_as_script)
{
    become(version::valkey_9_1);
    acquire();
    become(version::redis_7_0);
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(release() == error_code());
    BOOST_TEST(heard() == "SET NX, SET IFEQ, EVAL, EVAL, ");
}

// rule A7
BOOST_AUTO_TEST_CASE(native_release_without_right_is_said_once_more_as_script)
{
    become(version::valkey_9_1);
    forbid({"delifeq"});
    acquire();
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(release() == error_code());
    BOOST_TEST(heard() == "SET NX, SET IFEQ, DELIFEQ, EVAL, ");
    BOOST_TEST(!has_key(0));
}

/// SET is refused then, and PEXPIRE is not.
// rule A7
BOOST_AUTO_TEST_CASE(native_extension_without_memory_is_said_once_more_as_script)
{
    become(version::redis_8_6);
    acquire();
    be_full(true);
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(release() == error_code());
    BOOST_TEST(heard() == "SET NX, SET IFEQ, EVAL, DELEX, ");
    be_full(false);
    acquire();
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(heard() == "SET NX, SET IFEQ, ");
}

// rule A7
BOOST_AUTO_TEST_CASE(nothing_is_said_a_third_time)
{
    become(version::redis_8_6);
    forbid({"eval", "evalsha"});
    acquire();
    be_full(true);
    BOOST_TEST(extend() == make_error_code(errc::no_quorum));
    BOOST_TEST(heard() == "SET NX, SET IFEQ, EVAL, ");
    BOOST_TEST(held.valid());
    forbid({"eval", "evalsha", "delex"});
    BOOST_TEST(release() == make_error_code(errc::no_quorum));
    BOOST_TEST(heard() == "DELEX, EVAL, ");
}

// rule K8
BOOST_AUTO_TEST_CASE(lock_is_held_where_scripts_are_forbidden)
{
    for (std::size_t n = 0; n != 3; ++n)
        net.at(n).redis.is.version = n == 0 ? version::redis_8_6 : version::valkey_9_1;
    forbid({"eval", "evalsha"});
    acquire();
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(release() == error_code());
    for (std::size_t n = 0; n != 3; ++n)
        BOOST_TEST(!has_key(n));
    BOOST_TEST(locks->node_table().at(0).detail == "");
}

/// Commands before the version was known were sent as scripts.
// rule A7
BOOST_AUTO_TEST_CASE(forbidden_script_that_waited_for_connection_is_said_once_more_natively)
{
    become(version::redis_8_6);
    forbid({"eval", "evalsha"});
    net.between(0, 2).latency = 100ms;
    acquire();
    BOOST_TEST(release() == error_code());
    pass(5s);
    BOOST_TEST(heard(2) == "SET NX, EVAL, DELEX, ");
    BOOST_TEST(!has_key(2));
}

BOOST_AUTO_TEST_CASE(votes_are_taken_back_natively)
{
    become(version::redis_8_6);
    forbid({"eval", "evalsha"});
    for (std::size_t const n : {0U, 1U})
        execute(n, {"SET", "lock", "somebody", "PX", "600000"});
    acquire();
    BOOST_TEST(result.value() == make_error_code(errc::contended));
    BOOST_TEST(heard(2) == "SET NX, DELEX, ");
    BOOST_TEST(!has_key(2));
    BOOST_TEST(has_key(0));
}

// rule K8
BOOST_AUTO_TEST_CASE(next_connection_tells_anew_whether_commands_are_native)
{
    become(version::redis_8_6);
    acquire();
    become(version::redis_7_0);
    for (std::size_t n = 0; n != 3; ++n)
        net.close_connections(static_cast<unsigned>(n), true);
    pass(5s);
    (void)heard();
    BOOST_TEST(release() == error_code());
    BOOST_TEST(heard() == "EVAL, ");
}

// rule K8
BOOST_AUTO_TEST_CASE(other_owners_keys_stay_as_they_are)
{
    using words = std::vector<std::string>;
    words const readers{"ZADD", "lock", "1", "reader"};
    words const permits{"HSET", "lock", "0", "owner"};
    words const no_lock{"RPUSH", "lock", "no lock"};
    for (auto const& [it, other] : std::vector<std::pair<version, words>>{{version::redis_8_6, no_lock},
                                                                          {version::redis_8_6, readers},
                                                                          {version::redis_8_6, permits},
                                                                          {version::valkey_9_1, no_lock},
                                                                          {version::valkey_9_1, readers},
                                                                          {version::valkey_9_1, permits}}) {
        locks.reset();
        become(it);
        acquire();
        execute(0, {"SET", "lock", "somebody", "PX", "600000"});
        execute(1, {"DEL", "lock"});
        execute(2, {"DEL", "lock"});
        execute(2, other);
        (void)heard(2);
        BOOST_TEST(extend() == make_error_code(errc::lease_lost));
        held = {};
        pass(10ms);
        BOOST_TEST(net.at(0).redis.keys().text("lock", now_ms(0)).value() == "somebody");
        BOOST_TEST(!has_key(1));
        BOOST_TEST(has_key(2));
        BOOST_TEST(heard(2).find("EVAL") == std::string::npos);
        for (std::size_t n = 0; n != 3; ++n)
            execute(n, {"DEL", "lock"});
    }
}

/// The server forgets a client's tracking of a key with each change (rule W6).
// rule K8
BOOST_AUTO_TEST_CASE(holder_reads_its_key_after_native_extension)
{
    become(version::redis_8_6);
    acquire();
    pass(500ms); // from now on it listens
    BOOST_TEST(heard() == "SET NX, GET, ");
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(heard() == "SET IFEQ, GET, ");
    for (std::size_t n = 0; n != 3; ++n)
        execute(n, {"DEL", "lock"});
    pass(10ms);
    BOOST_TEST((held.cause() == loss_cause::refused));
}

/// While there are rivals the holder does not listen.
// rule K8
BOOST_AUTO_TEST_CASE(holder_does_not_read_key_of_another_after_native_extension)
{
    become(version::valkey_9_1);
    execute(0, {"SET", "lock", "somebody", "PX", "600000"});
    acquire();
    pass(500ms);
    (void)heard();
    BOOST_TEST(extend() == error_code());
    pass(500ms);
    BOOST_TEST(heard(0) == "SET IFEQ, ");
}

// rule K8
BOOST_AUTO_TEST_CASE(fenced_lock_is_held_by_scripts_alone)
{
    become(version::redis_8_6);
    locks.emplace(program.make_client(settings));
    fenced_mutex(*locks, "lock", lasting).try_acquire([this](error_code, lease got) {
        held = std::move(got);
    });
    pass(10ms);
    BOOST_TEST(extend() == error_code());
    BOOST_TEST(release() == error_code());
    BOOST_TEST(heard() == "EVAL, EVAL, EVAL, EVAL, "); // the marker's first
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
