// SPDX-License-Identifier: BSL-1.0
// rules Q22 and EL1
#include "kind/election.hpp"

#include "core/attempt.hpp"
#include "core/fencing.hpp"
#include "kind/basics.hpp"
#include "kind/fenced.hpp"
#include "kind/kind.hpp"
#include "kind/queue.hpp"
#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/scripts.hpp"
#include "redis/text_number.hpp"
#include "redis/writer.hpp"
#include <redlock/server_error.hpp>

#include <array>
#include <cassert>
#include <memory>

namespace redlock::kind {

namespace {

void append_leader_key(std::string& out, redis::lock_key const& key)
{
    auto const& [prefix, name, several] = key;
    redis::append_all(out, "$", redis::digits(prefix.size() + name.size() + leader_suffix.size()),
                      redis::crlf, prefix, name, leader_suffix, redis::crlf);
}

/// Appends the beginning of every leader announcement of this lease.
void append_term(std::string& out, core::fence number)
{
    redis::digits const term(core::fencing_token(number));
    redis::append_all(out, "$", redis::digits(std::string_view(term).size() + 1), redis::crlf, term, " \r\n");
}

/// The commands of a fenced lock, except that an extension announces the leader, and a release deletes the
/// announcement.
class election_commands final : public commands {
public:
    election_commands(std::string_view key_prefix, lifetimes const& times)
        : fenced_(fenced.make_commands(key_prefix, times)),
          times_(milliseconds(times.key) + milliseconds(times.number))
    {
        redis::append_argument(marker_key_, redis::joined_name(key_prefix, redis::marker_name));
    }

    void append(std::string& out, request what, command_arguments const& args,
                redis::script_form form) const override
    {
        if (what == request::extend && !args.announcement.empty())
            return append_extension(out, args, form);
        what < request::release ? fenced_->append(out, what, args, form)
                                : append_without_times(out, what, args, form);
    }

    static std::unique_ptr<commands const> make(std::string_view key_prefix, lifetimes const& times)
    {
        return std::make_unique<election_commands const>(key_prefix, times);
    }

    /// Appends requests that do not depend on lifetimes.
    static void append_without_times(std::string& out, request what, command_arguments const& args,
                                     redis::script_form form)
    {
        switch (what) {
        case request::release: return append_release(out, args, form);
        case request::give_back: return append_give_back(out, args, form);
        case request::lock_release: return fenced.append(out, request::release, args, form);
        default: return fenced.append(out, what, args, form);
        }
    }

    static answer read(request what, redis::resp_node const& reply) { return fenced.read(what, reply); }

    static key_observation read_observation(request what, redis::resp_node const& reply)
    {
        return fenced.read_observation(what, reply);
    }

    static constexpr std::array questions{request::owner, request::time_left, request::number};

private:
    static constexpr redis::script_call extension{redis::scripts::fenced_extend, 4, 10};
    static constexpr redis::script_call release{redis::scripts::leader_release, 2, 4};
    static constexpr redis::script_call giving_back{redis::scripts::give_back, 3, 10};

    void append_extension(std::string& out, command_arguments const& args, redis::script_form form) const
    {
        append_with_second_key(out, extension, form, args.key, fence_suffix, marker_key_);
        append_leader_key(out, args.key);
        redis::append_all(out, times_, nonce_header, checked(args.nonce), redis::crlf);
        append_number(out, args.number);
        redis::append_argument(out, args.announcement);
    }

    static void append_release(std::string& out, command_arguments const& args, redis::script_form form)
    {
        append_with_second_key(out, release, form, args.key, leader_suffix, nonce_header, checked(args.nonce),
                               redis::crlf);
        append_term(out, args.number);
    }

    static void append_give_back(std::string& out, command_arguments const& args, redis::script_form form)
    {
        append_with_second_key(out, giving_back, form, args.key, queue_suffix);
        append_leader_key(out, args.key);
        append_release_arguments(out, args, request::give_back, waiter_kind::exclusive);
        append_term(out, args.number);
    }

    std::unique_ptr<commands const> fenced_;
    std::string marker_key_{};
    std::string times_;
};

/// One question, about one key.
class view_commands final : public commands {
public:
    void append(std::string& out, request what, command_arguments const& args,
                redis::script_form form) const override
    {
        append_without_times(out, what, args, form);
    }

    static std::unique_ptr<commands const> make(std::string_view, lifetimes const&)
    {
        return std::make_unique<view_commands const>();
    }

    static void append_without_times(std::string& out, [[maybe_unused]] request what,
                                     command_arguments const& args, redis::script_form)
    {
        assert(what == request::leader);
        out += "*2\r\n$3\r\nGET\r\n";
        append_leader_key(out, args.key);
    }

    static answer read(request, redis::resp_node const& reply)
    {
        return {read_leader(reply) ? answer::meaning::granted : answer::meaning::error};
    }

    static key_observation read_observation(request, redis::resp_node const&) { return {}; }
};

} // namespace

constinit lock_kind const election{
    .agreement = core::agreement::one_number,
    .marked = true,
    .announces = true,
    .passes_to = handoff::nobody,
    .scripts = scripts_of({{request::vote, &redis::scripts::vote},
                           {request::claim, &redis::scripts::vote},
                           {request::write_back, &redis::scripts::fenced_raise},
                           {request::extend, &redis::scripts::fenced_extend},
                           {request::adopt, &redis::scripts::fenced_adopt},
                           {request::release, &redis::scripts::leader_release},
                           {request::give_back, &redis::scripts::give_back},
                           {request::enter, &redis::scripts::enter},
                           {request::whose, &redis::scripts::whose},
                           {request::lock_release, &redis::scripts::release}}),
    .inspection = election_commands::questions,
    .make_commands = election_commands::make,
    .append = election_commands::append_without_times,
    .read = election_commands::read,
    .read_observation = election_commands::read_observation,
};

constinit lock_kind const election_view{
    .agreement = core::agreement::majority,
    .marked = false,
    .scripts = {},
    .inspection = {},
    .make_commands = view_commands::make,
    .append = view_commands::append_without_times,
    .read = view_commands::read,
    .read_observation = view_commands::read_observation,
};

std::string announcement_head(std::uint64_t term, std::uint64_t revision)
{
    return std::to_string(term) + ' ' + std::to_string(revision) + ' ';
}

// rule EL3
std::optional<leader_announcement> read_leader(redis::resp_node const& reply)
{
    if (redis::is_error(reply.type) && redis::classify(reply.text) == server_error::wrongtype)
        return leader_announcement();
    if (reply.type == redis::resp_type::null)
        return leader_announcement();
    if (reply.type != redis::resp_type::bulk_string)
        return std::nullopt;
    std::string_view text = reply.text;
    leader_announcement found;
    for (std::uint64_t* const part : {&found.term, &found.revision}) {
        auto const space = text.find(' ');
        if (space == text.npos || !redis::read_number(text.substr(0, space), *part))
            return leader_announcement();
        text.remove_prefix(space + 1);
    }
    found.value = text;
    bool const possible = found.term != 0 && found.term < core::fencing_token(fence_end);
    return possible && text.size() <= longest_value ? found : leader_announcement();
}

} // namespace redlock::kind
