// SPDX-License-Identifier: BSL-1.0
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/parser.hpp"
#include "engine/configuration.hpp"
#include "redis/command.hpp"
#include "redis/url.hpp"
#include <redlock/config.hpp>

#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

// Checks and completes the arguments of the command line and of the environment, together.
namespace redlock::cli {

namespace {

std::string environment(char const* name)
{
    char const* const value = std::getenv(name);
    return value ? value : "";
}

bool has_credentials(std::string const& url)
{
    auto const parsed = redis::parse_url(url);
    auto const* const node = std::get_if<redis::endpoint>(&parsed);
    return node && (!node->username.empty() || !node->password.empty());
}

} // namespace

/// A command that begins with a dash is accepted only after a "--".
void parser::refuse_unknown_options() const
{
    CLI::App const* const used = run_->parsed() ? run_ : elect_;
    auto const words = used->remaining();
    if (!words.empty() && words.front().starts_with('-'))
        throw failure(exit_status::usage,
                      "unknown option: '" + without_secrets(words.front()) +
                          "' (a command that begins with a dash must follow --)\nredlock --help tells more");
}

/// A name after "--" may begin with a dash. Before a command it needs a "--" after it as well: otherwise, if a shell's
/// variable is empty, the command's first word would be taken for the name.
void parser::take_name()
{
    is_named_ = name_of(*app_.get_subcommands().front()).count() != 0;
    if (is_named_ || rest_.size() < 2)
        return;
    bool const before_command = with_command() && rest_.size() > 2;
    if (before_command && rest_[2] != "--")
        throw failure(exit_status::usage,
                      "NAME is required (after -- it needs another -- in front of the command)\nredlock " +
                          o_.verb + " --help tells more");
    o_.name = rest_[1];
    is_named_ = true;
    rest_.erase(rest_.begin() + 1);
    if (before_command)
        rest_.erase(rest_.begin());
}

void parser::finish()
{
    refuse_unknown_options();
    take_name();
    if (!with_command() && rest_.size() > 1)
        throw failure(exit_status::usage, o_.verb + " takes one name, and no command");
    finish_names();
    o_.client.nodes = find_nodes(nodes_, nodes_file_);
    o_.client.admission.assume_fresh = fresh_ || environment("REDLOCK_ASSUME_FRESH") == "1";
    o_.client.client_name = "redlock-cli";
    if (o_.quiet && o_.verb != "acquire") // its caller must not go on without the lock
        o_.conflict = exit_status::success;
    if (nonblock_)
        o_.wait = std::chrono::milliseconds::zero();
    else if (wait_)
        o_.wait = read_duration(*wait_);
    finish_credentials();
    if (o_.verb == "extend" || o_.verb == "release")
        finish_owner();
    if (with_command())
        finish_command();
    if (!watch_.empty())
        finish_watch();
}

/// Joins the names as the library names a lock of several names.
void parser::finish_names()
{
    if (!further_names_.empty() && (o_.with != sharing::none || o_.permits != 0))
        throw failure(exit_status::usage,
                      "--shared, --exclusive and --permits are for one lock, and --also names several");
    o_.names = further_names_;
    o_.names.push_back(o_.name);
    std::ranges::sort(o_.names);
    o_.names.erase(std::ranges::unique(o_.names).begin(), o_.names.end());
    o_.name.clear();
    for (std::string const& each : o_.names) {
        if (is_named_ && o_.verb != "list") // it takes the beginning of a name
            as_usage([&] { detail::check_name(each); });
        o_.name.append(o_.name.empty() ? "" : ", ").append(each);
    }
}

void parser::finish_credentials()
{
    if (!password_file_.empty()) {
        (void)read_password(password_file_); // reports a problem with it at once
        if (std::ranges::all_of(o_.client.nodes, has_credentials))
            throw failure(exit_status::usage,
                          "--password-file is for URLs without user and password, and all URLs have them");
        o_.client.credentials_provider = [user = std::exchange(o_.client.username, {}),
                                          file = password_file_](std::string_view) {
            return credentials{user, read_password(file)};
        };
        return;
    }
    o_.client.password = ask_password_ ? ::getpass("Password: ") : environment("REDISCLI_AUTH");
    if (!o_.client.username.empty() && o_.client.password.empty())
        throw failure(exit_status::usage,
                      "--user needs a password: set REDISCLI_AUTH, or give --password-file or --askpass");
}

void parser::finish_watch()
{
    constexpr auto shortest_pause = std::chrono::milliseconds{100};
    o_.watch = read_duration(watch_);
    if (*o_.watch < shortest_pause)
        throw failure(exit_status::usage, "--watch needs a pause of 100ms at least");
}

void parser::finish_owner()
{
    if (o_.name.empty())
        o_.name = environment("REDLOCK_NAME");
    if (o_.owner.empty())
        o_.owner = environment("REDLOCK_OWNER");
    if (o_.owner == environment("REDLOCK_OWNER")) { // the rest of the environment belongs to the same lease
        if (token_.empty())
            token_ = environment("REDLOCK_TOKEN");
        std::string const ttl = environment("REDLOCK_TTL");
        if (o_.verb == "extend" && extend_->count("--ttl") == 0 && !ttl.empty())
            o_.lock.ttl = read_duration(ttl);
    }
    if (o_.name.empty() || o_.owner.empty())
        throw failure(
            exit_status::usage,
            o_.verb +
                " needs the lock's name and --owner, or what acquire told in REDLOCK_NAME and REDLOCK_OWNER");
    if (o_.owner.size() != redis::nonce_length)
        throw failure(exit_status::usage, "an owner token has " + std::to_string(redis::nonce_length) +
                                              " characters, not " + std::to_string(o_.owner.size()));
    finish_token();
}

void parser::finish_token()
{
    if (token_.empty())
        return;
    auto const [rest, error] = std::from_chars(token_.data(), token_.data() + token_.size(), o_.token);
    if (error != std::errc{} || rest != token_.data() + token_.size() || o_.token == 0)
        throw failure(exit_status::usage, "not a fencing token: '" + token_ + "'");
    o_.fenced = true;
}

void parser::finish_command()
{
    o_.lock.renew = !no_extend_;
    o_.command = with_command()->remaining();
    if (o_.command.empty() && !rest_.empty())
        rest_.erase(rest_.begin());
    o_.command.insert(o_.command.end(), rest_.begin(), rest_.end());
    if (!shell_line_.empty() && o_.command.empty())
        o_.command = {"/bin/sh", "-c", shell_line_};
    else if (!shell_line_.empty())
        throw failure(exit_status::usage, "either a command or -c, not both");
    if (o_.command.empty())
        throw failure(exit_status::usage, o_.verb + " needs a command");
}

} // namespace redlock::cli
