#include "world/script.hpp"

#include "redis/scripts.hpp"
#include "world/reply.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace redlock::world {

namespace {

constexpr double end_of_fences = 8796093022208; // 2^43

/// As Lua's tonumber().
std::optional<double> to_number(std::string const& text)
{
    char* end = nullptr;
    double const value = std::strtod(text.c_str(), &end);
    if (end == text.c_str())
        return {};
    while (*end == ' ' || (*end >= '\t' && *end <= '\r'))
        ++end;
    return end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

double number_of(std::string const& text)
{
    return to_number(text).value_or(0);
}

std::string whole(double value)
{
    std::array<char, 400> text{};
    int const size = std::snprintf(text.data(), text.size(), "%.0f", value);
    return {text.data(), static_cast<std::size_t>(size)};
}

bool is_digits(std::string_view text)
{
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
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
    try {
        if (sha1 == known::release.sha1)
            return release();
        if (sha1 == known::extend.sha1)
            return extend();
        if (sha1 == known::fenced_vote.sha1)
            return fenced_vote();
        if (sha1 == known::fenced_raise.sha1)
            return fenced_raise();
        if (sha1 == known::fenced_extend.sha1)
            return fenced_extend();
        if (sha1 == known::fenced_adopt.sha1)
            return fenced_adopt();
        return mark();
    } catch (script_error const& e) {
        return reply::error(e.text + " script: " + std::string(sha1) + ", on @user_script:1.");
    }
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

bool script_run::strange(std::optional<std::string> const& marker) const
{
    return !arguments_[4].empty() && marker != arguments_[4];
}

script_run::sight script_run::look()
{
    return {mget(keys_[0]), mget(keys_[1]), mget(keys_[2])};
}

/// Nothing: it is no number that can be counted on from.
std::optional<double> script_run::fence_of(std::optional<std::string> const& text)
{
    std::optional<double> fence;
    if (text)
        fence = to_number(*text);
    else if (pttl(keys_[1]) == -2)
        fence = 0;
    return fence && *fence >= 0 && *fence < end_of_fences ? fence : std::nullopt;
}

std::string script_run::no_fence() const
{
    return reply::error("WRONGTYPE the fence is no number that can be counted on from: " + keys_[1]);
}

std::string script_run::fenced_vote()
{
    where_.before_write("set");
    bool const granted = where_.keys.find(keys_[0], now()) == nullptr;
    if (granted)
        set(keys_[0], arguments_[2], arguments_.data());
    auto const fence_text = mget(keys_[1]);
    auto const marker = mget(keys_[2]);
    if (strange(marker)) {
        if (granted)
            del(keys_[0]);
        return reply::status("STRANGER");
    }
    if (auto fence = fence_of(fence_text)) {
        if (!granted) {
            millis const left = pttl(keys_[0]);
            std::string const owner = mget(keys_[0]).value_or("");
            return reply::status("HELD " + std::to_string(left) + ' ' + whole(*fence) + ' ' +
                                 owner.substr(0, 8));
        }
        double const latest = static_cast<double>(now()) + std::floor(number_of(arguments_[0]) / 2);
        *fence = std::max(*fence + 1, std::min(number_of(arguments_[3]), latest));
        if (*fence < end_of_fences) {
            set(keys_[1], whole(*fence), &arguments_[1]);
            return reply::number(static_cast<std::int64_t>(*fence));
        }
    }
    if (granted)
        del(keys_[0]);
    return no_fence();
}

std::string script_run::fenced_raise()
{
    sight const seen = look();
    if (strange(seen.marker))
        return reply::status("STRANGER");
    auto const fence = fence_of(seen.fence);
    if (!fence)
        return no_fence();
    if (seen.lock != arguments_[2] || *fence > number_of(arguments_[3]))
        return reply::number(0);
    set(keys_[1], arguments_[3], &arguments_[1]);
    return reply::number(1);
}

std::string script_run::fenced_extend()
{
    sight const seen = look();
    if (strange(seen.marker))
        return reply::status("STRANGER");
    auto const fence = fence_of(seen.fence);
    if (!fence)
        return no_fence();
    if (*fence > number_of(arguments_[3]) || (seen.lock && seen.lock != arguments_[2]))
        return reply::number(0);
    if (seen.lock && *fence == number_of(arguments_[3])) {
        pexpire(keys_[0], arguments_[0]);
        pexpire(keys_[1], arguments_[1]);
        (void)get(keys_[0]);
        return reply::number(1);
    }
    where_.before_write("set");
    if (!seen.lock && where_.keys.find(keys_[0], now()))
        return reply::number(0);
    set(keys_[0], arguments_[2], arguments_.data());
    set(keys_[1], arguments_[3], &arguments_[1]);
    (void)get(keys_[0]);
    return reply::number(seen.lock && seen.fence ? 1 : 2);
}

std::string script_run::fenced_adopt()
{
    sight const seen = look();
    if (strange(seen.marker))
        return reply::status("STRANGER");
    if (seen.lock != arguments_[2] || (!seen.fence && pttl(keys_[1]) == -2))
        return reply::number(0);
    auto const fence = fence_of(seen.fence);
    if (!fence)
        return no_fence();
    if (*fence != number_of(arguments_[3]))
        return reply::number(0);
    pexpire(keys_[0], arguments_[0]);
    pexpire(keys_[1], arguments_[1]);
    (void)get(keys_[0]);
    return reply::number(1);
}

std::string script_run::mark()
{
    auto const time = static_cast<double>(now());
    auto marker = get(keys_[0]);
    auto stands = marker ? parts_of(*marker) : std::nullopt;
    auto const seen = parts_of(arguments_[4]);
    bool keep = stands.has_value();
    marker_parts left = stands.value_or(marker_parts{});
    if (!stands || (seen && seen->lineage != stands->lineage && stands->since < number_of(arguments_[5]))) {
        left.lineage = arguments_[1];
        left.placed = time;
        left.since = !stands && !seen && arguments_[3] == "1" ? 0 : time;
        keep = false;
    } else if (!arguments_[0].empty() && left.life != arguments_[0]) {
        if (arguments_[2].empty()) {
            left.placed = time;
        } else {
            left.since = std::max(left.since, time - number_of(arguments_[2]));
            left.placed = std::max(left.placed, left.since);
        }
        keep = false;
    } else if (left.placed > time || left.since > time) { // the clock was set back
        left.since = std::min(left.since, time);
        left.placed = std::min(left.placed, time);
        keep = false;
    }
    if (!keep) {
        marker = arguments_[0] + '/' + left.lineage + '/' + whole(left.since) + '/' + whole(left.placed);
        set(keys_[0], *marker, nullptr);
    }
    return reply::bulk(whole(time) + ' ' + *marker);
}

std::optional<std::string> script_run::get(std::string const& key)
{
    where_.read(key);
    auto const* const found = where_.keys.find(key, now());
    if (found && !found->is_string)
        throw script_error{"WRONGTYPE Operation against a key holding the wrong kind of value"};
    return found ? std::optional(found->text) : std::nullopt;
}

std::optional<std::string> script_run::mget(std::string const& key)
{
    where_.read(key);
    return where_.keys.text(key, now());
}

millis script_run::pttl(std::string const& key)
{
    where_.read(key);
    return where_.keys.time_left(key, now());
}

void script_run::pexpire(std::string const& key, std::string const& ms)
{
    where_.before_write("pexpire");
    (void)where_.keys.expire(key, now() + static_cast<millis>(number_of(ms)), now());
}

void script_run::set(std::string const& key, std::string text, std::string const* ms)
{
    where_.before_write("set");
    keyspace::value v{.text = std::move(text), .expires = {}, .is_string = true};
    if (ms)
        v.expires = now() + static_cast<millis>(number_of(*ms));
    where_.keys.set(key, std::move(v));
}

void script_run::del(std::string const& key)
{
    where_.before_write("del");
    (void)where_.keys.erase(key, now());
}

} // namespace redlock::world
