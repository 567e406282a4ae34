// SPDX-License-Identifier: BSL-1.0
#include "world/script.hpp"

#include "redis/scripts.hpp"
#include "world/lua_number.hpp"
#include "world/reply.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace redlock::world {

namespace {

bool is_digits(std::string_view text)
{
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// "<term> <revision> <value>"
std::optional<std::pair<std::string_view, double>> version_of(std::string_view text)
{
    auto const term = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(term.size() + 1, text.size()));
    auto const end = text.find(' ');
    auto const revision = text.substr(0, end);
    if (end == text.npos || !is_digits(term) || !is_digits(revision))
        return {};
    return std::pair(term, number_of(std::string(revision)));
}

struct marker_parts {
    std::string life;
    std::string lineage;
    double since = 0;
    double placed = 0;
};

/// "<life>/<lineage>/<since>/<placed>"
std::optional<marker_parts> parts_of(std::string_view text)
{
    std::array<std::string_view, 4> parts;
    for (std::size_t i = 0; i != 3; ++i) {
        auto const slash = text.find('/');
        if (slash == std::string_view::npos)
            return {};
        parts[i] = text.substr(0, slash);
        text.remove_prefix(slash + 1);
    }
    parts[3] = text;
    if (parts[1].empty() || !is_digits(parts[2]) || !is_digits(parts[3]))
        return {};
    return marker_parts{std::string(parts[0]), std::string(parts[1]), number_of(std::string(parts[2])),
                        number_of(std::string(parts[3]))};
}

} // namespace

std::string script_run::run(std::string_view sha1)
{
    namespace known = redis::scripts;
    using twin = std::pair<std::string_view, std::string (script_run::*)()>;
    static constexpr std::array twins = std::to_array<twin>({
        {known::release.sha1, &script_run::release},
        {known::extend.sha1, &script_run::extend},
        {known::fenced_vote.sha1, &script_run::fenced_vote},
        {known::fenced_raise.sha1, &script_run::fenced_raise},
        {known::fenced_extend.sha1, &script_run::fenced_extend},
        {known::fenced_adopt.sha1, &script_run::fenced_adopt},
        {known::claim.sha1, &script_run::claim},
        {known::line_enter.sha1, &script_run::line_enter},
        {known::line_release.sha1, &script_run::line_release},
        {known::leader_release.sha1, &script_run::leader_release},
        {known::shared_vote.sha1, &script_run::shared_vote},
        {known::shared_extend.sha1, &script_run::shared_extend},
        {known::shared_release.sha1, &script_run::shared_release},
        {known::exclusive_vote.sha1, &script_run::exclusive_vote},
        {known::downgrade.sha1, &script_run::downgrade},
        {known::whose.sha1, &script_run::whose},
        {known::multi_vote.sha1, &script_run::multi_vote},
        {known::multi_extend.sha1, &script_run::multi_extend},
        {known::multi_raise.sha1, &script_run::multi_raise},
        {known::multi_release.sha1, &script_run::multi_release},
        {known::slots_vote.sha1, &script_run::slots_vote},
        {known::slots_extend.sha1, &script_run::slots_extend},
        {known::slots_release.sha1, &script_run::slots_release},
        {known::slots_enter.sha1, &script_run::slots_enter},
        {known::mark.sha1, &script_run::mark},
    });
    try {
        auto const found = std::ranges::find(twins, sha1, &twin::first);
        assert(found != twins.end());
        return (this->*found->second)();
    } catch (script_error const& e) {
        return stopped(sha1, e.text);
    } catch (wrong_type const&) {
        return stopped(sha1, std::string(reply::wrong_type));
    }
}

std::string script_run::stopped(std::string_view sha1, std::string const& why)
{
    return reply::error(why + " script: " + std::string(sha1) + ", on @user_script:1.");
}

std::string script_run::release()
{
    if (get(keys_[0]) != arguments_[0])
        return reply::number(0);
    del(keys_[0]);
    return reply::number(1);
}

std::string script_run::extend()
{
    if (get(keys_[0]) != arguments_[0])
        return reply::number(0);
    pexpire(keys_[0], arguments_[1]);
    (void)get(keys_[0]);
    return reply::number(1);
}

/// \param expected empty: any will do
bool script_run::strange(std::optional<std::string> const& marker, std::string const& expected)
{
    return !expected.empty() && marker != expected;
}

script_run::sight script_run::look()
{
    auto seen = mget(keys_);
    return {std::move(seen[0]), std::move(seen[1]), std::move(seen[2]),
            seen.size() > 3 ? std::move(seen[3]) : std::nullopt};
}

