// SPDX-License-Identifier: BSL-1.0
// The scripts of readers and writers: the twins of src/kind/scripts/shared_vote.lua, shared_extend.lua, shared_release.lua,
// exclusive_vote.lua, downgrade.lua and whose.lua.
#include "redis/command.hpp"
#include "world/lua_number.hpp"
#include "world/reply.hpp"
#include "world/script.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace redlock::world {

namespace {

constexpr double most_apart = 1000;
constexpr double infinite = std::numeric_limits<double>::infinity();

/// Behind the last slash.
std::optional<double> last_number_of(std::string const& marker)
{
    auto const digits = marker.substr(marker.rfind('/') + 1);
    bool const is_number = digits.size() != marker.size() && !digits.empty() &&
                           digits.find_first_not_of("0123456789") == digits.npos;
    return is_number ? to_number(digits) : std::nullopt;
}

std::string held_by(double left, double fence, std::string const& who)
{
    return reply::status("HELD " + whole(left) + ' ' + whole(fence) + ' ' + who.substr(0, 8));
}

} // namespace

std::string script_run::shared_vote()
{
    auto const moment = static_cast<double>(time());
    if (!check_gate())
        return no_gate();
    auto const seen = see_fence(2, 6);
    if (seen.strange)
        return reply::status("STRANGER");
    auto const snapshot = take_snapshot(seen, moment);
    if (!snapshot)
        return no_fence(keys_[2]);
    auto const kind = type(keys_[0]);
    auto left = static_cast<double>(pttl(keys_[0]));
    bool const may_be_joined = !kind || is_set_of_readers(left);
    std::string const& mark = arguments_[3];
    double const writer = gate_mark("turn", mark) != 0 ? 0 : gate_mark("writer", mark);
    if (writer == 0 && may_be_joined) {
        double const ends = kind ? *end_of_last() : moment; // read before the fence is set
        if (seen.is_kept)
            set(keys_[2], whole(*snapshot), &arguments_[4]);
        need_memory(keys_[0]);
        pexpireat(keys_[0], ends);
        purge(keys_[0]);
        admit();
        return reply::number(seen.is_kept ? static_cast<std::int64_t>(*snapshot) : 1);
    }
    if (writer != 0 && may_be_joined)
        left = writer - moment;
    if (number_of(arguments_[2]) > 0) {
        need_memory(keys_[1]);
        ask_for_turn();
    }
    (void)members("zcard", keys_[1]);
    auto const owner = mget({keys_[0]})[0];
    return held_by(left, *seen.value, owner ? *owner : writer != 0 ? "WRITER" : "");
}

/// Nothing: what stands there is no number that can be counted on from.
std::optional<double> script_run::take_snapshot(fence_sight const& seen, double moment) const
{
    if (!seen.is_kept || !seen.value)
        return seen.value;
    auto const later_date = [step = std::floor(number_of(arguments_[1]) / 2)](double than) {
        return than - std::fmod(than, step) + step;
    };
    double remembers = later_date(moment);
    if (!seen.absent)
        remembers =
            seen.placed ? std::min(later_date(*seen.placed + number_of(arguments_[5])), remembers) : 0;
    double const snapshot = std::max({*seen.value, remembers, 1.0});
    return snapshot < end_of_fences ? std::optional(snapshot) : std::nullopt;
}

std::string script_run::exclusive_vote()
{
    auto const moment = static_cast<double>(time());
    if (!check_gate())
        return no_gate();
    auto const seen = see_fence(2, 6);
    if (seen.strange)
        return reply::status("STRANGER");
    auto const counted = count(seen, moment);
    if (!counted)
        return no_fence(keys_[2]);
    double const turn = gate_mark("turn", arguments_[2]);
    if (turn == 0 && set_new(keys_[0], arguments_[0], &arguments_[1])) {
        try {
            (void)zrem(keys_[1], {"writer"});
        } catch (script_error const&) { // the vote stands
        }
        if (seen.is_kept)
            set(keys_[2], whole(*counted), &arguments_[4]);
        return reply::number(seen.is_kept ? static_cast<std::int64_t>(*counted) : 1);
    }
    if (arguments_[3] == "1")
        keep_readers_out(arguments_[2], true);
    (void)members("zcard", keys_[1]);
    auto const kind = type(keys_[0]);
    auto left = static_cast<double>(pttl(keys_[0]));
    if (!kind)
        left = turn - moment;
    bool const readers = !kind || is_set_of_readers(left);
    auto const owner = mget({keys_[0]})[0];
    return held_by(left, *seen.value, owner ? *owner : readers ? "READERS" : "");
}

