// SPDX-License-Identifier: BSL-1.0
#include "cli/output.hpp"

#include "cli/note.hpp"
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

namespace redlock::cli {

using nlohmann::json;

namespace {

/// A name may hold any bytes.
std::string dump(json const& object)
{
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// An object that a pipe takes in one piece: its longest texts are shortened until it fits, and `cut` says so.
std::string dump_bounded(json object)
{
    std::string line = dump(object);
    while (line.size() >= longest_remark) {
        object["cut"] = true;
        auto const longest = std::ranges::max_element(object, {}, [](json const& value) {
            return value.is_string() ? value.get_ref<std::string const&>().size() : 0;
        });
        auto& text = longest->get_ref<std::string&>();
        text.resize(text.size() / 2);
        line = dump(object);
    }
    return line;
}

} // namespace

void print(std::string const& text)
{
    errno = 0;
    std::cout << text << std::flush;
    if (!std::cout)
        throw failure(exit_status::internal,
                      std::string("cannot write to standard output: ") + std::strerror(errno));
}

void output::result(json const& object, std::string const& text) const
{
    print(options_.json ? dump(object) + '\n' : text);
}

void output::say(std::string_view event, std::string const& text, json details) const
{
    if (!options_.json)
        return cli::note("redlock: " + text + '\n');
    details["event"] = event;
    details["message"] = text;
    cli::note(dump_bounded(std::move(details)) + '\n');
}

void output::note(std::string_view event, std::string const& text, json details) const
{
    if (options_.verbose)
        say(event, text, std::move(details));
}

void output::warn(std::string_view event, std::string const& text, json details) const
{
    say(event, text, std::move(details));
}

void output::fail_in_eval() const
{
    if (options_.verb == "acquire" && !options_.json)
        std::cout << "false\n" << std::flush;
}

void output::fail(failure const& why) const
{
    fail_in_eval();
    if (options_.quiet && why.status() == options_.conflict)
        return;
    json const object{{"error", why.what()}, {"exit_status", why.status()}, {"nodes", to_json(why.table())}};
    if (!options_.json)
        std::cerr << "redlock: " << why.what() << std::endl;
    else if (options_.verb == "run" || options_.verb == "elect" || !std::cout)
        std::cerr << dump(object) << std::endl;
    else
        std::cout << dump(object) << std::endl;
}

json to_json(std::vector<node_outcome> const& rows)
{
    json list = json::array();
    for (node_outcome const& row : rows) {
        json one{{"node", row.node}, {"result", to_string(row.result)}};
        if (row.error != server_error::none)
            one["error"] = to_string(row.error);
        if (!row.detail.empty())
            one["detail"] = row.detail;
        if (row.holder != holder_kind::unknown)
            one["holder_kind"] = std::string(to_string(row.holder));
        if (row.remaining)
            one["remaining_ms"] = *row.remaining / std::chrono::milliseconds{1};
        if (!row.owner.empty())
            one["owner"] = row.owner;
        list.push_back(std::move(one));
    }
    return list;
}

namespace {

std::string joined(std::span<std::uint16_t const> numbers)
{
    std::string text;
    for (auto const number : numbers)
        text.append(text.empty() ? "" : " ").append(std::to_string(number));
    return text;
}

} // namespace

lease_facts::lease_facts(lease const& of, lock_options const& options)
    : name(of.resource()), owner(of.nonce()), token(of.fencing_token()), permits(joined(of.permits())),
      ttl(options.ttl), valid_for(std::chrono::floor<std::chrono::milliseconds>(of.remaining())),
      expires_at(std::chrono::system_clock::now() + valid_for)
{}

/// Whole seconds, the earlier ones: what `date +%s` is compared with.
std::vector<std::pair<std::string, std::string>> lease_facts::variables() const
{
    auto const when = std::chrono::floor<std::chrono::seconds>(expires_at).time_since_epoch().count();
    std::vector<std::pair<std::string, std::string>> all{{"REDLOCK_NAME", name},
                                                         {"REDLOCK_OWNER", owner},
                                                         {"REDLOCK_EXPIRES_AT", std::to_string(when)},
                                                         {"REDLOCK_TTL", std::to_string(ttl.count()) + "ms"}};
    if (token != 0)
        all.emplace_back("REDLOCK_TOKEN", std::to_string(token));
    if (!permits.empty())
        all.emplace_back("REDLOCK_PERMITS", permits);
    return all;
}

json lease_facts::json() const
{
    auto const when = std::chrono::floor<std::chrono::milliseconds>(expires_at).time_since_epoch().count();
    nlohmann::json object{{"name", name},
                          {"owner", owner},
                          {"ttl_ms", ttl.count()},
                          {"valid_ms", valid_for.count()},
                          {"expires_at_ms", when}};
    if (token != 0)
        object["token"] = token;
    return object;
}

std::string shell_quoted(std::string const& text)
{
    std::string quoted = "'";
    for (char const c : text)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + '\'';
}

std::string seconds(std::chrono::duration<double> time)
{
    constexpr double shortest = 0.1; // a tenth of a second is the last that is worth saying in seconds
    char text[32];
    if (time.count() < shortest && time.count() > -shortest)
        std::snprintf(text, sizeof text, "%.0f ms", time.count() * 1e3);
    else
        std::snprintf(text, sizeof text, "%.1f s", time.count());
    return text;
}

std::string grouped(std::vector<node_words> const& rows)
{
    std::vector<node_words> groups;
    for (node_words const& row : rows) {
        auto const same = std::ranges::find(groups, row.words, &node_words::words);
        if (same == groups.end())
            groups.push_back(row);
        else
            same->node += ", " + row.node;
    }
    std::string text;
    for (node_words const& group : groups)
        text += (text.empty() ? "" : "; ") + group.node + ' ' + group.words;
    return text;
}

std::string short_summary(std::vector<node_outcome> const& rows)
{
    constexpr std::string_view mark = "; ";
    unsigned granted = 0;
    unsigned pending = 0;
    std::vector<node_words> others;
    for (node_outcome const& row : rows) {
        granted += row.result == node_result::granted ? 1U : 0U;
        pending += row.result == node_result::pending ? 1U : 0U;
        node_outcome nameless = row;
        nameless.node.clear();
        nameless.ago.reset(); // equal words are said once
        std::string const words =
            redlock::to_string(std::vector{nameless}); // "0 of 1 granted;  refused (NOAUTH ...)"
        if (auto const at = words.find(mark); row.result != node_result::pending && at != std::string::npos)
            others.push_back({row.node, words.substr(words.find_first_not_of(" ;", at))});
    }
    std::string text = std::to_string(granted) + " of " + std::to_string(rows.size()) + " granted";
    if (!others.empty())
        text.append(mark).append(grouped(others));
    return pending == 0 ? text : text + "; " + std::to_string(pending) + " still pending";
}

std::string table(std::vector<std::vector<std::string>> const& rows)
{
    std::vector<std::size_t> widths;
    for (auto const& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i != row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (auto const& row : rows) {
        for (std::size_t i = 0; i != row.size(); ++i)
            text += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

} // namespace redlock::cli
