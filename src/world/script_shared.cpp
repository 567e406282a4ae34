// The scripts of readers and writers: the twins of src/kind/scripts/shared_vote.lua, shared_extend.lua, shared_release.lua,
// exclusive_vote.lua and upgrade.lua.
#include "world/lua_number.hpp"
#include "world/reply.hpp"
#include "world/script.hpp"

#include <limits>
#include <optional>
#include <utility>

namespace redlock::world {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::string held_by(double left, std::string const& who)
{
    return reply::status("HELD " + whole(left) + " 0 " + who.substr(0, 8));
}

} // namespace

std::string script_run::shared_vote()
{
    auto const moment = static_cast<double>(time());
    auto const kind = type(keys_[0]);
    auto left = static_cast<double>(pttl(keys_[0]));
    bool const barred = gate_mark("writer") > moment && gate_mark("turn") <= moment;
    bool const readers = kind == keyspace::type::sorted_set;
    if (!barred && (!kind || (readers && left != -1))) {
        purge(keys_[0]);
        admit(arguments_[0], arguments_[1]);
        return reply::number(1);
    }
    if (!kind)
        left = gate_mark("writer") - moment;
    leave_mark("reader");
    if (kind == keyspace::type::string)
        return held_by(left, *mget({keys_[0]})[0]);
    return held_by(left, barred ? "WRITER" : "");
}

std::string script_run::shared_extend()
{
    auto const moment = static_cast<double>(time());
    auto const kind = type(keys_[0]);
    if (kind == keyspace::type::sorted_set) {
        auto const ends = members("zscore", keys_[0]).score(arguments_[0]);
        if (!ends || *ends <= moment)
            return reply::number(0);
        purge(keys_[0]);
    } else if (kind == keyspace::type::string && get(keys_[0]) == arguments_[0]) {
        del(keys_[0]);
    } else {
        return reply::number(0);
    }
    admit(arguments_[0], arguments_[1]);
    (void)pttl(keys_[0]);
    return reply::number(1);
}

std::string script_run::shared_release()
{
    auto const moment = static_cast<double>(time());
    auto const kind = type(keys_[0]);
    if (kind == keyspace::type::string) {
        if (get(keys_[0]) != arguments_[0])
            return reply::number(0);
        del(keys_[0]);
        if (arguments_[2] != "0") {
            leave_mark("writer");
            return reply::number(1);
        }
        if (gate_mark("reader") > moment)
            zadd(keys_[1], {moment + number_of(arguments_[1]), "turn"});
        (void)zrem(keys_[1], {"reader"});
        return reply::number(1);
    }
    if (kind != keyspace::type::sorted_set || !zrem(keys_[0], {arguments_[0]}))
        return reply::number(0);
    purge(keys_[0]);
    if (auto const last = end_of_last())
        pexpireat(keys_[0], *last);
    else
        (void)zrem(keys_[1], {"reader", "turn"});
    return reply::number(1);
}

std::string script_run::exclusive_vote()
{
    auto const moment = static_cast<double>(time());
    double const turn = gate_mark("turn");
    if (turn <= moment && set_new(keys_[0], arguments_[0], &arguments_[1])) {
        (void)zrem(keys_[1], {"writer"});
        return reply::number(1);
    }
    leave_mark("writer");
    auto const kind = type(keys_[0]);
    double const left = kind ? static_cast<double>(pttl(keys_[0])) : turn - moment;
    if (kind == keyspace::type::string)
        return held_by(left, *mget({keys_[0]})[0]);
    return held_by(left, kind == keyspace::type::list ? "" : "READERS");
}

std::string script_run::upgrade()
{
    auto const moment = static_cast<double>(time());
    auto const kind = type(keys_[0]);
    if (kind == keyspace::type::string && get(keys_[0]) == arguments_[0]) {
        pexpire(keys_[0], arguments_[1]);
        return reply::number(1);
    }
    if (kind != keyspace::type::sorted_set || members("zcount", keys_[0]).count({moment + 1, infinite}) != 1)
        return reply::number(0);
    auto const ends = members("zscore", keys_[0]).score(arguments_[0]);
    if (!ends || *ends <= moment)
        return reply::number(0);
    set(keys_[0], arguments_[0], &arguments_[1]);
    return reply::number(1);
}

/// Until when; 0: there is none.
double script_run::gate_mark(std::string const& who)
{
    return members("zscore", keys_[1]).score(who).value_or(0);
}

void script_run::leave_mark(std::string const& who)
{
    double const length = number_of(arguments_[2]);
    zadd(keys_[1], {static_cast<double>(now()) + length, who});
    pexpire(keys_[1], whole(length * 2));
}

/// Among the readers; the key ends with the last of them.
void script_run::admit(std::string const& nonce, std::string const& ms)
{
    zadd(keys_[0], {static_cast<double>(now()) + number_of(ms), nonce});
    pexpireat(keys_[0], *end_of_last());
}

std::optional<double> script_run::end_of_last()
{
    auto const last = members("zrange", keys_[0]).range(-1, -1);
    return last.empty() ? std::nullopt : std::optional(last[0].score);
}

/// Those whose time is over.
void script_run::purge(std::string const& key)
{
    where_.before("zremrangebyscore");
    auto members = keyspace::members_of(where_.keys.find(key, now()));
    if (members.remove(sorted_set::bounds{-infinite, static_cast<double>(now())}) != 0)
        where_.keys.set_members(key, std::move(members));
}

std::optional<keyspace::type> script_run::type(std::string const& key)
{
    auto const* const found = look_at("type", key);
    return found ? std::optional(found->is) : std::nullopt;
}

} // namespace redlock::world