std::string script_run::shared_release()
{
    auto const moment = static_cast<double>(time());
    if (is_ours()) {
        del(keys_[0]);
        bool const gate = has_gate();
        if (arguments_[2] == "1" && (gate || !type(keys_[1]))) {
            keep_readers_out(arguments_[1]);
        } else if (gate) {
            if (members("zscore", keys_[1]).score("reader").value_or(0) > moment)
                open_turn();
            keep_gate(arguments_[1]);
        }
        return reply::number(1);
    }
    if (arguments_[3] != "1" || type(keys_[0]) != keyspace::type::sorted_set ||
        !zrem(keys_[0], {arguments_[0]}))
        return reply::number(0);
    purge(keys_[0]);
    if (!end_with_last() && has_gate())
        keep_gate(arguments_[1]);
    return reply::number(1);
}

std::string script_run::shared_extend()
{
    (void)time();
    auto const seen = see_fence(1, 4);
    if (seen.strange)
        return reply::status("STRANGER");
    if (!seen.value)
        return no_fence(keys_[1]);
    if (is_ours()) {
        if (seen.is_kept && *seen.value > number_of(arguments_[3]))
            return reply::number(0);
        keep_fence(seen);
        pexpire(keys_[0], arguments_[1]);
        (void)mget({keys_[0]});
        return reply::number(1);
    }
    if (!reads())
        return reply::number(0);
    keep_fence(seen);
    purge(keys_[0]);
    admit();
    return reply::number(1);
}

std::string script_run::downgrade()
{
    (void)time();
    auto const seen = see_fence(1, 4);
    if (seen.strange)
        return reply::status("STRANGER");
    if (!seen.value)
        return no_fence(keys_[1]);
    bool const writes = is_ours();
    if (!writes && !reads())
        return reply::number(0);
    keep_fence(seen);
    if (writes) {
        pexpireat(keys_[0], static_cast<double>(now()) + number_of(arguments_[1]));
        try {
            where_.before("zadd");
        } catch (script_error const& e) {
            return reply::error(e.text);
        }
        del(keys_[0]);
    } else {
        purge(keys_[0]);
    }
    admit();
    return reply::number(1);
}

/// Nothing: what stands there is no number that can be counted on from.
std::optional<double> script_run::count(fence_sight const& seen, double moment)
{
    if (!seen.is_kept || !seen.value)
        return seen.value ? std::optional(1.0) : std::nullopt;
    double const latest = moment + std::floor(number_of(arguments_[1]) / 2);
    double const counted = std::max(*seen.value + 1, std::min(number_of(arguments_[5]), latest));
    return counted < end_of_fences ? std::optional(counted) : std::nullopt;
}

/// Behind those who came before us: our token, if it is behind, or for as long as it lives.
void script_run::keep_fence(fence_sight const& seen)
{
    if (seen.is_kept && *seen.value < number_of(arguments_[3]))
        set(keys_[1], arguments_[3], &arguments_[2]);
    else if (seen.is_kept)
        pexpire(keys_[1], arguments_[2]);
}

std::string script_run::whose()
{
    auto const owner = mget({keys_[0]})[0];
    if (owner)
        return reply::bulk(*owner);
    auto const left = pttl(keys_[0]);
    if (left == -2)
        return reply::status("NONE");
    if (are_permits(left))
        return reply::status("PERMITS");
    (void)members("zrange", keys_[0]);
    (void)time();
    if (is_set_of_readers(static_cast<double>(left)))
        return reply::status("READERS");
    return reply::error("WRONGTYPE this is no lock: " + keys_[0]);
}

/// Without the right to TYPE they are not known.
bool script_run::are_permits(millis left)
{
    try {
        if (type(keys_[0]) != keyspace::type::hash)
            return false;
    } catch (script_error const&) {
        return false;
    }
    return left >= 0 && fields("hlen", keys_[0]).size() <= 1024 &&
           fields("hgetall", keys_[0]).front().second.size() == redis::nonce_length;
}

/// As a writer's key.
bool script_run::is_ours()
{
    return mget({keys_[0]})[0] == arguments_[0];
}

