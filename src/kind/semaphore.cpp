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
#include <redlock/node_outcome.hpp>

#include <array>
#include <cstddef>
#include <memory>

namespace redlock::kind {

namespace {

constexpr std::size_t longest_slot = 5; ///< with the space before it

template <class Number>
bool take_number(std::string_view& text, Number& number)
{
    return redis::read_number(redis::take_word(text), number);
}

/// The lock and what stands beside it; with fences these and the node's marker behind, and what is for them behind the
/// other arguments.
class slot_commands final : public commands {
public:
    explicit slot_commands(std::chrono::milliseconds key) : time_(milliseconds(key)) {}
    slot_commands(std::string_view key_prefix, lifetimes const& times)
        : time_(milliseconds(times.key)), fence_time_(milliseconds(times.number))
    {
        redis::append_argument(marker_key_, redis::name_beside(key_prefix, redis::marker_name));
    }

    void append(std::string& out, request what, subject const& whose, redis::script_form form) const override
    {
        switch (what) {
        case request::vote:
        case request::claim: return append_vote(out, whose, form);
        case request::write_back: return append_extension(out, whose, "raise", form);
        case request::extend: return append_extension(out, whose, "", form);
        default: return append_constant(out, what, whose, form);
        }
    }

    static std::unique_ptr<commands const> make(std::string_view, lifetimes const& times)
    {
        return std::make_unique<slot_commands const>(times.key);
    }
    static std::unique_ptr<commands const> make_fenced(std::string_view key_prefix, lifetimes const& times)
    {
        return std::make_unique<slot_commands const>(key_prefix, times);
    }

    /// What has no lifetimes in it.
    static void append_constant(std::string& out, request what, subject const& whose, redis::script_form form)
    {
        switch (what) {
        case request::release:
        case request::give_back:
            append_to_line(out, redis::scripts::slots_release, whose, form);
            redis::append_argument(out, whose.slots);
            redis::append_argument(out, whose.queue.position);
            return redis::append_argument(out, whose.partly ? "" : "whole");
        case request::enter:
            append_to_line(out, redis::scripts::slots_enter, whose, form);
            redis::append_argument(out, whose.queue.position);
            out += milliseconds(queue_life);
            return append_number(out, longest_queue);
        default: return append_common(out, what, whose, form);
        }
    }

    static answer read(request what, redis::resp_node const& reply)
    {
        using meaning = answer::meaning;
        if (auto const given = read_grant(reply))
            return {.what = meaning::granted, .number = given->number};
        switch (what) {
        case request::vote: return read_common(request::claim, reply);
        case request::release: return read_common(request::give_back, reply);
        default: return read_common(what, reply);
        }
    }

    static sighting read_sighting(request what, redis::resp_node const& reply)
    {
        auto seen = read_common_sighting(what == request::vote ? request::claim : what, reply);
        if (seen.owner == owner_id("FULL")) {
            seen.owner = 0;
            seen.who = holder_kind::permits;
        }
        return seen;
    }

    static constexpr std::array questions{request::owner, request::time_left};

private:
    [[nodiscard]] bool counts() const { return !marker_key_.empty(); }

    static void append_to_line(std::string& out, redis::script const& which, subject const& whose,
                               redis::script_form form)
    {
        append_call_head(out, which, form, 3, 4);
        append_key(out, whose.key, {});
        append_key(out, whose.key, slots_suffix);
        append_key(out, whose.key, slot_line_suffix);
        redis::append_argument(out, checked(whose.nonce));
    }

    void append_to_slots(std::string& out, redis::script const& which, std::size_t arguments,
                         subject const& whose, redis::script_form form) const
    {
        bool const votes = &which == &redis::scripts::slots_vote;
        append_call_head(out, which, form, (votes ? 3 : 2) + (counts() ? 2 : 0),
                         counts() ? arguments + 3 : arguments);
        append_key(out, whose.key, {});
        append_key(out, whose.key, slots_suffix);
        if (votes)
            append_key(out, whose.key, slot_line_suffix);
        if (counts()) {
            append_key(out, whose.key, slot_fences_suffix);
            out += marker_key_;
        }
        redis::append_argument(out, checked(whose.nonce));
        out += time_;
    }

