// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/node_group.hpp"
#include "kind/kind.hpp"
#include "net/broadcast.hpp"
#include "net/connect.hpp"
#include "net/node.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace redlock::detail {

/// Sends commands about one lock to nodes, and gives each answer back as a value: votes, write-backs, extensions, releases,
/// probes and inspections. A command is sent once. If the node did not execute it because of its form, such as an
/// unknown script, it is sent once more in another form (docs/protocol.md, rule A7).
///
/// `Self`, which derives from it, supplies
/// - `node_group& nodes()`, `kind::lock_kind const& type()`,
/// - `void append(std::string& out, kind::request, redis::script_form)`: the command,
/// - `void on_answer(node_answer const&)`,
/// - `void on_silence(unsigned node, kind::request, bool late, net::failure const&)`: there will be none,
/// - `void on_drained()` after the last reply has been dealt with,
/// and may replace what has a default here, such as `append_for`, if the nodes are told different things.
template <class Self>
class round : private net::reply_sink {
protected:
    round() = default;
    ~round() = default;

    void append_for(unsigned /*node*/, std::string& out, kind::request what, redis::script_form form)
    {
        self().append(out, what, form);
    }
    /// May the command still be sent in another form?
    // rule A7
    [[nodiscard]] bool repeats(unsigned, kind::request, bool /*late*/) const { return false; }
    /// The command has been sent in another form.
    void on_repeated(unsigned, kind::request) {}
    /// Called before the first reply is awaited.
    void on_busy() {}

    /// From now on the answers to what was sent before are late.
    void open_round() { ++number_; }
    [[nodiscard]] std::uint32_t round_number() const { return number_; }
    [[nodiscard]] bool drained() const { return outstanding_ == 0; }

    void send(unsigned node, kind::request what)
    {
        net::node& to = self().nodes().at(node);
        send(to, what, form_for(to, what));
    }
    /// Sends the script's text, because the node may not know its hash.
    void send_in_full(unsigned node, kind::request what)
    {
        net::node& to = self().nodes().at(node);
        send(to, what, native_for(to, what).value_or(redis::script_form::text));
    }

    /// Sends the same command to all nodes, if all can be asked now, and in the same form. False: nothing is sent.
    [[nodiscard]] bool send_to_all(kind::request what)
    {
        node_group& group = self().nodes();
        net::broadcast& all = group.to_all();
        if (self().type().marks(what) || !all.ensure_can_send())
            return false;
        auto const form = form_for(group.at(0), what);
        for (unsigned i = 1; i != group.size(); ++i)
            if (form_for(group.at(i), what) != form)
                return false;
        if (form == redis::script_form::text) // which is long
            return false;
        self().append(all.output(), what, form);
        if (outstanding_ == 0)
            self().on_busy();
        outstanding_ += group.size();
        all.expect(*this, tag(what, form));
        return true;
    }

    /// Sends again a release that failed unsent because it waited for a connection. Returns false if the node is away.
    [[nodiscard]] bool send_release_again(unsigned node, net::failure const& why)
    {
        if (!why.unsent || !self().nodes().at(node).ensure_can_release())
            return false;
        send_in_full(node, self().type().release_request());
        return true;
    }

private:
    // A tag: the number of the round, the request, whether it is sent again, the form.
    static constexpr std::uint32_t form_mask = 3;
    static constexpr std::uint32_t again = 4;
    static constexpr unsigned request_shift = 3;
    static constexpr unsigned number_shift = 7;
    static constexpr unsigned most_requests = 1U << (number_shift - request_shift);
    static_assert(kind::request_count <= most_requests);

    [[nodiscard]] std::uint32_t tag(kind::request what, redis::script_form form) const
    {
        return number_ << number_shift | static_cast<std::uint32_t>(what) << request_shift |
               static_cast<std::uint32_t>(form);
    }
    [[nodiscard]] static redis::script_form form_in(std::uint32_t tag)
    {
        return static_cast<redis::script_form>(tag & form_mask);
    }
    [[nodiscard]] static kind::request request_in(std::uint32_t tag)
    {
        return static_cast<kind::request>(tag >> request_shift & (most_requests - 1));
    }
    [[nodiscard]] bool is_late(std::uint32_t tag) const
    {
        return (tag ^ number_ << number_shift) >> number_shift != 0;
    }

    [[nodiscard]] std::optional<redis::script_form> native_for(net::node const& to, kind::request what)
    {
        return self().type().native(what) ? to.native() : std::nullopt;
    }
    /// A plain command has one form only. It counts as `hash`, so that its answer says nothing of forms.
    // rule K8
    [[nodiscard]] redis::script_form form_for(net::node const& to, kind::request what)
    {
        auto const* const script = self().type().script(what);
        return script ? to.form(*script, self().type().native(what)) : redis::script_form::hash;
    }
    [[nodiscard]] Self& self() { return static_cast<Self&>(*this); }

    void send(net::node& to, kind::request what, redis::script_form form, std::uint32_t mark = 0)
    {
        self().append_for(to.index(), to.output(), what, form);
        if (self().type().marks(what))
            kind::append_marker(to.output(), self().nodes().marker_of(to.index()).text());
        if (outstanding_++ == 0)
            self().on_busy();
        to.expect(*this, tag(what, form) | mark);
    }

    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const& reply) final
    {
        auto const what = request_in(tag);
        auto const answer = self().type().read(what, reply);
        if (!says_more(answer.what, form_in(tag)) || !repeat(node, tag, answer.what, reply))
            self().on_answer({node, what, is_late(tag), answer, reply});
        if (--outstanding_ == 0)
            self().on_drained();
    }

    /// Returns whether the command is sent again.
    [[nodiscard]] bool repeat(unsigned node, std::uint32_t tag, kind::answer::meaning said,
                              redis::resp_node const& reply)
    {
        auto const what = request_in(tag);
        auto const other = note_reply(node, tag, said, reply);
        if (!other || !self().repeats(node, what, is_late(tag)))
            return false;
        send(self().nodes().at(node), what, *other, again);
        self().on_repeated(node, what);
        return true;
    }

    /// Does the answer also tell about the form, or about the node's data?
    [[nodiscard]] static bool says_more(kind::answer::meaning said, redis::script_form form)
    {
        using meaning = kind::answer::meaning;
        return form == redis::script_form::text || said >= meaning::unknown_script;
    }

    /// Notes which forms this connection understands, and whether the node's data have changed.
    /// \return the form in which the command is sent again
    // rule F6
    [[nodiscard]] std::optional<redis::script_form>
    note_reply(unsigned node, std::uint32_t tag, kind::answer::meaning said, redis::resp_node const& reply)
    {
        using meaning = kind::answer::meaning;
        net::node& by = self().nodes().at(node);
        auto const what = request_in(tag);
        auto const form = form_in(tag);
        auto const* const script = self().type().script(what);
        if (said == meaning::other_data)
            self().nodes().marker_of(node).missed();
        else if (script && said != meaning::error)
            by.script_worked(*script, said != meaning::unknown_script);
        if (redis::is_native(form) && kind::refuses_form(reply))
            by.native_refused();
        bool const is_final = !script || (tag & again) != 0;
        return is_final ? std::nullopt : kind::other_form(form, reply, native_for(by, what));
    }

    void on_failure(unsigned node, std::uint32_t tag, net::failure const& why) final
    {
        self().on_silence(node, request_in(tag), is_late(tag), why);
        if (--outstanding_ == 0)
            self().on_drained();
    }

    std::uint32_t outstanding_ = 0; ///< replies on their way to us
    std::uint32_t number_ = 0;
};

} // namespace redlock::detail
