// SPDX-License-Identifier: BSL-1.0
#include "kind/shared.hpp"

#include "core/attempt.hpp"
#include "kind/basics.hpp"
#include "kind/fenced.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/scripts.hpp"
#include "redis/writer.hpp"
#include <redlock/node_outcome.hpp>

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

/// Only votes differ: what was a writer may have become a reader. With a fence the keys and arguments that are for it
/// stand behind the others.
class gated_commands final : public commands {
public:
    gated_commands(std::chrono::milliseconds key, bool reads) : time_(milliseconds(key)), reads_(reads) {}
    /// \param fenced what fenced locks say, and readers and writers alike
    gated_commands(std::string_view key_prefix, lifetimes const& times, bool reads,
                   std::unique_ptr<commands const> fenced)
        : time_(milliseconds(times.key)), reads_(reads), fenced_(std::move(fenced)),
          fence_time_(milliseconds(times.number)), quarantine_(times.quarantine)
    {
        redis::append_argument(marker_key_, redis::name_beside(key_prefix, redis::marker_name));
    }

    void append(std::string& out, request what, subject const& whose, redis::script_form form) const override
    {
        switch (what) {
        case request::vote: return append_vote(out, whose, form);
        case request::extend: return append_renewal(out, extension, fenced_extension, whose, form);
        case request::downgrade: return append_renewal(out, downgrading, fenced_downgrading, whose, form);
        case request::adopt:
            return fenced_ ? fenced_->append(out, what, whose, form)
                           : append_keyed(out, adoption, form, whose, time_);
        case request::write_back: return fenced_->append(out, what, whose, form);
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

    template <bool Reads>
    static std::unique_ptr<commands const> make_fenced(std::string_view key_prefix, lifetimes const& times)
    {
        return std::make_unique<gated_commands const>(key_prefix, times, Reads,
                                                      fenced.make_commands(key_prefix, times));
    }

    /// What has no lifetimes in it.
    template <bool Reads>
    static void append_constant(std::string& out, request what, subject const& whose, redis::script_form form)
    {
        if (what == request::number)
            return fenced.append(out, what, whose, form);
        if (what != request::release)
            return append_common(out, what, whose, form);
        append_to_gate(out, giving_back, form, whose);
        append_number(out, static_cast<std::uint64_t>(mark_life.count()));
        append_number(out, whose.turn.count() == 0 ? 0 : 1);
        append_number(out, Reads ? 1 : 0);
    }

    static answer read(request what, redis::resp_node const& reply)
    {
        return read_common(what == request::vote ? request::claim : what, reply);
    }

    static answer read_fenced(request what, redis::resp_node const& reply)
    {
        return fenced.read(what, reply);
    }

    static sighting read_sighting(request what, redis::resp_node const& reply)
    {
        if (what != request::vote)
            return read_common_sighting(what, reply);
        auto seen = read_common_sighting(request::claim, reply);
        if (seen.owner == owner_id("WRITER"))
            seen.who = holder_kind::waiting_writer;
        if (seen.who != holder_kind::owner)
            seen.owner = 0;
        return seen;
    }

    static constexpr std::array questions{request::owner, request::time_left};
    static constexpr std::array fenced_questions{request::owner, request::time_left, request::number};

private:
    static constexpr redis::script_call shared_vote{redis::scripts::shared_vote, 2, 6};
    static constexpr redis::script_call exclusive_vote{redis::scripts::exclusive_vote, 2, 6};
    static constexpr redis::script_call extension{redis::scripts::shared_extend, 1, 3};
    static constexpr redis::script_call downgrading{redis::scripts::downgrade, 1, 3};
    static constexpr redis::script_call fenced_shared_vote{redis::scripts::shared_vote, 4, 11};
    static constexpr redis::script_call fenced_exclusive_vote{redis::scripts::exclusive_vote, 4, 11};
    static constexpr redis::script_call fenced_extension{redis::scripts::shared_extend, 3, 8};
    static constexpr redis::script_call fenced_downgrading{redis::scripts::downgrade, 3, 8};
    /// A writer's alone: a reader's key may be that of others, too.
    static constexpr redis::script_call adoption{redis::scripts::extend, 1, 3};
    static constexpr redis::script_call giving_back{redis::scripts::shared_release, 2, 6};

    /// \param keys beside the lock and its gate
    template <class... Keys>
    static void append_to_gate(std::string& out, redis::script_call const& call, redis::script_form form,
                               subject const& whose, Keys const&... keys)
    {
        append_with_key_beside(out, call, form, whose.key, gate_suffix, keys..., nonce_header,
                               checked(whose.nonce), redis::crlf);
    }

    void append_to_gate_and_fence(std::string& out, redis::script_call const& call, redis::script_form form,
                                  subject const& whose) const
    {
        auto const& [prefix, name, several] = whose.key;
        append_to_gate(out, call, form, whose, std::string_view("$"),
                       redis::digits(prefix.size() + name.size() + fence_suffix.size()), redis::crlf, prefix,
                       name, fence_suffix, redis::crlf, marker_key_);
    }

    void append_vote(std::string& out, subject const& whose, redis::script_form form) const
    {
        if (fenced_)
            append_to_gate_and_fence(out, reads_ ? fenced_shared_vote : fenced_exclusive_vote, form, whose);
        else
            append_to_gate(out, reads_ ? shared_vote : exclusive_vote, form, whose);
        out += time_;
        if (reads_)
            append_number(out, static_cast<std::uint64_t>(whose.turn.count()));
        append_number(out, static_cast<std::uint64_t>(mark_life.count()));
        if (!reads_)
            append_number(out, whose.turn.count() == 0 ? 0 : 1);
        out += fence_time_;
        if (fenced_)
            append_number(out, reads_ ? static_cast<std::uint64_t>(quarantine_.count()) : whose.number);
    }

    void append_renewal(std::string& out, redis::script_call const& plain, redis::script_call const& fenced,
                        subject const& whose, redis::script_form form) const
    {
        if (!fenced_)
            return append_keyed(out, plain, form, whose, time_);
        append_with_key_beside(out, fenced, form, whose.key, fence_suffix, marker_key_, nonce_header,
                               checked(whose.nonce), redis::crlf, time_, fence_time_);
        append_number(out, whose.number);
    }

    std::string time_;
    bool reads_;
    std::unique_ptr<commands const> fenced_{}; ///< null, and no text: there is no fence
    std::string fence_time_{};
    std::chrono::milliseconds quarantine_{};
    std::string marker_key_{};
};

template <bool Reads, bool Counts>
constexpr lock_kind gated{
    .agreement = Counts ? core::agreement::one_number : core::agreement::majority,
    .marked = Counts,
    .gated = true,
    .shared = Reads,
    .as_reader = Counts ? &fenced_reader : &reader,
    .scripts = {Reads ? &redis::scripts::shared_vote : &redis::scripts::exclusive_vote, nullptr,
                Counts ? &redis::scripts::fenced_raise : nullptr, &redis::scripts::shared_extend,
                &redis::scripts::downgrade, Counts ? &redis::scripts::fenced_adopt : &redis::scripts::extend,
                &redis::scripts::shared_release, nullptr, nullptr, &redis::scripts::whose},
    .inspection = Counts ? std::span<request const>(gated_commands::fenced_questions)
                         : std::span<request const>(gated_commands::questions),
    .make_commands = Counts ? gated_commands::make_fenced<Reads> : gated_commands::make<Reads>,
    .append = gated_commands::append_constant<Reads>,
    .read = Counts ? gated_commands::read_fenced : gated_commands::read,
    .read_sighting = gated_commands::read_sighting,
};

} // namespace

constinit lock_kind const reader = gated<true, false>;
constinit lock_kind const writer = gated<false, false>;
constinit lock_kind const fenced_reader = gated<true, true>;
constinit lock_kind const fenced_writer = gated<false, true>;

} // namespace redlock::kind
