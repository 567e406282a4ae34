// SPDX-License-Identifier: BSL-1.0
#include "component/random_talk.hpp"

#include "core/fencing.hpp"
#include "kind/election.hpp"
#include "kind/queue.hpp"
#include "kind/semaphore.hpp"
#include "redis/command.hpp"
#include "redis/marker.hpp"
#include "redis/scripts.hpp"

#include <chrono>
#include <cstdlib>

namespace redlock::test {

namespace {

using namespace std::chrono_literals;

// No sum of the clock's leaps comes near any of these, nor near a sum of them: both servers find the same to have expired.
constexpr std::chrono::milliseconds lock_life = 60min;
constexpr std::chrono::milliseconds fence_life = 600min;
constexpr std::chrono::milliseconds queue_time = 180min;
constexpr std::chrono::milliseconds keeping_time = 20min;
constexpr std::chrono::milliseconds marker_life = 25min;
constexpr std::chrono::milliseconds apart = 1s;
constexpr std::chrono::milliseconds short_leap = 37min;
constexpr std::chrono::milliseconds long_leap = 97min;

std::string text(std::chrono::milliseconds time)
{
    return std::to_string(time.count());
}

} // namespace

random_talk::random_talk(std::uint64_t seed)
    : dice_(seed), plain_(kind::plain.make_commands("", {lock_life, lock_life})),
      fenced_(kind::fenced.make_commands("", {lock_life, fence_life})),
      election_(kind::election.make_commands("", {lock_life, fence_life}))
{
    both_.connect({.tracks = true, .no_loop = true});
    both_.connect({.tracks = true, .no_loop = true});
    both_.connect({.tracks = true});
    both_.connect({.protocol = 2});
    both_.connect({.protocol = 2});
    both_.connect({}); // an observer
}

void random_talk::step()
{
    if (troubled_ && dice_.one_in(12)) {
        both_.mend();
        troubled_ = false;
    }
    auto const id = static_cast<unsigned>(1 + dice_.below(dice_.one_in(3) ? 5 : 3));
    switch (dice_.below(30)) {
    case 0:
    case 1: ask_about_lock(id); break;
    case 2:
    case 3:
    case 4: ask_fenced(id); break;
    case 5:
    case 6:
    case 7:
    case 8: ask_queue(id); break;
    case 9: ask_for_what_is_given(id); break;
    case 10: ask_about_channels(id); break;
    case 11: ask_about_keys(id); break;
    case 12: make_trouble(); break;
    case 13:
    case 14:
    case 15:
    case 16: ask_shared(id); break;
    case 17:
    case 18:
    case 19: ask_several(id); break;
    case 20:
    case 21:
    case 22: ask_leader(id); break;
    case 23:
    case 24:
    case 25:
    case 26:
    case 27: ask_permits(id); break;
    default: write();
    }
    if (dice_.one_in(6))
        both_.compare_keys({"lock", "lock:queue", "lock:redlock-fence", "lock:redlock-leader",
                            "lock:permit-fences", "redlock-marker", "lock2", "lock2:redlock-fence", "lock3",
                            "pool", "pool:queue", "pool:permit-fences"});
}

void random_talk::ask_about_lock(unsigned id)
{
    std::string command;
    auto const form = static_cast<redis::script_form>(dice_.below(4)); // any form, known or not
    std::string const whose = owner();
    auto const plain = [&](kind::request what) {
        plain_->append(command, what, {{"", "lock"}, whose, 0}, form);
    };
    using kind::request;
    switch (dice_.below(9)) {
    case 0:
    case 1: plain(request::vote); break;
    case 2: plain(request::extend); break;
    case 3:
    case 4: plain(request::release); break;
    case 5: plain(request::time_left); break;
    case 6: plain(request::owner); break;
    case 7: fenced_->append(command, request::number, {{"", "lock"}, whose, 1}, form); break;
    default: command = mark(); break;
    }
    both_.compare(id, command);
}

void random_talk::ask_fenced(unsigned id)
{
    std::string command;
    auto const form = dice_.one_in(2) ? redis::script_form::hash : redis::script_form::text;
    std::string const whose = owner();
    std::uint64_t const what = std::strtoull(number().c_str(), nullptr, 10);
    auto const fenced = [&](kind::request r) {
        fenced_->append(command, r, {{"", "lock"}, whose, what}, form);
    };
    using kind::request;
    switch (dice_.below(5)) {
    case 0: fenced(request::write_back); break;
    case 1:
    case 2: fenced(request::extend); break;
    case 3: fenced(request::adopt); break;
    default: fenced(request::vote); break;
    }
    compare_marked(id, command);
}

void random_talk::compare_marked(unsigned id, std::string const& command)
{
    bool const named = dice_.one_in(2);
    std::string to_real = command;
    std::string to_fake = command;
    kind::append_marker(to_real, named ? both_.real_marker() : "");
    kind::append_marker(to_fake, named ? both_.fake_marker() : "");
    both_.compare(id, to_real, to_fake);
}

/// \param arguments all but the marker
void random_talk::call_marked(unsigned id, redis::script const& which, words const& keys, words arguments)
{
    bool const named = dice_.one_in(2);
    auto const form = dice_;
    arguments.push_back(named ? both_.real_marker() : "");
    std::string const to_real = call(which, keys, arguments);
    dice_ = form; // the other way to name the script would be another command
    arguments.back() = named ? both_.fake_marker() : "";
    both_.compare(id, to_real, call(which, keys, arguments));
}

void random_talk::ask_queue(unsigned id)
{
    std::string const mine = owner();
    if (dice_.one_in(2))
        return both_.compare(id, call(redis::scripts::enter, {"lock", "lock:queue"},
                                      {position(mine), text(queue_time), std::to_string(dice_.below(6)),
                                       dice_.one_in(4) ? "front" : ""}));
    both_.compare(id, call(redis::scripts::give_back, {"lock", "lock:queue"},
                           {"x", mine, dice_.one_in(3) ? "" : position(mine),
                            draw({"take", "take", "free", "none"}), "17", ""}));
}

/// No two members are there for equally long: what is set in one millisecond on one server, and then changes nothing, or is
/// ordered by its name, may be apart on the other.
void random_talk::ask_shared(unsigned id)
{
    std::string const who = owner();
    std::string const life = text((dice_.one_in(3) ? keeping_time : lock_life) + ++asked_ * apart);
    words const keys{"lock", "lock:queue"};
    namespace scripts = redis::scripts;
    if (dice_.one_in(10))
        return both_.compare(id, call(scripts::whose, {"lock"}, {}));
    if (dice_.one_in(4))
        return both_.compare(id, call(scripts::give_back, keys,
                                      {"r", who, dice_.one_in(3) ? position(who) : "",
                                       draw({"take", "take", "free", "none"}), "17", ""}));
    bool const renews = dice_.one_in(3);
    bool const reads = renews || !dice_.one_in(4);
    redis::script const& which = renews ? scripts::renew : scripts::vote;
    words arguments{reads ? "r" : "x", who, life, renews || dice_.one_in(2) ? "" : owner()};
    if (dice_.one_in(2))
        return both_.compare(id, call(which, keys, arguments));
    if (!renews)
        arguments.resize(9); // without those for permits
    arguments.insert(arguments.end(), {text(fence_life), reads && !renews ? text(marker_life) : number()});
    if (renews)
        arguments.emplace_back();
    call_marked(id, which, {"lock", "lock:queue", "lock:redlock-fence", "redlock-marker"},
                std::move(arguments));
}

void random_talk::ask_several(unsigned id)
{
    words const locks = dice_.one_in(2) ? words{"lock", "lock2"} : words{"lock", "lock2", "lock3"};
    std::string const who = owner();
    words keys = locks;
    words arguments{std::to_string(locks.size()), who, text(lock_life)};
    namespace scripts = redis::scripts;
    auto const ask = [&](redis::script const& which, bool with_fences, std::string const& more) {
        arguments.push_back(more);
        if (!with_fences)
            return both_.compare(id, call(which, keys, arguments));
        for (std::string const& lock : locks)
            keys.push_back(lock + ":redlock-fence");
        keys.emplace_back("redlock-marker");
        arguments.push_back(text(fence_life));
        arguments.push_back(number());
        call_marked(id, which, keys, std::move(arguments));
    };
    std::string const givers = dice_.one_in(2) ? "" : owner() + owner() + owner();
    bool const with_fences = dice_.one_in(2);
    switch (dice_.below(8)) {
    case 0:
    case 1:
    case 2: return ask(scripts::multi_vote, with_fences, givers);
    case 3:
    case 4: return ask(scripts::multi_extend, with_fences, dice_.one_in(3) ? "1" : "");
    case 5: return ask(scripts::multi_raise, true, "");
    default:
        if (!dice_.one_in(4))
            for (std::string const& lock : locks)
                keys.push_back(lock + ":queue");
        both_.compare(id, call(scripts::multi_release, keys,
                               {who, std::to_string(locks.size()), draw({"take", "free"}), "7"}));
    }
}

void random_talk::ask_leader(unsigned id)
{
    auto const form = dice_.one_in(2) ? redis::script_form::hash : redis::script_form::text;
    std::string const whose = owner();
    std::uint64_t const number = 1 + dice_.below(8);
    std::string const said = kind::announcement_head(core::fencing_token(number), dice_.below(12)) + "a:1";
    kind::command_arguments const leader{{"", "lock"}, whose, number, {}, {}, said};
    std::string command;
    using kind::request;
    switch (dice_.below(4)) {
    case 0:
    case 1: election_->append(command, request::extend, leader, form); return compare_marked(id, command);
    case 2: election_->append(command, request::release, leader, form); break;
    default:
        command = call(redis::scripts::give_back, {"lock", "lock:queue", "lock:redlock-leader"},
                       {"x", whose, dice_.one_in(3) ? "" : position(whose), dice_.one_in(4) ? "free" : "take",
                        "17", "", std::to_string(core::fencing_token(number)) + ' '});
    }
    both_.compare(id, command);
}

/// The lock "lock" is also used by other kinds.
void random_talk::ask_permits(unsigned id)
{
    std::string const name = dice_.one_in(4) ? "lock" : "pool";
    std::string const who = owner();
    std::string const life = text((dice_.one_in(3) ? keeping_time : lock_life) + ++asked_ * apart);
    std::string const some = draw({"0", "1", "0 1", "1 2", "11"});
    std::string const queue = name + ":queue";
    namespace scripts = redis::scripts;
    if (dice_.one_in(12)) // data of other programs may stay permanently
        both_.as_somebody_else({"DEL", name, queue, name + ":permit-fences"});
    auto const ask = [&](redis::script const& which, words arguments, words const& of_fence) {
        words keys{name, queue};
        if (dice_.one_in(2))
            return both_.compare(id, call(which, keys, arguments));
        keys.insert(keys.end(), {name + ":permit-fences", "redlock-marker"});
        arguments.insert(arguments.end(), of_fence.begin(), of_fence.end());
        call_marked(id, which, keys, std::move(arguments));
    };
    switch (dice_.below(12)) {
    case 0:
    case 1:
        return ask(scripts::vote,
                   {"p", who, life, "", draw({"1", "1", "2", "3"}), draw({"2", "3", "12"}),
                    draw({"0", "1", "10"}), "", ""},
                   {text(fence_life), number()});
    case 2:
        return ask(scripts::vote,
                   {"p", who, life, dice_.one_in(2) ? who : owner(), "1", "3", "0", some,
                    dice_.one_in(2) ? "" : draw({"0", "2", "0 2"})},
                   {text(fence_life), number()});
    case 3:
    case 4:
        return ask(scripts::renew, {"p", who, life, some},
                   {text(fence_life), number(), dice_.one_in(4) ? "raise" : ""});
    case 5:
    case 6:
    case 7:
        return both_.compare(id,
                             call(scripts::give_back, {name, queue},
                                  {"p", who, dice_.one_in(3) ? permit_position(who) : "",
                                   dice_.one_in(3) ? "none" : "take", "17", dice_.one_in(3) ? some : ""}));
    default:
        both_.compare(id, call(scripts::enter, {name, queue},
                               {permit_position(who), text(queue_time), draw({"1", "4096", "4096"}),
                                dice_.one_in(4) ? "front" : ""}));
    }
}

/// The time depends on the position, so that no two end at once.
std::string random_talk::permit_position(std::string const& who)
{
    auto const channel = dice_.below(channels_.size());
    auto const wanted = dice_.below(2);
    bool const of_many = dice_.one_in(4);
    auto const number = static_cast<int>(channel * 4 + wanted * 2 + (of_many ? 1 : 0)) + (who[0] - 'a') * 100;
    auto const permits =
        kind::terms_of({.limit = std::uint16_t(of_many ? 12 : 3), .count = std::uint16_t(wanted + 1)});
    return kind::position(who, kind::waiter_kind::permits, keeping_time + number * apart, permits,
                          channels_[channel]);
}

/// Readers end each at a time of their own.
std::string random_talk::position(std::string const& who)
{
    bool const reads = dice_.one_in(3);
    return kind::position(who, reads ? kind::waiter_kind::shared : kind::waiter_kind::exclusive,
                          keeping_time + (reads ? who[0] - 'a' : 0) * apart, {}, draw(channels_));
}

void random_talk::ask_for_what_is_given(unsigned id)
{
    if (dice_.one_in(2))
        return both_.compare(
            id, call(redis::scripts::vote, {"lock", "lock:queue"}, {"x", owner(), text(lock_life), owner()}));
    call_marked(id, redis::scripts::vote, {"lock", "lock", "lock:redlock-fence", "redlock-marker"},
                {"x", owner(), text(lock_life), dice_.one_in(4) ? "" : owner(), text(fence_life), number()});
}

void random_talk::ask_about_channels(unsigned id)
{
    switch (dice_.below(4)) {
    case 0: return both_.ask(id, {"SUBSCRIBE", draw(channels_), draw(channels_)});
    case 1: return both_.ask(id, {"SUBSCRIBE", draw(channels_)});
    case 2: return both_.ask(id, {"UNSUBSCRIBE", draw(channels_), draw(channels_)});
    default: both_.ask(id, {"PUBLISH", draw(channels_), "hello"});
    }
}

void random_talk::ask_about_keys(unsigned id)
{
    std::string const key =
        draw({"lock", "lock:queue", "lock:queue", "lock:queue", "lock:redlock-leader", "pool", "pool:queue"});
    std::string const soon = std::to_string(both_.now_us() / 1000 + keeping_time.count());
    // The first whole number that Redis 7.0 writes with an exponent. Later ones do not.
    std::string const very_high = both_.is_newer() ? "1e16" : "1e17";
    std::vector<words> const questions{
        {"GET", key},
        {"MGET", key, "lock", "nothing"},
        {"EXISTS", key, "lock", "nothing"},
        {"TYPE", key},
        {"PTTL", key},
        {"PEXPIRE", key, draw({"0", "1200000"})},
        {"DEL", key, draw({"lock", "nothing"})},
        {"SET", key, owner(), "PX", "1200000"},
        {"SET", key, owner(), "NX"},
        {"SET", key, owner(), "IFEQ", owner(), "PX", "1200000"},
        {"SET", key, owner(), "IFEQ"},
        {"SET", key, owner(), "PX"},
        {"DELEX", key, "IFEQ", owner()},
        {"DELEX", key},
        {"DELIFEQ", key, owner()},
        {"ZADD", key, draw({"1", "2.5", "17", "-3", "nonsense", very_high, "inf"}), position(owner())},
        {"ZADD", key, "NX", draw({"1", "4"}), position(owner()), "5", position(owner())},
        {"ZADD", key, "NX", "4"},
        {"ZREM", key, position(owner()), position(owner())},
        {"ZRANGE", key, draw({"0", "1", "-2", "nonsense"}), draw({"0", "-1", "7"}),
         draw({"WITHSCORES", "BYWHAT"})},
        {"ZRANGE", key, "0", "-1"},
        {"ZRANK", key, position(owner())},
        {"ZCARD", key},
        {"ZCOUNT", key, draw({"-inf", "0", "(4", "nonsense"}), draw({"+inf", "4", "(17", "nan"})},
        {"ZREMRANGEBYSCORE", key, draw({"-inf", "(2.5", "nonsense"}), draw({"3", "(17", "+inf"})},
        {"ZSCORE", key, draw({"nobody", owner(), position(owner())})},
        {"PEXPIREAT", key, draw({"0", "17", "nonsense", soon})},
        {"ZRANGEBYSCORE", key, draw({"-inf", "(2.5", "nonsense"}), draw({"3", "(17", "+inf"})},
        {"RPUSH", key, "any", "any"},
        {"HSET", key, draw({"0", "1"}), owner()},
        {"HSET", key, "0", owner(), "1", owner()},
        {"HDEL", key, "1", "2"},
        {"HGET", key, "0"},
        {"HMGET", key, "0", "2"},
        {"HEXISTS", key, "1"},
        {"HLEN", key},
        {"HKEYS", key},
        {"HGETALL", key},
        {"NONSENSE"}};
    both_.ask(id, questions[dice_.below(questions.size())]);
}

void random_talk::make_trouble()
{
    troubled_ = true;
    switch (dice_.below(9)) {
    case 0: return both_.fill(true);
    case 1: return both_.demote(true);
    case 2: return both_.forbid_channels(true);
    case 3: return both_.forget_scripts();
    case 4: return both_.reconnect(static_cast<unsigned>(1 + dice_.below(both_.connections())));
    case 5: return both_.advance_clock(short_leap);
    case 6: return both_.advance_clock(long_leap);
    default:
        both_.forbid(draw({"publish",
                           "subscribe",
                           "set",
                           "zadd",
                           "zrem",
                           "zrange",
                           "zcard",
                           "zrank",
                           "zscore",
                           "zcount",
                           "zremrangebyscore",
                           "zrangebyscore",
                           "hset",
                           "hdel",
                           "hget",
                           "hmget",
                           "hexists",
                           "hlen",
                           "hkeys",
                           "hgetall",
                           "pexpireat",
                           "type",
                           "pexpire",
                           "pttl",
                           "mget",
                           "exists",
                           "get",
                           "del",
                           "time",
                           "eval",
                           "evalsha"}));
    }
}

void random_talk::write()
{
    std::vector<words> const deeds{
        {"DEL", "lock"},
        {"DEL", "lock"},
        {"DEL", "lock:redlock-fence"},
        {"DEL", "lock2"},
        {"DEL", "lock2:redlock-fence"},
        {"SET", "lock2:redlock-fence", "17"},
        {"RPUSH", "lock3", "no owner"},
        {"DEL", "lock3"},
        {"SET", "lock2", "", "PX", "7200001"},
        {"DEL", "redlock-marker"},
        {"DEL", "lock:queue"},
        {"DEL", "lock:redlock-leader"},
        {"SET", "lock:redlock-leader", "2048 1 b:1"},
        {"SET", "lock:redlock-leader", "2048 5"},
        {"SET", "lock:redlock-leader", "2048 x b:1"},
        {"RPUSH", "lock:redlock-leader", "nobody"},
        {"FLUSHALL"},
        {"SET", "lock:redlock-fence", "some text"},
        {"SET", "lock:redlock-fence", "17"},
        {"SET", "redlock-marker", "no marker"},
        {"SET", "lock", "somebody", "PX", "7200001"},
        {"SET", "lock:queue", "no line"},
        {"ZADD", "lock", "1", "no owner"},
        {"RPUSH", "lock", "no owner"},
        {"RPUSH", "lock:queue", "no line"},
        {"RPUSH", "lock:redlock-fence", "no fence"},
        {"ZADD", "lock:queue", "1", position(owner()), "1", position(owner())},
        {"ZADD", "lock:queue", "2.5", "short"},
        {"ZADD", "lock:queue", draw({"-1", "9007199254740993"}), position(owner())},
        {"PUBLISH", "c1", "from outside"},
        {"DEL", "pool"},
        {"DEL", "pool:queue"},
        {"DEL", "pool:permit-fences"},
        {"SET", "pool", owner(), "PX", "1200000"},
        {"HSET", "pool", draw({"0", "2"}), owner() + draw({"", "1", "17000000000000"}), "next", "1"},
        {"HSET", "pool", draw({"next", "1"}), "no time"},
        {"HDEL", "pool", "0", "1"},
        {"HSET", "pool:permit-fences", "0", draw({"17", "some text"})},
        {"SET", "pool:permit-fences", "no fences"},
        {"ZADD", "pool:queue", "0", draw({"short", position(owner())})},
        {"RPUSH", "pool:queue", "no queue"}};
    both_.as_somebody_else(deeds[dice_.below(deeds.size())]);
    both_.compare(1, std::string());
}

std::string random_talk::owner()
{
    return std::string(redis::nonce_length, static_cast<char>('a' + dice_.below(3)));
}

std::string random_talk::number()
{
    if (dice_.one_in(3))
        return std::to_string(1 + dice_.below(8));
    return std::to_string(static_cast<std::uint64_t>(both_.now_us() / 1000) + dice_.below(3) * 100'000);
}

std::string random_talk::call(redis::script const& which, words const& keys, words const& arguments)
{
    bool const by_hash = dice_.one_in(2);
    words command{by_hash ? "EVALSHA" : "EVAL", std::string(by_hash ? which.sha1 : which.text),
                  std::to_string(keys.size())};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    return pair_of_servers::in_bytes(command);
}

std::string random_talk::mark()
{
    redis::marker seen;
    if (dice_.one_in(2)) {
        seen.text = dice_.one_in(2) ? "run:one/0a1b2c3d/0/5" : "run:one/ffffffff/0/5";
        seen.now =
            std::chrono::milliseconds{both_.now_us() / 1000} + (dice_.one_in(2) ? lock_life : -lock_life);
    }
    redis::mark_call call{.key_prefix = "",
                          .incarnation = dice_.one_in(2) ? "run:one" : "run:two",
                          .lineage = "0a1b2c3d",
                          .certain_for = {},
                          .absence_is_excused = dice_.one_in(2),
                          .seen = seen};
    if (dice_.one_in(2))
        call.certain_for = std::chrono::milliseconds{100'000};
    std::string command;
    redis::append_mark(command, call);
    return command;
}

} // namespace redlock::test