    void append_vote(std::string& out, subject const& whose, redis::script_form form) const
    {
        append_to_slots(out, redis::scripts::slots_vote, 7, whose, form);
        append_number(out, whose.wanted.limit);
        redis::append_argument(out, whose.slots);
        append_number(out, whose.wanted.count);
        append_number(out, whose.first_slot);
        redis::append_argument(out, whose.giver);
        if (!counts())
            return;
        out += fence_time_;
        append_number(out, whose.number);
    }

    void append_extension(std::string& out, subject const& whose, std::string_view how,
                          redis::script_form form) const
    {
        append_to_slots(out, redis::scripts::slots_extend, counts() ? 4 : 3, whose, form);
        redis::append_argument(out, whose.slots);
        if (!counts())
            return;
        out += fence_time_;
        append_number(out, whose.number);
        redis::append_argument(out, how);
    }

    std::string time_;
    std::string fence_time_{}; ///< no text, and neither the marker: there are no fences
    std::string marker_key_{};
};

template <bool Counts>
constexpr lock_kind with_slots{
    .agreement = Counts ? core::agreement::one_number : core::agreement::majority,
    .marked = Counts,
    .slotted = true,
    .scripts = {&redis::scripts::slots_vote, &redis::scripts::slots_vote,
                Counts ? &redis::scripts::slots_extend : nullptr, &redis::scripts::slots_extend, nullptr,
                nullptr, &redis::scripts::slots_release, &redis::scripts::slots_release,
                &redis::scripts::slots_enter, &redis::scripts::whose},
    .inspection = slot_commands::questions,
    .make_commands = Counts ? slot_commands::make_fenced : slot_commands::make,
    .append = slot_commands::append_constant,
    .read = slot_commands::read,
    .read_sighting = slot_commands::read_sighting,
};

} // namespace

constinit lock_kind const semaphore = with_slots<false>;
constinit lock_kind const fenced_semaphore = with_slots<true>;

/// Its scripts read the same columns, behind the nonce and without the kind.
std::string slot_place(std::chrono::milliseconds window, permits wanted, std::string_view channel)
{
    std::string const any_nonce(redis::nonce_length, '0');
    return position(any_nonce, waiter_kind::permits, window, wanted, channel).substr(any_nonce.size() + 1);
}

std::optional<grant> read_grant(redis::resp_node const& reply)
{
    std::string_view text = reply.text;
    grant given;
    if (reply.type != redis::resp_type::bulk_string || redis::take_word(text) != "GIVEN" ||
        !take_number(text, given.number) || !take_number(text, given.taken) || given.number >= fence_end)
        return std::nullopt;
    given.slots = text;
    return given;
}

slot_list::slot_list(permits wanted) : wanted_(wanted)
{
    text_.reserve(longest_slot * wanted.count);
    numbers_.reserve(wanted.count);
}

/// They are in ascending order, which makes what two nodes write the same.
bool slot_list::assign(std::string_view written) noexcept
{
    clear();
    std::string_view rest = written;
    for (unsigned slot = 0; numbers_.size() != wanted_.count;
         numbers_.push_back(static_cast<std::uint16_t>(slot)))
        if (!take_number(rest, slot) || slot >= wanted_.limit ||
            (!numbers_.empty() && slot <= numbers_.back()))
            break;
    if (numbers_.size() != wanted_.count || !rest.empty() || written.size() > text_.capacity()) {
        clear();
        return false;
    }
    text_ = written;
    return true;
}

void slot_list::clear() noexcept
{
    text_.clear();
    numbers_.clear();
}

} // namespace redlock::kind