/// Nothing: it is no number that can be counted on from.
std::optional<double> script_run::fence_of(std::optional<std::string> const& text, std::string const& key)
{
    std::optional<double> fence;
    if (text)
        fence = to_number(*text);
    else if (pttl(key) == -2)
        fence = 0;
    return fence && *fence >= 0 && *fence < end_of_fences ? fence : std::nullopt;
}

std::string script_run::no_fence(std::string const& key)
{
    return reply::error("WRONGTYPE the fence is no number that can be counted on from: " + key);
}

/// It was nobody's, or is handed to us.
script_run::taking script_run::take()
{
    if (set_new(keys_[0], arguments_[2], arguments_.data()))
        return {true, false};
    if (arguments_[4].empty())
        return {};
    auto const owner = mget({keys_[0]})[0];
    bool const stood = owner == arguments_[2];
    if (!stood && owner != arguments_[4])
        return {};
    set(keys_[0], arguments_[2], arguments_.data());
    return {true, stood};
}

std::string script_run::fenced_vote()
{
    auto const [granted, stood] = take();
    auto const seen = mget({keys_[1], keys_[2]});
    if (strange(seen[1], arguments_[5])) {
        if (granted && !stood)
            del(keys_[0]);
        return reply::status("STRANGER");
    }
    if (auto fence = fence_of(seen[0], keys_[1])) {
        if (!granted)
            return held(whole(*fence));
        double const latest = static_cast<double>(time()) + std::floor(number_of(arguments_[0]) / 2);
        *fence = std::max(*fence + 1, std::min(number_of(arguments_[3]), latest));
        if (*fence < end_of_fences) {
            set(keys_[1], whole(*fence), &arguments_[1]);
            return reply::number(static_cast<std::int64_t>(*fence));
        }
    }
    if (granted && !stood)
        del(keys_[0]);
    return no_fence(keys_[1]);
}

std::string script_run::held(std::string const& fence)
{
    millis const left = pttl(keys_[0]);
    std::string const owner = mget({keys_[0]})[0].value_or("");
    return reply::status("HELD " + std::to_string(left) + ' ' + fence + ' ' + owner.substr(0, 8));
}

std::string script_run::fenced_raise()
{
    sight const seen = look();
    if (strange(seen.marker, arguments_[4]))
        return reply::status("STRANGER");
    auto const fence = fence_of(seen.fence, keys_[1]);
    if (!fence)
        return no_fence(keys_[1]);
    bool const ours = seen.lock == arguments_[2] || (!seen.lock && is_member(arguments_[2]));
    if (!ours || *fence > number_of(arguments_[3]))
        return reply::number(0);
    set(keys_[1], arguments_[3], &arguments_[1]);
    return reply::number(1);
}

std::string script_run::fenced_extend()
{
    sight const seen = look();
    if (strange(seen.marker, arguments_.back()))
        return reply::status("STRANGER");
    auto const fence = fence_of(seen.fence, keys_[1]);
    if (!fence)
        return no_fence(keys_[1]);
    if (*fence > number_of(arguments_[3]) || (seen.lock && seen.lock != arguments_[2]))
        return reply::number(0);
    if (seen.lock && *fence == number_of(arguments_[3])) {
        pexpire(keys_[0], arguments_[0]);
        pexpire(keys_[1], arguments_[1]);
        proclaim(seen.leader);
        (void)get(keys_[0]);
        return reply::number(1);
    }
    if (seen.lock)
        set(keys_[0], arguments_[2], arguments_.data());
    else if (!set_new(keys_[0], arguments_[2], arguments_.data()))
        return reply::number(0);
    set(keys_[1], arguments_[3], &arguments_[1]);
    proclaim(seen.leader);
    (void)get(keys_[0]);
    return reply::number(seen.lock && seen.fence ? 1 : 2);
}

/// In an election alone is there a key for it.
void script_run::proclaim(std::optional<std::string> const& stands)
{
    if (keys_.size() < 4)
        return;
    auto const ours = version_of(arguments_[4]);
    auto const its = stands ? version_of(*stands) : std::nullopt;
    if (its && ours && its->first == ours->first && its->second > ours->second)
        pexpire(keys_[3], arguments_[0]);
    else
        set(keys_[3], arguments_[4], arguments_.data());
}

std::string script_run::leader_release()
{
    try {
        if (get(keys_[1]).value_or("").starts_with(arguments_[1]))
            del(keys_[1]);
    } catch (wrong_type const&) { // NOLINT(bugprone-empty-catch): it is none of ours
    }
    if (get(keys_[0]) != arguments_[0])
        return reply::number(0);
    del(keys_[0]);
    return reply::number(1);
}

