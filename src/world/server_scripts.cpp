// SPDX-License-Identifier: BSL-1.0
// How a server runs the library's scripts.
#include "redis/scripts.hpp"
#include "world/command.hpp"
#include "world/reply.hpp"
#include "world/script.hpp"
#include "world/server.hpp"

#include <algorithm>
#include <optional>

namespace redlock::world {

namespace {

std::optional<std::string_view> hash_of(std::string_view text)
{
    namespace known = redis::scripts;
    for (auto const& one : {known::release,
                            known::extend,
                            known::fenced_vote,
                            known::fenced_raise,
                            known::fenced_extend,
                            known::fenced_adopt,
                            known::claim,
                            known::line_enter,
                            known::line_release,
                            known::shared_vote,
                            known::shared_extend,
                            known::shared_release,
                            known::exclusive_vote,
                            known::downgrade,
                            known::whose,
                            known::multi_vote,
                            known::multi_extend,
                            known::multi_raise,
                            known::multi_release,
                            known::leader_release,
                            known::slots_vote,
                            known::slots_extend,
                            known::slots_release,
                            known::slots_enter,
                            known::mark})
        if (one.text == text)
            return one.sha1;
    return {};
}

} // namespace

std::string server::eval(connection&, words const& command)
{
    auto const hash = hash_of(command[1]);
    if (!hash)
        return reply::error("ERR this server knows the library's scripts only");
    scripts_.insert(std::string(*hash));
    return run_script(std::string(*hash), command);
}

std::string server::evalsha(connection&, words const& command)
{
    std::string const hash = lower(command[1]);
    return scripts_.contains(hash) ? run_script(hash, command)
                                   : reply::error("NOSCRIPT No matching script. Please use EVAL.");
}

std::string server::run_script(std::string const& hash, words const& command)
{
    auto const keys = static_cast<std::ptrdiff_t>(whole_number(command[2]).value_or(0));
    auto const first = command.begin() + 3;
    if (!is.forbidden_key.empty() && std::find(first, first + keys, is.forbidden_key) != first + keys)
        return reply::error(
            "NOPERM this user has no permissions to access one of the keys used as arguments");
    bool written = false;
    script_run run({.keys = keys_,
                    .now_us = now_us_,
                    .read =
                        [this, first, keys](std::string const& key) {
                            if (!is.shows_declared_keys)
                                return remember(current_, key);
                            for (auto declared = first; declared != first + keys; ++declared)
                                remember(current_, *declared);
                        },
                    .before =
                        [this, &written](std::string_view name) {
                            command_form const& form = *form_of(name);
                            allow_in_script(form, written);
                            written |= (form.flags & writes) != 0;
                        },
                    .publish =
                        [this](std::string const& channel, std::string const& text) {
                            if (is.forbidden_channels)
                                throw script_error{
                                    "ERR The user executing the script can't publish to the channel "
                                    "mentioned in the command"};
                            return tell(channel, text);
                        }},
                   {first, first + keys}, {first + keys, command.end()});
    return run.run(hash);
}

/// \param written before: it is not stopped halfway for lack of memory
void server::allow_in_script(command_form const& command, bool written) const
{
    std::string const no = written ? "" : write_refusal(command);
    bool const memory_first = is.version == release::valkey_9_1 && no.starts_with("OOM");
    if (is.forbidden.contains(std::string(command.name)) && !memory_first)
        throw script_error{"ERR The user executing the script can't run this command or subcommand"};
    if (!no.empty())
        throw script_error{no};
}

} // namespace redlock::world
