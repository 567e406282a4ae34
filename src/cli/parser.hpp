// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace redlock::cli {

/// Defines the command line, and interprets it when all arguments have been read.
class parser {
public:
    explicit parser(options& o);

    void parse(int argc, char const* const* argv);

private:
    CLI::App& verb(std::string const& name, std::string const& what)
    {
        CLI::App& made = *app_.add_subcommand(name, what);
        made.callback([this, name] { o_.verb = name; });
        define_nodes(made);
        return made;
    }
    template <class Time>
    void time(CLI::App& to, std::string const& flags, Time& target, std::string const& what,
              std::string* as_typed = nullptr)
    {
        auto const read = [&target, as_typed](std::string const& text) {
            target = read_duration(text);
            if (as_typed)
                *as_typed = text;
        };
        to.add_option_function<std::string>(flags, read, what)->type_name("DURATION");
    }

    /// Refuses an empty value, which may come from a variable that is not set.
    template <class Target>
    CLI::Option& named(CLI::App& to, std::string const& flags, Target& target, std::string const& what)
    {
        auto const check = [](std::string const& text) {
            return std::string(text.empty() ? "is empty" : "");
        };
        return *to.add_option(flags, target, what)->check(check);
    }

    void define_nodes(CLI::App&);
    void define_name(CLI::App& to, bool required);
    void define_lease(CLI::App&);
    void define_waiting(CLI::App&);
    void define_owner(CLI::App&);
    void define_command(CLI::App&);
    void define_run();
    void define_elect();
    void define_acquire();
    void define_extend();
    void define_release();
    void define_leader();
    void define_status();
    void define_list();
    void define_doctor();

    /// Returns the one argument of a verb that is no option.
    [[nodiscard]] static CLI::Option& name_of(CLI::App& verb)
    {
        return *verb.get_options([](CLI::Option const* o) { return o->get_positional(); }).front();
    }
    /// Returns the verb that runs a command; null: the given verb runs none.
    [[nodiscard]] CLI::App const* with_command() const
    {
        return o_.verb == "run" ? run_ : o_.verb == "elect" ? elect_ : nullptr;
    }
    [[nodiscard]] std::string explain(CLI::Error const&) const;
    void refuse_unknown_options() const;
    void refuse_empty_values(std::span<std::string const> words) const;
    void take_name();
    void finish();
    void finish_names();
    void finish_owner();
    void finish_token();
    void finish_command();
    void finish_credentials();
    void finish_watch();

    options& o_;
    CLI::App app_;
    CLI::App* run_ = nullptr;
    CLI::App* elect_ = nullptr;
    CLI::App* extend_ = nullptr;
    std::vector<std::string> nodes_;
    std::vector<std::string> further_names_;
    std::vector<std::string> rest_; ///< from the first "--" on; later without the name
    std::string nodes_file_;
    std::string password_file_;
    std::string shell_line_;
    std::string watch_;
    std::optional<std::string> wait_;
    std::string token_;
    bool is_named_ = false;
    bool nonblock_ = false;
    bool no_extend_ = false;
    bool ask_password_ = false;
    bool fresh_ = false;
};

} // namespace redlock::cli
