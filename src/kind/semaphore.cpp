// SPDX-License-Identifier: BSL-1.0
#include "kind/semaphore.hpp"

#include "core/attempt.hpp"
#include "kind/basics.hpp"
#include "kind/fenced.hpp"
#include "kind/queue.hpp"
#include "redis/command.hpp"
#include "redis/script.hpp"
#include "redis/scripts.hpp"
#include "redis/text_number.hpp"
#include "redis/writer.hpp"

#include <array>
#include <cassert>
#include <chrono>
#include <memory>

namespace redlock::kind {

namespace {

/// Votes, claims and renewals are scripts that all kinds of lock share. With a fence, its keys and arguments follow the others.
class permit_commands final : public commands {
public:
    explicit permit_commands(std::chrono::milliseconds key) : time_(milliseconds(key)) {}
    permit_commands(std::string_view key_prefix, lifetimes const& times)
        : time_(milliseconds(times.key)), fence_time_(milliseconds(times.number))
    {
        redis::append_argument(marker_key_, redis::joined_name(key_prefix, redis::marker_name));
    }

    void append(std::string& out, request what, command_arguments const& args,
                redis::script_form form) const override
    {
        switch (what) {
        case request::vote:
        case request::claim: return append_vote(out, args, form);
        case request::write_back: return append_renewal(out, args, "raise", form);
        case request::extend: return append_renewal(out, args, "", form);
        default: return append_without_times(out, what, args, form);
        }
    }

    static std::unique_ptr<commands const> make(std::string_view, lifetimes const& times)
    {
        return std::make_unique<permit_commands const>(times.key);
    }
    static std::unique_ptr<commands const> make_fenced(std::string_view key_prefix, lifetimes const& times)
    {
        return std::make_unique<permit_commands const>(key_prefix, times);
    }

    /// Appends requests that do not depend on lifetimes.
    static void append_without_times(std::string& out, request what, command_arguments const& args,
                                     redis::script_form form)
    {
        bool const releases = what == request::release || what == request::give_back;
        releases ? append_give_back(out, form, args, what, waiter_kind::permits)
                 : append_common(out, what, args, form);
    }

    static answer read(request what, redis::resp_node const& reply)
    {
        if (auto const given = read_grant(what, reply))
            return {.what = answer::meaning::granted, .number = given->number};
        return read_common(what == request::release ? request::give_back : what, reply);
    }

    static constexpr std::array questions{request::owner, request::time_left};

private:
    [[nodiscard]] bool counts() const { return !marker_key_.empty(); }

    void append_call(std::string& out, redis::script const& which, std::size_t arguments,
                     std::size_t arguments_of_fence, command_arguments const& args,
                     redis::script_form form) const
    {
        append_call_head(out, which, form, counts() ? 4 : 2, arguments + (counts() ? arguments_of_fence : 0));
        append_key(out, args.key, {});
        append_key(out, args.key, queue_suffix);
        if (counts()) {
            append_key(out, args.key, permit_fences_suffix);
            out += marker_key_;
        }
        redis::append_all(out, "$1\r\np\r\n", nonce_header, checked(args.nonce), redis::crlf, time_);
    }

    // rule P3
    void append_vote(std::string& out, command_arguments const& args, redis::script_form form) const
    {
        append_call(out, redis::scripts::vote, 9, 3, args, form);
        redis::append_argument(out, args.previous_owner);
        auto const [limit, count] = permits_of(args.terms);
        append_number(out, count);
        append_number(out, limit);
        append_number(out, args.start);
        redis::append_argument(out, args.numbers);
        redis::append_argument(out, args.given);
        if (!counts())
            return;
        out += fence_time_;
        append_number(out, args.number);
    }

    void append_renewal(std::string& out, command_arguments const& args, std::string_view how,
                        redis::script_form form) const
    {
        append_call(out, redis::scripts::renew, 4, 4, args, form);
        redis::append_argument(out, args.numbers);
        if (!counts())
            return;
        out += fence_time_;
        append_number(out, args.number);
        redis::append_argument(out, how);
    }

    std::string time_;
    std::string fence_time_{}; ///< empty without fences, as the marker's key is
    std::string marker_key_{};
};

template <bool Counts>
constexpr lock_kind with_permits{
    .agreement = Counts ? core::agreement::one_number : core::agreement::majority,
    .marked = Counts,
    .has_permits = true,
    .watches = watching::nothing,
    .passes_to = handoff::nobody,
    .scripts = scripts_of({{request::vote, &redis::scripts::vote},
                           {request::claim, &redis::scripts::vote},
                           {request::write_back, Counts ? &redis::scripts::renew : nullptr},
                           {request::extend, &redis::scripts::renew},
                           {request::release, &redis::scripts::give_back},
                           {request::give_back, &redis::scripts::give_back},
                           {request::enter, &redis::scripts::enter},
                           {request::whose, &redis::scripts::whose}}),
    .inspection = permit_commands::questions,
    .make_commands = Counts ? permit_commands::make_fenced : permit_commands::make,
    .append = permit_commands::append_without_times,
    .read = permit_commands::read,
    .read_observation = read_common_observation,
};

} // namespace

constinit lock_kind const semaphore = with_permits<false>;
constinit lock_kind const fenced_semaphore = with_permits<true>;

lock_terms terms_of(permits wanted)
{
    return std::to_string(wanted.limit) + ' ' + std::to_string(wanted.count);
}

permits permits_of(std::string_view text) noexcept
{
    permits found;
    bool const read =
        redis::read_number(redis::take_word(text), found.limit) && redis::read_number(text, found.count);
    return read ? found : permits();
}

std::optional<grant> read_grant(request what, redis::resp_node const& reply)
{
    std::string_view text = reply.text;
    if (reply.type != redis::resp_type::bulk_string || redis::take_word(text) != "GIVEN")
        return std::nullopt;
    grant given;
    if (what != request::enter &&
        (!redis::read_number(redis::take_word(text), given.number) || given.number >= fence_end))
        return std::nullopt;
    given.permits = text;
    return given;
}

/// Permits must ascend, so that two nodes write the same set alike.
bool are_permits(permits wanted, std::string_view written) noexcept
{
    unsigned next = 0;
    unsigned count = 0;
    if (written.size() > longest_list(wanted))
        return false;
    for (unsigned number = 0; !written.empty() && count <= wanted.count; ++count, next = number + 1)
        if (!redis::read_number(redis::take_word(written), number) || number < next || number >= wanted.limit)
            return false;
    return count == wanted.count;
}

permit_list::permit_list(permits wanted)
{
    text_.reserve(longest_list(wanted));
    numbers_.reserve(wanted.count);
}

void permit_list::assign(std::string_view written) noexcept
{
    text_ = written;
    unsigned number = 0;
    while (redis::read_number(redis::take_word(written), number))
        numbers_.push_back(static_cast<std::uint16_t>(number));
}

} // namespace redlock::kind
