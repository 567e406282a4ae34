// SPDX-License-Identifier: BSL-1.0
// rules S4 and S10
#include "kind/shared.hpp"

#include "core/attempt.hpp"
#include "kind/basics.hpp"
#include "kind/fenced.hpp"
#include "kind/queue.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/scripts.hpp"
#include "redis/writer.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::kind {

namespace {

/// A reader's scripts also get the queue. With a fence, the keys and arguments for it follow the others.
class reader_commands final : public commands {
public:
    explicit reader_commands(std::chrono::milliseconds key) : time_(milliseconds(key)) {}
    reader_commands(std::string_view key_prefix, lifetimes const& times)
        : time_(milliseconds(times.key)), fence_time_(milliseconds(times.number)),
          quarantine_(times.quarantine), fenced_(fenced.make_commands(key_prefix, times))
    {
        redis::append_argument(marker_key_, redis::joined_name(key_prefix, redis::marker_name));
    }

    void append(std::string& out, request what, command_arguments const& args,
                redis::script_form form) const override
    {
        switch (what) {
        case request::vote:
        case request::claim: return append_vote(out, args, form);
        case request::extend: return append_renewal(out, args, form, waiter_kind::shared);
        case request::write_back: return fenced_->append(out, what, args, form);
        default: return append_without_times(out, what, args, form);
        }
    }

    static std::unique_ptr<commands const> make(std::string_view, lifetimes const& times)
    {
        return std::make_unique<reader_commands const>(times.key);
    }
    static std::unique_ptr<commands const> make_fenced(std::string_view key_prefix, lifetimes const& times)
    {
        return std::make_unique<reader_commands const>(key_prefix, times);
    }

    /// Appends requests that do not depend on lifetimes.
    static void append_without_times(std::string& out, request what, command_arguments const& args,
                                     redis::script_form form)
    {
        switch (what) {
        case request::number: return fenced.append(out, what, args, form);
        case request::release:
        case request::give_back: return append_give_back(out, form, args, what, waiter_kind::shared);
        default: return append_common(out, what, args, form);
        }
    }

    /// Appends the renewal of a reader, or of a writer that stays one.
    void append_renewal(std::string& out, command_arguments const& args, redis::script_form form,
                        waiter_kind as) const
    {
        constexpr std::string_view no_permits, renews;
        append_call(out, fenced_ ? fenced_renewal : renewal, args, form, as);
        if (!fenced_)
            return;
        redis::append_argument(out, no_permits);
        out += fence_time_;
        append_number(out, args.number);
        redis::append_argument(out, renews);
    }

    template <bool Counts>
    static answer read(request what, redis::resp_node const& reply)
    {
        if (what == request::release)
            return read_common(request::give_back, reply);
        return Counts ? fenced.read(what, reply) : read_common(what, reply);
    }

    static constexpr std::array questions{request::owner, request::time_left};
    static constexpr std::array fenced_questions{request::owner, request::time_left, request::number};

private:
    static constexpr redis::script_call vote{redis::scripts::vote, 2, 6};
    static constexpr redis::script_call fenced_vote{redis::scripts::vote, 4, 11};
    static constexpr redis::script_call renewal{redis::scripts::renew, 2, 5};
    static constexpr redis::script_call fenced_renewal{redis::scripts::renew, 4, 12};

    void append_call(std::string& out, redis::script_call const& call, command_arguments const& args,
                     redis::script_form form, waiter_kind as) const
    {
        append_with_second_key(out, call, form, args.key, queue_suffix);
        if (fenced_) {
            append_key(out, args.key, fence_suffix);
            out += marker_key_;
        }
        char const kind[] = {static_cast<char>(as)};
        redis::append_argument(out, std::string_view(kind, 1));
        redis::append_all(out, nonce_header, checked(args.nonce), redis::crlf, time_);
    }

    void append_vote(std::string& out, command_arguments const& args, redis::script_form form) const
    {
        append_call(out, fenced_ ? fenced_vote : vote, args, form, waiter_kind::shared);
        redis::append_argument(out, args.previous_owner);
        if (!fenced_)
            return;
        out += fence_time_;
        append_number(out, static_cast<std::uint64_t>(quarantine_.count()));
    }

    std::string time_;
    std::string fence_time_{}; ///< empty without a fence, as `fenced_` is
    std::chrono::milliseconds quarantine_{};
    std::string marker_key_{};
    std::unique_ptr<commands const> fenced_{};
};

/// The commands of an exclusive lock. With a fence, a key that is gone is not set again: a reader may have come and
/// gone, and readers do not count (rule S16).
template <bool Counts>
class writer_commands final : public commands {
public:
    writer_commands(std::unique_ptr<commands const> exclusive, std::unique_ptr<reader_commands const> reader)
        : exclusive_(std::move(exclusive)), reader_(std::move(reader))
    {}

    void append(std::string& out, request what, command_arguments const& args,
                redis::script_form form) const override
    {
        if (what == request::downgrade)
            reader_->append_renewal(out, args, form, waiter_kind::shared);
        else if (Counts && what == request::extend)
            reader_->append_renewal(out, args, form, waiter_kind::exclusive);
        else
            exclusive_->append(out, what, args, form);
    }

private:
    std::unique_ptr<commands const> exclusive_;
    std::unique_ptr<reader_commands const> reader_;
};

template <bool Counts>
constexpr lock_kind readers{
    .agreement = Counts ? core::agreement::one_number : core::agreement::majority,
    .marked = Counts,
    .shared = true,
    .as_reader = Counts ? &fenced_reader : &reader,
    .watches = watching::nothing,
    .passes_to = handoff::nobody,
    .scripts = scripts_of({{request::vote, &redis::scripts::vote},
                           {request::claim, &redis::scripts::vote},
                           {request::write_back, Counts ? &redis::scripts::fenced_raise : nullptr},
                           {request::extend, &redis::scripts::renew},
                           {request::downgrade, &redis::scripts::renew},
                           {request::release, &redis::scripts::give_back},
                           {request::give_back, &redis::scripts::give_back},
                           {request::enter, &redis::scripts::enter},
                           {request::whose, &redis::scripts::whose}}),
    .inspection = Counts ? std::span<request const>(reader_commands::fenced_questions)
                         : std::span<request const>(reader_commands::questions),
    .make_commands = Counts ? reader_commands::make_fenced : reader_commands::make,
    .append = reader_commands::append_without_times,
    .read = reader_commands::read<Counts>,
    .read_observation = read_common_observation,
};

} // namespace

constinit lock_kind const reader = readers<false>;
constinit lock_kind const fenced_reader = readers<true>;

std::unique_ptr<commands const> make_writer_commands(std::string_view key_prefix, lifetimes const& times)
{
    return std::make_unique<writer_commands<false> const>(plain.make_commands(key_prefix, times),
                                                          std::make_unique<reader_commands const>(times.key));
}

std::unique_ptr<commands const> make_fenced_writer_commands(std::string_view key_prefix,
                                                            lifetimes const& times)
{
    return std::make_unique<writer_commands<true> const>(
        fenced.make_commands(key_prefix, times), std::make_unique<reader_commands const>(key_prefix, times));
}

} // namespace redlock::kind
