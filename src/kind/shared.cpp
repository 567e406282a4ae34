#include "kind/shared.hpp"

#include "core/attempt.hpp"
#include "kind/basics.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/scripts.hpp"
#include "redis/writer.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::kind {

namespace {

template <class Number>
void append_number(std::string& out, Number number)
{
    redis::append_argument(out, std::string_view(redis::digits(static_cast<std::uint64_t>(number))));
}

/// Only votes differ: what was a reader may have become a writer.
class gated_commands final : public commands {
public:
    gated_commands(std::chrono::milliseconds key, bool reads) : time_(milliseconds(key)), reads_(reads) {}

    void append(std::string& out, request what, subject const& whose, redis::script_form form) const override
    {
        switch (what) {
        case request::vote: return append_vote(out, whose, form);
        case request::extend: return append_keyed(out, extension, form, whose, time_);
        case request::downgrade: return append_keyed(out, downgrading, form, whose, time_);
        case request::upgrade: return append_keyed(out, upgrading, form, whose, time_);
        case request::adopt: return append_keyed(out, adoption, form, whose, time_);
        default:
            return reads_ ? append_constant<true>(out, what, whose, form)
                          : append_constant<false>(out, what, whose, form);
        }
    }

    template <bool Reads>
    static std::unique_ptr<commands const> make(std::string_view, lifetimes const& times)
    {
        return std::make_unique<gated_commands const>(times.key, Reads);
    }

    /// What has no lifetimes in it.
    template <bool Reads>
    static void append_constant(std::string& out, request what, subject const& whose, redis::script_form form)
    {
        if (what != request::release)
            return append_common(out, what, whose, form);
        append_to_gate(out, giving_back, form, whose);
        append_number(out, mark_life.count());
        append_number(out, whose.turn.count() == 0 ? 0 : 1);
        append_number(out, Reads ? 1 : 0);
    }

    static answer read(request what, redis::resp_node const& reply)
    {
        return read_common(tells_who(what) ? request::claim : what, reply);
    }

    static sighting read_sighting(request what, redis::resp_node const& reply)
    {
        if (!tells_who(what))
            return read_common_sighting(what, reply);
        auto seen = read_common_sighting(request::claim, reply);
        if (seen.owner == owner_id("READERS"))
            seen.who = sighting::holder::readers;
        else if (seen.owner == owner_id("WRITER"))
            seen.who = sighting::holder::waiting_writer;
        if (seen.who != sighting::holder::owner)
            seen.owner = 0;
        return seen;
    }

    static bool tells_who(request what) { return what == request::vote || what == request::upgrade; }

    static constexpr std::array questions{request::owner, request::time_left};

private:
    static constexpr redis::script_call shared_vote{redis::scripts::shared_vote, 2, 6};
    static constexpr redis::script_call exclusive_vote{redis::scripts::exclusive_vote, 2, 6};
    static constexpr redis::script_call extension{redis::scripts::shared_extend, 1, 3};
    static constexpr redis::script_call downgrading{redis::scripts::downgrade, 1, 3};
    static constexpr redis::script_call upgrading{redis::scripts::upgrade, 1, 3};
    /// A writer's alone: a reader's key may be that of others, too.
    static constexpr redis::script_call adoption{redis::scripts::extend, 1, 3};
    static constexpr redis::script_call giving_back{redis::scripts::shared_release, 2, 6};

    static void append_to_gate(std::string& out, redis::script_call const& call, redis::script_form form,
                               subject const& whose)
    {
        append_with_key_beside(out, call, form, whose.key, gate_suffix, nonce_header, checked(whose.nonce),
                               redis::crlf);
    }

    void append_vote(std::string& out, subject const& whose, redis::script_form form) const
    {
        append_to_gate(out, reads_ ? shared_vote : exclusive_vote, form, whose);
        out += time_;
        if (reads_)
            append_number(out, whose.turn.count());
        append_number(out, mark_life.count());
        if (!reads_)
            append_number(out, whose.turn.count() == 0 ? 0 : 1);
    }

    std::string time_;
    bool reads_;
};

template <bool Reads>
constexpr lock_kind gated{
    .agreement = core::agreement::majority,
    .marked = false,
    .gated = true,
    .shared = Reads,
    .as_reader = &reader,
    .scripts = {Reads ? &redis::scripts::shared_vote : &redis::scripts::exclusive_vote, nullptr, nullptr,
                &redis::scripts::shared_extend, &redis::scripts::downgrade, &redis::scripts::upgrade,
                &redis::scripts::extend, &redis::scripts::shared_release},
    .inspection = gated_commands::questions,
    .make_commands = gated_commands::make<Reads>,
    .append = gated_commands::append_constant<Reads>,
    .read = gated_commands::read,
    .read_sighting = gated_commands::read_sighting,
};

} // namespace

constinit lock_kind const reader = gated<true>;
constinit lock_kind const writer = gated<false>;

} // namespace redlock::kind
