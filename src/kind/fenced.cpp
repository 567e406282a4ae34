// SPDX-License-Identifier: BSL-1.0
// rules K3 and S5
#include "kind/fenced.hpp"

#include "core/attempt.hpp"
#include "core/fencing.hpp"
#include "kind/basics.hpp"
#include "kind/kind.hpp"
#include "kind/shared.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/scripts.hpp"
#include "redis/text_number.hpp"
#include "redis/writer.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace redlock::kind {

namespace {

/// One script takes the lock and counts. Three more set, renew and adopt the token. These three name the same keys, the
/// lock, its fence and the node's marker, and take the same arguments.
class fenced_commands final : public commands {
public:
    fenced_commands(std::string_view key_prefix, lifetimes const& times)
    {
        std::string marker_key;
        redis::append_argument(marker_key, redis::joined_name(key_prefix, redis::marker_name));
        std::string const time = milliseconds(times.key);
        fence_time_ = milliseconds(times.number);
        redis::append_all(marker_to_nonce_, marker_key, time, fence_time_, nonce_header);
        redis::append_all(vote_start_, marker_key, "$1\r\nx\r\n", nonce_header);
        redis::append_all(vote_end_, redis::crlf, time);
    }

    void append(std::string& out, request what, command_arguments const& args,
                redis::script_form form) const override
    {
        switch (what) {
        case request::vote:
        case request::claim: return append_vote(out, args, form);
        case request::write_back: return append_call(out, raise, args, form);
        case request::extend: return append_call(out, extension, args, form);
        case request::adopt: return append_call(out, adoption, args, form);
        default: return append_without_times(out, what, args, form);
        }
    }

    static std::unique_ptr<commands const> make(std::string_view key_prefix, lifetimes const& times)
    {
        return std::make_unique<fenced_commands const>(key_prefix, times);
    }

    /// Appends requests that do not depend on lifetimes.
    static void append_without_times(std::string& out, request what, command_arguments const& args,
                                     redis::script_form form)
    {
        if (what != request::number)
            return append_common(out, what, args, form);
        auto const& [prefix, name, several] = args.key;
        redis::append_all(out, "*2\r\n$3\r\nGET\r\n$",
                          redis::digits(prefix.size() + name.size() + fence_suffix.size()), redis::crlf,
                          prefix, name, fence_suffix, redis::crlf);
    }

    static answer read(request what, redis::resp_node const& reply)
    {
        switch (what) {
        case request::vote:
        case request::claim: return read_vote(reply);
        case request::number: return read_number(reply);
        default: return read_common(what, reply);
        }
    }

    static constexpr std::array questions{request::owner, request::time_left, request::number};

private:
    static constexpr unsigned key_count = 3;
    static constexpr unsigned word_count = key_count + 5;
    static constexpr redis::script_call vote{redis::scripts::vote, 4, 11};
    static constexpr redis::script_call raise{redis::scripts::fenced_raise, key_count, word_count};
    static constexpr redis::script_call extension{redis::scripts::fenced_extend, key_count, word_count};
    static constexpr redis::script_call adoption{redis::scripts::fenced_adopt, key_count, word_count};

    /// Instead of the queue it names the lock again: a client may lack the right to the queue.
    void append_vote(std::string& out, command_arguments const& args, redis::script_form form) const
    {
        if (form == redis::script_form::text)
            vote.append_text(out);
        else
            out += vote.by_hash();
        append_key(out, args.key, {});
        append_key(out, args.key, {});
        append_key(out, args.key, fence_suffix);
        redis::append_all(out, vote_start_, checked(args.nonce), vote_end_);
        redis::append_argument(out, args.previous_owner);
        out += fence_time_;
        append_number(out, args.number);
    }

    void append_call(std::string& out, redis::script_call const& call, command_arguments const& args,
                     redis::script_form form) const
    {
        redis::digits const number(args.number);
        std::string_view const shown(number);
        append_with_second_key(out, call, form, args.key, fence_suffix, marker_to_nonce_, checked(args.nonce),
                               redis::crlf, "$", redis::digits(shown.size()), redis::crlf, shown,
                               redis::crlf);
    }

    /// A negative number, converted, is far beyond the end.
    // rule F1
    static answer read_vote(redis::resp_node const& reply)
    {
        auto const counted = static_cast<std::uint64_t>(reply.number);
        if (reply.type == redis::resp_type::number)
            return counted != 0 && counted < fence_end
                       ? answer{.what = answer::meaning::granted, .number = counted}
                       : answer{};
        if (auto const held = read_refusal("HELD", reply))
            return {.what = answer::meaning::denied, .number = held->number};
        if (is_queued(reply))
            return {answer::meaning::denied};
        return read_script(reply);
    }

    static answer read_number(redis::resp_node const& reply)
    {
        answer found{answer::meaning::granted};
        if (reply.type != redis::resp_type::bulk_string || !redis::read_number(reply.text, found.number) ||
            found.number >= fence_end)
            found.number = 0;
        return found;
    }

    std::string marker_to_nonce_; // from the marker's key to the header of the nonce
    std::string vote_start_;      // the same of a vote
    std::string vote_end_;        // from the end of the nonce to the lock's time
    std::string fence_time_;
};

constexpr lock_kind counted{
    .agreement = core::agreement::one_number,
    .marked = true,
    .most_handoffs = core::max_hand_offs,
    .scripts = scripts_of({{request::vote, &redis::scripts::vote},
                           {request::claim, &redis::scripts::vote},
                           {request::write_back, &redis::scripts::fenced_raise},
                           {request::extend, &redis::scripts::fenced_extend},
                           {request::adopt, &redis::scripts::fenced_adopt},
                           {request::release, &redis::scripts::release},
                           {request::give_back, &redis::scripts::give_back},
                           {request::enter, &redis::scripts::enter},
                           {request::whose, &redis::scripts::whose}}),
    .inspection = fenced_commands::questions,
    .make_commands = fenced_commands::make,
    .append = fenced_commands::append_without_times,
    .read = fenced_commands::read,
    .read_observation = read_common_observation,
};

} // namespace

constinit lock_kind const fenced = counted;
// Only the reader's address is taken.
// NOLINTNEXTLINE(cppcoreguidelines-interfaces-global-init)
constinit lock_kind const fenced_writer = with_readers(counted, fenced_reader, make_fenced_writer_commands);

void append_marker(std::string& out, std::string_view marker)
{
    redis::append_argument(out, marker);
}

} // namespace redlock::kind
