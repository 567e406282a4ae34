// SPDX-License-Identifier: BSL-1.0
// rule M2
#include "kind/multi.hpp"

#include "core/attempt.hpp"
#include "core/fencing.hpp"
#include "kind/basics.hpp"
#include "kind/fenced.hpp"
#include "kind/kind.hpp"
#include "kind/queue.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/script.hpp"
#include "redis/scripts.hpp"
#include "redis/text_number.hpp"
#include "redis/writer.hpp"
#include <redlock/node_outcome.hpp>

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::kind {

namespace {

/// All commands that take, renew or raise have the same arguments: the locks and, with a fence, that of each, and the
/// node's marker; then how many locks, the nonce, the time, a word for one script alone, the fence's time and number.
class multi_commands final : public commands {
public:
    explicit multi_commands(std::chrono::milliseconds key) : time_(milliseconds(key)) {}
    multi_commands(std::string_view key_prefix, lifetimes const& times)
        : time_(milliseconds(times.key)), fence_time_(milliseconds(times.number))
    {
        redis::append_argument(marker_key_, redis::joined_name(key_prefix, redis::marker_name));
    }

    void append(std::string& out, request what, command_arguments const& args,
                redis::script_form form) const override
    {
        switch (what) {
        case request::vote:
        case request::claim:
            return append_call(out, redis::scripts::multi_vote, args, args.previous_owner, form);
        case request::write_back: return append_call(out, redis::scripts::multi_raise, args, {}, form);
        case request::extend: return append_call(out, redis::scripts::multi_extend, args, {}, form);
        case request::adopt: // "1": the locks were granted to another client
            return append_call(out, redis::scripts::multi_extend, args, "1", form);
        default: return append_without_times(out, what, args, form);
        }
    }

    static std::unique_ptr<commands const> make(std::string_view, lifetimes const& times)
    {
        return std::make_unique<multi_commands const>(times.key);
    }
    static std::unique_ptr<commands const> make_fenced(std::string_view key_prefix, lifetimes const& times)
    {
        return std::make_unique<multi_commands const>(key_prefix, times);
    }

    /// Appends requests that do not depend on lifetimes. A question is about one of the names.
    static void append_without_times(std::string& out, request what, command_arguments const& args,
                                     redis::script_form form)
    {
        if (what != request::release && what != request::give_back)
            return append_common(out, what, args, form);
        bool const serves = what == request::give_back;
        std::size_t const count = args.key.several.size();
        append_call_head(out, redis::scripts::multi_release, form, serves ? 2 * count : count, 4);
        append_names(out, args.key, {});
        if (serves)
            append_names(out, args.key, queue_suffix);
        redis::append_argument(out, checked(args.nonce));
        append_number(out, count);
        redis::append_argument(out, std::string_view(args.queue.leaves_free ? "free" : "take"));
        append_number(out, static_cast<std::uint64_t>(args.queue.time.count()));
    }

    template <bool Counts>
    static answer read(request what, redis::resp_node const& reply)
    {
        if (what != request::vote && what != request::claim)
            return read_common(what, reply);
        if (auto const held = read_held(reply))
            return {.what = answer::meaning::denied, .number = held->number};
        if constexpr (Counts)
            return fenced.read(request::vote, reply);
        return read_script(reply);
    }

    static key_observation read_observation(request what, redis::resp_node const& reply)
    {
        switch (what) {
        case request::vote:
        case request::claim: return read_held(reply).value_or(refusal{}).seen;
        case request::extend:
        case request::adopt: return {.which = index_of(-1 - reply.number)};
        default: return read_common_observation(what, reply);
        }
    }

private:
    static std::uint8_t index_of(std::int64_t number)
    {
        constexpr auto end = static_cast<std::int64_t>(most_names);
        return static_cast<std::uint8_t>(number >= 0 && number < end ? number : 0);
    }

    /// "HELD <milliseconds left> <number> <which> <start of the owner's nonce>"
    static std::optional<refusal> read_held(redis::resp_node const& reply)
    {
        auto held = read_refusal("HELD", reply);
        std::string_view rest = reply.text;
        for (int words = 0; held && words != 3; ++words)
            rest.remove_prefix(rest.find(' ') + 1);
        auto const space = rest.find(' ');
        std::int64_t which = 0;
        if (!held || space == rest.npos || !redis::read_number(rest.substr(0, space), which))
            return std::nullopt;
        held->seen.which = index_of(which);
        rest.remove_prefix(space + 1);
        held->seen.owner = owner_id(rest);
        held->seen.who = rest.empty()        ? holder_kind::maybe_readers
                         : rest == "READERS" ? holder_kind::readers
                         : rest == "PERMITS" ? holder_kind::permits
                                             : holder_kind::owner;
        if (held->seen.who != holder_kind::owner)
            held->seen.owner = 0;
        return held;
    }

    static void append_names(std::string& out, redis::lock_key const& key, std::string_view suffix)
    {
        assert(!key.several.empty() && key.several.size() <= most_names);
        for (std::string const& name : key.several)
            append_key(out, {key.prefix, name}, suffix);
    }

    [[nodiscard]] bool counts() const { return !marker_key_.empty(); }

    /// \param more arguments of one of the scripts alone
    void append_call(std::string& out, redis::script const& which, command_arguments const& args,
                     std::string_view more, redis::script_form form) const
    {
        std::size_t const count = args.key.several.size();
        append_call_head(out, which, form, counts() ? 2 * count + 1 : count, counts() ? 7 : 4);
        append_names(out, args.key, {});
        if (counts()) {
            append_names(out, args.key, fence_suffix);
            out += marker_key_;
        }
        append_number(out, count);
        redis::append_all(out, nonce_header, checked(args.nonce), redis::crlf, time_);
        redis::append_argument(out, more);
        out += fence_time_;
        if (counts())
            append_number(out, args.number);
    }

    std::string time_;
    std::string fence_time_{}; ///< empty without fences, as the marker is
    std::string marker_key_{};
};

template <bool Counts>
constexpr lock_kind several_names{
    .agreement = Counts ? core::agreement::one_number : core::agreement::majority,
    .marked = Counts,
    .several = true,
    .watches = watching::extensions,
    .most_handoffs = Counts ? core::max_hand_offs : std::numeric_limits<std::uint32_t>::max(),
    .scripts = scripts_of({{request::vote, &redis::scripts::multi_vote},
                           {request::claim, &redis::scripts::multi_vote},
                           {request::write_back, Counts ? &redis::scripts::multi_raise : nullptr},
                           {request::extend, &redis::scripts::multi_extend},
                           {request::adopt, &redis::scripts::multi_extend},
                           {request::release, &redis::scripts::multi_release},
                           {request::give_back, &redis::scripts::multi_release},
                           {request::whose, &redis::scripts::whose}}),
    .inspection = {}, // it is asked for each of its names
    .make_commands = Counts ? multi_commands::make_fenced : multi_commands::make,
    .append = multi_commands::append_without_times,
    .read = multi_commands::read<Counts>,
    .read_observation = multi_commands::read_observation,
};

} // namespace

constinit lock_kind const multi = several_names<false>;
constinit lock_kind const fenced_multi = several_names<true>;

} // namespace redlock::kind
