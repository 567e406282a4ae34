// SPDX-License-Identifier: BSL-1.0
// The scripts of a semaphore: the twins of src/kind/scripts/slots_vote.lua, slots_extend.lua, slots_release.lua and
// slots_enter.lua.
#include "redis/command.hpp"
#include "world/lua_number.hpp"
#include "world/reply.hpp"
#include "world/script.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

namespace redlock::world {

namespace {

std::vector<std::string> words_of(std::string const& text)
{
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

std::string joined(std::vector<std::string> const& words)
{
    std::string text;
    for (std::string const& word : words)
        text.append(text.empty() ? "" : " ").append(word);
    return text;
}

constexpr std::size_t place_window_digits = 7;
constexpr std::size_t number_digits = 4;
constexpr std::size_t channel_at = redis::nonce_length + place_window_digits + 2 * number_digits;

/// What is behind the nonce of one who stands in line.
struct slot_place {
    std::string milliseconds;
    double count;
    double limit;
};

/// Nothing: it is none.
std::optional<slot_place> slot_place_of(std::string const& member)
{
    auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (member.size() < channel_at)
        return std::nullopt;
    std::string const digits = member.substr(redis::nonce_length, channel_at - redis::nonce_length);
    if (!std::ranges::all_of(digits, is_digit))
        return std::nullopt;
    return slot_place{.milliseconds = digits.substr(0, place_window_digits),
                      .count = number_of(digits.substr(place_window_digits, number_digits)),
                      .limit = number_of(digits.substr(place_window_digits + number_digits))};
}

/// Somewhere, and with the same nonce at the same place.
double start_of(std::string const& nonce)
{
    constexpr int base = 16;
    std::string const digits = nonce.substr(0, 8);
    char* end = nullptr;
    auto const number = std::strtoul(digits.c_str(), &end, base);
    return *end == '\0' ? static_cast<double>(number) : 0;
}

} // namespace

std::string script_run::slots_vote()
{
    (void)time();
    if (auto refused = see_slot_fences(9))
        return *refused;
    auto const seen = see_slots(true);
    if (seen.wrong)
        return *seen.wrong;
    if (!seen.open)
        return held("0");
    auto slots = words_of(arguments_[3]);
    for (std::string const& slot : slots)
        if (auto refused = slot_held(slot))
            return *refused;
    bool const waited = is_waited_for(keys_[2]);
    if (slots.empty()) {
        if (waited && (!serve_those_in_line() || is_waited_for(keys_[2])))
            return reply::status("HELD " + whole(until_ended(1)) + " 0 FULL");
        double const limit = number_of(arguments_[2]);
        double const count = number_of(arguments_[4]);
        auto chosen = choose(limit, count, number_of(arguments_[5]));
        if (!chosen)
            return slots_full(limit, count);
        slots = std::move(*chosen);
    }
    auto const fence = count_slots(slots, 8);
    if (!fence)
        return no_slot_fence();
    take_slots(slots, arguments_[0], number_of(arguments_[1]));
    if (keys_.size() > 3)
        set_fences(slots, whole(*fence), arguments_[7]);
    return given(*fence, waited ? number_of(arguments_[2]) : taken_slots(), slots);
}

/// Before a vote. False: that is not permitted.
bool script_run::serve_those_in_line()
{
    channel_at_ = channel_at;
    try {
        (void)serve(std::nullopt, std::nullopt, number_of(arguments_[5]), false);
        return true;
    } catch (script_error const&) {
        return false;
    }
}

/// Nothing: it is free, ours, or was given up for us.
std::optional<std::string> script_run::slot_held(std::string const& slot)
{
    auto const owner = field("hget", keys_[0], slot);
    if (!owner || owner == arguments_[0] || (!arguments_[6].empty() && owner == arguments_[6]))
        return std::nullopt;
    auto const moment = static_cast<double>(now());
    double const left = members("zscore", keys_[1]).score(slot).value_or(moment) - moment;
    return reply::status("HELD " + whole(left) + " 0 " + owner->substr(0, 8));
}

std::string script_run::slots_full(double limit, double count)
{
    double const taken = taken_slots();
    return reply::status("HELD " + whole(until_ended(count - (limit - taken))) + " 0 FULL");
}

std::string script_run::slots_extend()
{
    (void)time();
    if (auto refused = see_slot_fences(6))
        return *refused;
    auto const seen = see_slots();
    if (seen.wrong)
        return *seen.wrong;
    if (!seen.open)
        return reply::number(0);
    auto const slots = words_of(arguments_[2]);
    auto const& owners = fields("hmget", keys_[0]);
    for (std::string const& slot : slots)
        if (std::ranges::find(owners, std::pair(slot, arguments_[0])) == owners.end())
            return reply::number(0);
    bool all_known = true;
    if (keys_.size() > 3) {
        auto const fences = fences_of(slots);
        if (!fences)
            return no_slot_fence();
        if (fences->highest > number_of(arguments_[4]))
            return reply::number(0);
        all_known = fences->all;
        pexpire(slot_fences_key(), arguments_[3]);
        set_fences(slots, whole(number_of(arguments_[4])), arguments_[3]);
        if (arguments_[5] == "raise")
            return reply::number(1);
    }
    (void)renew_slots(slots, number_of(arguments_[1]));
    return reply::number(all_known ? 1 : 2);
}

std::string script_run::slots_release()
{
    (void)time();
    channel_at_ = channel_at;
    bool const was_first = leaves_as_first();
    auto const seen = see_slots();
    if (seen.wrong)
        return *seen.wrong;
    if (!seen.open) {
        if (was_first)
            tell_next();
        return reply::number(0);
    }
    auto const ours = ours_of(arguments_[1]);
    if (!ours.empty()) {
        hdel(keys_[0], ours);
        (void)zrem(keys_[1], ours);
        (void)end_with_last_slot();
    }
    auto const others = serve_others(ours.empty() ? 0 : number_of(ours[0]), was_first);
    if (ours.empty())
        return reply::number(0);
    return reply::number(others == 0 ? 1 : 2);
}

/// The line, where we stand in it.
bool script_run::leaves_as_first()
{
    if (arguments_[2].empty())
        return false;
    std::string const me = arguments_[0] + arguments_[2];
    bool const was_first = front(keys_[2]).first == me;
    (void)zrem(keys_[2], {me});
    return was_first;
}

void script_run::tell_next()
{
    auto const next = front(keys_[2]).first;
    tell_first(keys_[2], next, std::to_string(std::max<millis>(pttl(keys_[0]), 0)));
}

/// \param named nothing: whatever is ours here
script_run::slot_names script_run::ours_of(std::string const& named)
{
    if (named.empty())
        return slots_of(arguments_[0]);
    slot_names ours;
    for (std::string const& slot : words_of(named))
        if (field("hget", keys_[0], slot) == arguments_[0])
            ours.push_back(slot);
    return ours;
}

/// Without the rights to that the slots are free.
/// \returns how many were given theirs
std::size_t script_run::serve_others(double start, bool moved)
{
    auto const giver = arguments_[3] == "whole" ? std::optional(arguments_[0]) : std::nullopt;
    try {
        return serve(giver, std::nullopt, start, moved).others;
    } catch (script_error const&) {
        return 0;
    } catch (wrong_type const&) {
        return 0;
    }
}

std::string script_run::slots_enter()
{
    (void)time();
    channel_at_ = channel_at;
    need_memory(keys_[2]);
    auto const seen = see_slots();
    if (seen.wrong)
        return *seen.wrong;
    std::string const me = arguments_[0] + arguments_[1];
    bool const stands = members("zscore", keys_[2]).rank(me).has_value();
    if (seen.open) {
        slot_names slots = stands ? slot_names() : slots_of(arguments_[0]);
        if (slots.empty())
            slots = serve(std::nullopt, me, start_of(arguments_[0]), false).mine;
        if (!slots.empty())
            return given(0, taken_slots(), slots);
    }
    auto const before = stand_in_line(keys_[2], me);
    if (!before)
        return reply::status("FULL");
    double const left = seen.open ? until_ended(1) : static_cast<double>(pttl(keys_[0]));
    std::string const who = seen.open ? "FULL" : mget({keys_[0]})[0].value_or("");
    return in_line(left, *before, who);
}

/// \param giver as a whole; nothing: none was given up
/// \param me who comes behind all that stand there
/// \param moved the first of them has left
script_run::served script_run::serve(std::optional<std::string> const& giver,
                                     std::optional<std::string> const& me, double start, bool moved)
{
    served done;
    auto [first, second] = front(keys_[2]);
    while (first || me) {
        std::string const heir = first ? *first : *me;
        std::string const owner = heir.substr(0, redis::nonce_length);
        auto const place = slot_place_of(heir);
        auto const slots = place ? choose(place->limit, place->count, start) : std::nullopt;
        if (place && !slots) {
            if (moved)
                tell_first(keys_[2], first, whole(until_ended(1)));
            return done;
        }
        bool const hears =
            heir == me ||
            (slots && call("take", heir, "0 " + giver.value_or(owner) + ' ' + joined(*slots)) != 0);
        (void)zrem(keys_[2], {heir});
        if (hears && slots)
            take_slots(*slots, owner, number_of(place->milliseconds));
        if (heir == me) {
            if (place)
                tell_first(keys_[2], second, place->milliseconds);
            done.mine = slots.value_or(slot_names());
            return done;
        }
        done.others += hears ? 1 : 0;
        moved = true;
        std::tie(first, second) = front(keys_[2]);
    }
    return done;
}

/// Neither another kind of lock nor other data? What has ended goes.
script_run::slots_sight script_run::see_slots(bool takes_more)
{
    auto const lock = type(keys_[0]);
    auto const ends = type(keys_[1]);
    if (ends && (ends != keyspace::type::sorted_set || pttl(keys_[1]) < 0))
        return {.wrong = reply::error("WRONGTYPE these are no slots of a semaphore: " + keys_[1])};
    if (lock && (lock != keyspace::type::hash || !ends))
        return {};
    if (takes_more)
        need_memory(keys_[1]);
    if (!lock && ends)
        del(keys_[1]);
    constexpr double earliest = -std::numeric_limits<double>::infinity();
    slot_names over;
    for (auto const& one : members("zrangebyscore", keys_[1]).within({earliest, static_cast<double>(now())}))
        over.push_back(one.name);
    if (!over.empty()) {
        hdel(keys_[0], over);
        (void)zrem(keys_[1], over);
    }
    return {.wrong = std::nullopt, .open = true};
}

double script_run::until_ended(double count)
{
    auto const at = static_cast<std::ptrdiff_t>(count) - 1;
    auto const last = members("zrange", keys_[1]).range(at, at);
    return last.empty() ? 0 : last[0].score - static_cast<double>(now());
}

script_run::slot_names script_run::slots_of(std::string const& owner)
{
    slot_names found;
    for (auto const& [slot, whose] : fields("hgetall", keys_[0]))
        if (whose == owner)
            found.push_back(slot);
    std::ranges::sort(found, {}, number_of);
    return found;
}

/// So many that are free, from there on and round; nothing: there are not.
std::optional<script_run::slot_names> script_run::choose(double limit, double count, double start)
{
    constexpr std::size_t asked_one_by_one = 8;
    if (limit - taken_slots() < count)
        return std::nullopt;
    std::vector<double> chosen;
    for (std::size_t i = 0; static_cast<double>(i) < limit; ++i) {
        double const slot = std::fmod(start + static_cast<double>(i), limit);
        if (i == asked_one_by_one)
            (void)fields("hkeys", keys_[0]);
        auto const& all = i < asked_one_by_one ? fields("hexists", keys_[0])
                                               : keyspace::fields_of(where_.keys.find(keys_[0], now()));
        if (std::ranges::find(all, whole(slot), &keyspace::fields::value_type::first) == all.end())
            chosen.push_back(slot);
        if (static_cast<double>(chosen.size()) == count && !chosen.empty())
            break;
    }
    std::ranges::sort(chosen);
    slot_names names;
    std::ranges::transform(chosen, std::back_inserter(names), whole);
    return names;
}

std::string script_run::given(double fence, double taken, slot_names const& slots)
{
    return reply::bulk("GIVEN " + whole(fence) + ' ' + whole(taken) + ' ' + joined(slots));
}

double script_run::taken_slots()
{
    return static_cast<double>(fields("hlen", keys_[0]).size());
}

/// What is no line keeps nobody.
bool script_run::is_waited_for(std::string const& line)
{
    try {
        return members("zcard", line).size() != 0;
    } catch (script_error const&) {
        return false;
    } catch (wrong_type const&) {
        return false;
    }
}

std::string const& script_run::slot_fences_key() const
{
    return keys_[keys_.size() - 2];
}

double script_run::renew_slots(slot_names const& slots, double ms)
{
    (void)end_with_last_slot();
    for (std::string const& slot : slots)
        zadd(keys_[1], {static_cast<double>(now()) + ms, slot});
    return end_with_last_slot();
}

void script_run::take_slots(slot_names const& slots, std::string const& owner, double ms)
{
    double const last = renew_slots(slots, ms);
    for (std::string const& slot : slots)
        hset(keys_[0], slot, owner);
    pexpireat(keys_[0], last);
}

double script_run::end_with_last_slot()
{
    auto const last = members("zrange", keys_[1]).range(-1, -1);
    double const end = last.empty() ? static_cast<double>(now()) : last[0].score;
    pexpireat(keys_[0], end);
    pexpireat(keys_[1], end);
    return end;
}

/// \param marker the number of what is expected of the node's, among the arguments
/// \returns a reply that says why they are not to be counted on
std::optional<std::string> script_run::see_slot_fences(std::size_t marker)
{
    if (keys_.size() < 4)
        return std::nullopt;
    if (!arguments_[marker].empty() && mget({keys_.back()})[0] != arguments_[marker])
        return reply::status("STRANGER");
    if (auto const kind = type(slot_fences_key()); kind && kind != keyspace::type::hash)
        return reply::error("WRONGTYPE these are no fences of a semaphore: " + slot_fences_key());
    return std::nullopt;
}

std::string script_run::no_slot_fence() const
{
    return reply::error("WRONGTYPE a fence is no number that can be counted on from: " + slot_fences_key());
}

/// Nothing: one is no number that can be counted on from.
std::optional<script_run::slot_fences> script_run::fences_of(slot_names const& slots)
{
    auto const& all = fields("hmget", slot_fences_key());
    slot_fences seen;
    for (std::string const& slot : slots) {
        auto const found = std::ranges::find(all, slot, &keyspace::fields::value_type::first);
        auto const fence = found == all.end() ? std::optional(0.0) : to_number(found->second);
        bool const counts = fence && *fence >= 0 && *fence < end_of_fences;
        if (!counts)
            return std::nullopt;
        seen.all = seen.all && found != all.end();
        seen.highest = std::max(seen.highest, *fence);
    }
    return seen;
}

/// \param proposal its number among the arguments
/// \returns nothing: there is none that can be counted on from
std::optional<double> script_run::count_slots(slot_names const& slots, std::size_t proposal)
{
    if (keys_.size() < 4)
        return 0;
    auto const seen = fences_of(slots);
    if (!seen)
        return std::nullopt;
    double const latest = static_cast<double>(now()) + std::floor(number_of(arguments_[1]) / 2);
    double const fence = std::max(seen->highest + 1, std::min(number_of(arguments_[proposal]), latest));
    return fence < end_of_fences ? std::optional(fence) : std::nullopt;
}

void script_run::set_fences(slot_names const& slots, std::string const& fence, std::string const& ms)
{
    pexpire(slot_fences_key(), ms);
    for (std::string const& slot : slots)
        hset(slot_fences_key(), slot, fence);
    pexpire(slot_fences_key(), ms);
}

keyspace::fields const& script_run::fields(std::string_view command, std::string const& key)
{
    return keyspace::fields_of(look_at(command, key));
}

std::optional<std::string> script_run::field(std::string_view command, std::string const& key,
                                             std::string const& name)
{
    auto const& all = fields(command, key);
    auto const found = std::ranges::find(all, name, &keyspace::fields::value_type::first);
    return found == all.end() ? std::nullopt : std::optional(found->second);
}

void script_run::hset(std::string const& key, std::string const& name, std::string const& text)
{
    where_.before("hset");
    where_.keys.set_field(key, name, text, now());
}

void script_run::hdel(std::string const& key, std::vector<std::string> const& names)
{
    where_.before("hdel");
    (void)where_.keys.erase_fields(key, names, now());
}

} // namespace redlock::world