/// \param key the fence's number among the keys; its node's marker is the next one
/// \param marker the number of what is expected of it, among the arguments
script_run::fence_sight script_run::see_fence(std::size_t key, std::size_t marker)
{
    if (keys_.size() < key + 2)
        return {.value = 0};
    auto const seen = mget({keys_[key], keys_[key + 1]});
    if (strange(seen[1], arguments_[marker]))
        return {.is_kept = true, .strange = true};
    return {.is_kept = true,
            .absent = !seen[0],
            .value = fence_of(seen[0], keys_[key]),
            .placed = seen[1] ? last_number_of(*seen[1]) : std::nullopt};
}

/// Are we one of the readers?
bool script_run::reads()
{
    if (type(keys_[0]) != keyspace::type::sorted_set)
        return false;
    auto const ends = members("zscore", keys_[0]).score(arguments_[0]);
    return ends && *ends > static_cast<double>(now());
}

/// Whatever stands in the way of knowing says no.
bool script_run::is_member(std::string const& who)
{
    auto const moment = static_cast<double>(time());
    try {
        return members("zscore", keys_[0]).score(who).value_or(0) > moment;
    } catch (script_error const&) {
        return false;
    } catch (wrong_type const&) {
        return false;
    }
}

/// It goes with the last of its members.
bool script_run::is_set_of_readers(double left)
{
    auto const& all = where_.keys.find(keys_[0], now());
    if (left < 0 || !all || all->is != keyspace::type::sorted_set)
        return false;
    auto const ends = end_of_last();
    return ends && std::abs(*ends - static_cast<double>(now()) - left) <= most_apart;
}

/// Until when; 0: there is none, or it was made before the clock was set back.
double script_run::gate_mark(std::string const& who, std::string const& longest)
{
    auto const moment = static_cast<double>(now());
    double const ends = members("zscore", keys_[1]).score(who).value_or(0);
    return ends > moment && ends <= moment + number_of(longest) ? ends : 0;
}

void script_run::leave_mark(std::string const& who, std::string const& length)
{
    zadd(keys_[1], {static_cast<double>(now()) + number_of(length), who});
}

/// Of the readers: for as long as the farthest of those needs it who wait.
void script_run::ask_for_turn()
{
    if (members("zscore", keys_[1]).score("reader").value_or(0) <= static_cast<double>(now()))
        (void)zrem(keys_[1], {"need"});
    if (!is_fresh("reader", arguments_[1])) {
        keep_gate(arguments_[1]);
        leave_mark("reader", arguments_[1]);
        keep_gate(arguments_[1]);
    }
    double const need = number_of(arguments_[2]);
    auto const had = keyspace::members_of(where_.keys.find(keys_[1], now())).score("need");
    had&&* had >= need ? where_.before("zadd") : zadd(keys_[1], {need, "need"});
}

/// While a writer waits.
void script_run::keep_readers_out(std::string const& length, bool takes_more)
{
    if (gate_mark("writer", length) != 0 && is_fresh("writer", length))
        return;
    if (takes_more)
        need_memory(keys_[1]);
    keep_gate(length);
    leave_mark("writer", length);
    keep_gate(length);
}

/// Whoever leaves a mark anew wakes all who wait.
bool script_run::is_fresh(std::string const& mark, std::string const& length)
{
    double const ends = members("zscore", keys_[1]).score(mark).value_or(0);
    return ends >= static_cast<double>(now()) + number_of(length) * 3 / 4;
}

/// For the readers, as long as they need.
void script_run::open_turn()
{
    double const need = members("zscore", keys_[1]).score("need").value_or(0);
    leave_mark("turn", whole(std::min(need, number_of(arguments_[1]))));
    (void)zrem(keys_[1], {"reader", "need"});
}

bool script_run::has_gate()
{
    return type(keys_[1]) == keyspace::type::sorted_set && pttl(keys_[1]) >= 0;
}

/// Is it one, or none at all?
bool script_run::check_gate()
{
    return !type(keys_[1]) || has_gate();
}

std::string script_run::no_gate() const
{
    return reply::error("WRONGTYPE this is no gate of a lock: " + keys_[1]);
}

/// Among the readers; the key ends with the last of them.
void script_run::admit()
{
    zadd(keys_[0], {static_cast<double>(now()) + number_of(arguments_[1]), arguments_[0]});
    end_with_last();
}

/// False: there is none.
bool script_run::end_with_last()
{
    auto const ends = end_of_last();
    if (ends)
        pexpireat(keys_[0], *ends);
    return ends.has_value();
}

/// For so long at least; and who waits hears of it.
void script_run::keep_gate(std::string const& ms)
{
    pexpire(keys_[1], whole(std::max(static_cast<double>(pttl(keys_[1])), number_of(ms))));
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