/// \param beginning of what is ours
void script_run::retract(std::string const& leader, std::string const& beginning)
{
    if (mget({leader})[0].value_or("").starts_with(beginning))
        del(leader);
}

std::string script_run::fenced_adopt()
{
    sight const seen = look();
    if (strange(seen.marker, arguments_[4]))
        return reply::status("STRANGER");
    if (seen.lock != arguments_[2] || (!seen.fence && pttl(keys_[1]) == -2))
        return reply::number(0);
    auto const fence = fence_of(seen.fence, keys_[1]);
    if (!fence)
        return no_fence(keys_[1]);
    if (*fence != number_of(arguments_[3]))
        return reply::number(0);
    pexpire(keys_[0], arguments_[0]);
    pexpire(keys_[1], arguments_[1]);
    (void)get(keys_[0]);
    return reply::number(1);
}

std::string script_run::mark()
{
    auto const moment = static_cast<double>(time());
    auto marker = get(keys_[0]);
    auto stands = marker ? parts_of(*marker) : std::nullopt;
    auto const seen = parts_of(arguments_[4]);
    bool keep = stands.has_value();
    marker_parts left = stands.value_or(marker_parts{});
    if (!stands || (seen && seen->lineage != stands->lineage && stands->since < number_of(arguments_[5]))) {
        left.lineage = arguments_[1];
        left.placed = moment;
        left.since = !stands && !seen && arguments_[3] == "1" ? 0 : moment;
        keep = false;
    } else if (!arguments_[0].empty() && left.life != arguments_[0]) {
        if (arguments_[2].empty()) {
            left.placed = moment;
        } else {
            left.since = std::max(left.since, moment - number_of(arguments_[2]));
            left.placed = std::max(left.placed, left.since);
        }
        keep = false;
    } else if (left.placed > moment || left.since > moment) { // the clock was set back
        left.since = std::min(left.since, moment);
        left.placed = std::min(left.placed, moment);
        keep = false;
    }
    if (!keep) {
        marker = arguments_[0] + '/' + left.lineage + '/' + whole(left.since) + '/' + whole(left.placed);
        set(keys_[0], *marker, nullptr);
    }
    return reply::bulk(whole(moment) + ' ' + *marker);
}

std::optional<std::string> script_run::get(std::string const& key)
{
    return keyspace::text_of(look_at("get", key));
}

std::vector<std::optional<std::string>> script_run::mget(std::vector<std::string> const& keys)
{
    where_.before("mget");
    std::vector<std::optional<std::string>> texts;
    texts.reserve(keys.size());
    for (std::string const& key : keys)
        texts.push_back(where_.keys.text(key, now()));
    for (std::string const& key : keys)
        where_.read(key);
    return texts;
}

millis script_run::pttl(std::string const& key)
{
    (void)look_at("pttl", key);
    return where_.keys.time_left(key, now());
}

millis script_run::time()
{
    where_.before("time");
    return now();
}

/// It is told of after it was found: whoever finds that it has expired is told of the next change.
keyspace::value const* script_run::look_at(std::string_view command, std::string const& key)
{
    where_.before(command);
    auto const* const found = where_.keys.find(key, now());
    where_.read(key);
    return found;
}

void script_run::pexpire(std::string const& key, std::string const& ms)
{
    where_.before("pexpire");
    (void)where_.keys.expire(key, now() + static_cast<millis>(number_of(ms)), now());
}

void script_run::pexpireat(std::string const& key, double at)
{
    where_.before("pexpireat");
    constexpr double first_with_exponent = 1e17; // where scores are written
    if (!(std::abs(at) < first_with_exponent) || at != std::floor(at))
        throw script_error{"ERR value is not an integer or out of range"};
    if (at <= static_cast<double>(now()))
        (void)where_.keys.erase(key, now());
    else
        (void)where_.keys.expire(key, static_cast<millis>(at), now());
}

void script_run::set(std::string const& key, std::string text, std::string const* ms)
{
    where_.before("set");
    keyspace::value v{.text = std::move(text)};
    if (ms)
        v.expires = now() + static_cast<millis>(number_of(*ms));
    where_.keys.set(key, std::move(v));
}

/// False: there is something.
bool script_run::set_new(std::string const& key, std::string text, std::string const* ms)
{
    where_.before("set");
    if (where_.keys.find(key, now()))
        return false;
    set(key, std::move(text), ms);
    return true;
}

void script_run::del(std::string const& key)
{
    where_.before("del");
    (void)where_.keys.erase(key, now());
}

} // namespace redlock::world
