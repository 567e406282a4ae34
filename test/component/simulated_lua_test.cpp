// SPDX-License-Identifier: BSL-1.0
// The simulation's server runs scripts as a real one does: calls, errors, and how values become replies and back.
#include "component/pair_of_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace redlock::test {

namespace {

struct lua_fixture {
    lua_fixture()
    {
        for (int const protocol : {3, 2})
            both.connect({.protocol = protocol});
        both.as_somebody_else({"SET", "text", "12"});
        both.as_somebody_else({"HSET", "hash", "field", "value"});
        both.as_somebody_else({"ZADD", "zset", "1.5", "a", "2", "b"});
    }

    /// Runs the script with both versions of the protocol.
    void run(std::string const& script)
    {
        for (unsigned id = 1; id <= both.connections(); ++id)
            both.ask(id, {"EVAL", script, "4", "text", "hash", "zset", "none", "argument", "7"});
    }

    pair_of_servers both;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(simulated_lua, lua_fixture)

BOOST_AUTO_TEST_CASE(values_become_replies)
{
    for (char const* const value : {"3.99",
                                    "-3.99",
                                    "1e15",
                                    "2^53",
                                    "'text'",
                                    "''",
                                    "true",
                                    "false",
                                    "nil",
                                    "{}",
                                    "{1, 'two', {3, {}}, nil, 5}",
                                    "{false, true}",
                                    "{ok = 'FINE'}",
                                    "{err = 'ERR mine'}",
                                    "redis.status_reply('OK')",
                                    "redis.error_reply('MINE it is')",
                                    "{KEYS[1], KEYS[5], ARGV[1]}",
                                    "#KEYS + #ARGV",
                                    "{ARGV[2] + 1, ARGV[2]}",
                                    "function() end",
                                    "tostring(10/3)",
                                    "string.format('%.0f', 2^60)"})
        run(std::string("return ") + value);
}

BOOST_AUTO_TEST_CASE(replies_become_values)
{
    for (char const* const value : {"redis.call('get', KEYS[1])",
                                    "redis.call('get', KEYS[4])",
                                    "redis.call('get', KEYS[4]) == false",
                                    "redis.call('set', KEYS[4], 1.5)",
                                    "redis.call('set', KEYS[4], 'x', 'px', 60000).ok",
                                    "redis.call('set', KEYS[4], 2^53)",
                                    "redis.call('get', KEYS[4])",
                                    "redis.call('set', KEYS[4], 1e20)",
                                    "redis.call('get', KEYS[4])",
                                    "redis.call('set', KEYS[1], 'y', 'nx')",
                                    "redis.call('set', KEYS[1], '12', 'xx')",
                                    "redis.call('hgetall', KEYS[2])",
                                    "redis.call('hmget', KEYS[2], 'field', 'none', 'field')",
                                    "redis.call('zrange', KEYS[3], 0, -1, 'withscores')",
                                    "redis.call('zscore', KEYS[3], 'a') + 1",
                                    "redis.call('zscore', KEYS[3], 'none')",
                                    "redis.call('type', KEYS[3])",
                                    "redis.call('type', KEYS[3]).ok",
                                    "redis.call('zcard', KEYS[3]) + 0.5",
                                    "redis.call('del', KEYS[4]) == 1",
                                    "redis.call('mget', unpack(KEYS))",
                                    "#redis.call('time')",
                                    "redis.call('zadd', KEYS[3], 'gt', 1, 'b', 9, 'a')",
                                    "redis.call('zadd', KEYS[3], 'xx', 0, '')"})
        run(std::string("return ") + value);
}

BOOST_AUTO_TEST_CASE(errors_of_commands)
{
    for (char const* const script :
         {"return redis.call('get', KEYS[2])", "return redis.pcall('get', KEYS[2])",
          "return redis.pcall('get', KEYS[2]).err",
          "local fine, why = pcall(redis.call, 'get', KEYS[2]) return {fine, why.err}",
          "\n\nlocal function look()\n  return redis.call('hget', KEYS[1], 'x')\nend\nreturn look()",
          "return redis.call('no_such_command')", "return redis.pcall('no_such_command').err",
          "return redis.call('get')", "return redis.call('subscribe', 'channel')",
          "return redis.call('eval', 'return 1', 0)", "return redis.call()", "return redis.call('get', KEYS)",
          "return redis.call('set', KEYS[1], nil)", "return redis.call('set', KEYS[1], '1', 'ex')"})
        run(script);
}

BOOST_AUTO_TEST_CASE(errors_of_scripts)
{
    for (char const* const script :
         {"error('words')", "\nerror('words')", "error('words', 0)", "error({err = 'MINE words'})", "error()",
          "return nobody", "somebody = 1", "return nothing.at_all", "local a = nil\nreturn a.b",
          "return ARGV[1] + 1", "return #nil", "return (", "return 1 +* 2",
          "local ok, why = pcall(error, 'x') return {ok, why}",
          "local ok, why = pcall(function() return nobody end) return why", "return {err = 'two\\r\\nlines'}",
          "return string.rep('x', 3, 4)", "return print", "return dofile"})
        run(script);
}

BOOST_AUTO_TEST_CASE(what_is_refused_within_a_script)
{
    std::string const writes = "redis.call('set', KEYS[4], 'x') return redis.call('del', KEYS[4])";
    std::string const tries = "return redis.pcall('set', KEYS[4], 'x').err or 'no'";
    auto const run_all = [&] {
        for (std::string const& script :
             {writes, tries, std::string("return redis.call('get', KEYS[1])"),
              "redis.call('del', KEYS[4]) " + writes, "redis.call('pexpire', KEYS[1], 100000) " + tries})
            run(script);
    };
    run_all();
    both.fill(true);
    run_all();
    both.mend();
    both.demote(true);
    run_all();
    both.mend();
    both.forbid("set");
    run_all();
    both.mend();
    both.forbid_channels(true);
    both.connect({});
    both.ask(both.connections(), {"EVAL", "return redis.pcall('publish', 'x', 'y').err", "0"});
}

BOOST_AUTO_TEST_CASE(scripts_by_their_hashes)
{
    std::string const text = "return ARGV[1]";
    std::string const hash = "098e0f0d1448c0a81dafe820f66d460eb09263da";
    both.ask(1, {"EVALSHA", hash, "0", "a"});
    both.ask(1, {"SCRIPT", "LOAD", text});
    both.ask(1, {"EVALSHA", hash, "0", "a"});
    both.ask(1, {"SCRIPT", "FLUSH"});
    both.ask(1, {"EVALSHA", hash, "0", "a"});
    both.ask(1, {"EVAL", text, "0", "a"});
    both.ask(2, {"EVALSHA", hash, "0", "a"});
}

BOOST_AUTO_TEST_CASE(wrong_numbers_of_keys)
{
    for (std::string const number : {"3", "-1", "x", "1.5"})
        both.ask(1, {"EVAL", "return #KEYS", number, "a", "b"});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test
