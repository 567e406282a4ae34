#pragma once

#include "core/tally.hpp"
#include "engine/node_group.hpp"
#include "kind/kind.hpp"
#include "net/connect.hpp"
#include "net/node.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/script.hpp"

#include <cstdint>
#include <new>
#include <string>

namespace redlock::detail {

/// Sends commands about one lock to nodes, and gives each answer back as a value: votes, write-backs, extensions, releases,
/// peeks and inspections. A command is sent once; but a script that the node does not know, and so has not executed, is
/// sent again as text.
///
/// `Self`, which derives from it, supplies
/// - `node_group& nodes()`, `kind::lock_kind const& type()`,
/// - `void append(std::string& out, kind::request, redis::script_form)`: the command,
/// - `void on_answer(node_answer const&)`,
/// - `void on_silence(unsigned node, kind::request, bool late, net::failure const&)`: there will be none,
/// - `void on_drained()` after the last reply has been dealt with,
/// and may replace what has a default here.
template <class Self>
class round : private net::reply_sink {
protected:
    round() = default;
    ~round() = default;

    /// May that script still be sent again?
    [[nodiscard]] bool repeats(unsigned, kind::request, bool /*late*/) const { return false; }
    /// It has been.
    void on_repeated(unsigned, kind::request) {}
    /// The first reply is about to be waited for.
    void on_busy() {}

    /// From now on the answers to what was sent before are late.
    void open_round() { ++number_; }
    [[nodiscard]] std::uint32_t round_number() const { return number_; }
    [[nodiscard]] bool drained() const { return outstanding_ == 0; }

    void send(unsigned node, kind::request what)
    {
        net::node& to = self().nodes().at(node);
        auto const* const script = self().type().script(what);
        send(to, what, script ? to.form(*script) : redis::script_form::hash);
    }
    void send(unsigned node, kind::request what, redis::script_form form)
    {
        send(self().nodes().at(node), what, form);
    }

    /// The same command for several nodes.
    struct draft {
        kind::request what;
        bool marked;
        std::uint32_t tag;           ///< with scripts named by their hash
        redis::script const* script; ///< null: a command
        /// With scripts named by their hash, up to the marker. Null: there is no room, and it is written for each node.
        std::string const* bytes;
    };
    /// \param room what it is written into, and must outlive it; may be null
    [[nodiscard]] draft make_draft(kind::request what, std::string* room) noexcept
    {
        kind::lock_kind const& type = self().type();
        try {
            if (room) {
                room->clear();
                self().append(*room, what, redis::script_form::hash);
            }
        } catch (std::bad_alloc const&) {
            room = nullptr;
        }
        return {what, type.marks(what), tag(what, redis::script_form::hash), type.script(what), room};
    }
    void send(net::node& to, draft const& command)
    {
        if (!command.bytes || !knows_script(to, command))
            return send(to.index(), command.what);
        to.output().append(*command.bytes);
        await(to, command.tag, command.marked);
    }
    /// To those nodes that can be asked without delay, as nearly always all of them can.
    /// \return which
    [[nodiscard]] core::node_set send_at_once(draft const& command, core::node_set where)
    {
        core::node_set sent;
        if (!command.bytes || command.marked)
            return sent;
        node_group& group = self().nodes();
        for (unsigned i = 0, size = group.size(); i != size; ++i) {
            net::node& to = group.at(i);
            if (!where.contains(i) || !to.at_work() || !knows_script(to, command))
                continue;
            to.output().append(*command.bytes);
            await(to, command.tag, false);
            sent.insert(i);
        }
        return sent;
    }

    /// A release that waited for a connection was not sent, and no node is too young for it. False: the node is away.
    [[nodiscard]] bool send_release_again(unsigned node, net::failure const& why)
    {
        if (!why.unsent || !self().nodes().at(node).make_reachable())
            return false;
        send(node, kind::request::release, redis::script_form::text);
        return true;
    }

private:
    // A tag: the number of the round, the request, the form.
    static constexpr unsigned request_shift = 1;
    static constexpr unsigned number_shift = 5;
    static constexpr unsigned most_requests = 1U << (number_shift - request_shift);
    static_assert(kind::request_count <= most_requests);

    [[nodiscard]] std::uint32_t tag(kind::request what, redis::script_form form) const
    {
        return number_ << number_shift | static_cast<std::uint32_t>(what) << request_shift |
               static_cast<std::uint32_t>(form);
    }
    [[nodiscard]] static kind::request request_in(std::uint32_t tag)
    {
        return static_cast<kind::request>(tag >> request_shift & (most_requests - 1));
    }
    [[nodiscard]] bool is_late(std::uint32_t tag) const
    {
        return (tag ^ number_ << number_shift) >> number_shift != 0;
    }

    [[nodiscard]] static bool knows_script(net::node const& to, draft const& command)
    {
        return !command.script || to.form(*command.script) == redis::script_form::hash;
    }

    [[nodiscard]] Self& self() { return static_cast<Self&>(*this); }

    void send(net::node& to, kind::request what, redis::script_form form)
    {
        self().append(to.output(), what, form);
        await(to, tag(what, form), self().type().marks(what));
    }

    void await(net::node& to, std::uint32_t tag, bool marked)
    {
        if (marked)
            kind::append_marker(to.output(), self().nodes().marker_of(to.index()).text());
        if (outstanding_++ == 0)
            self().on_busy();
        to.expect(*this, tag);
    }

    void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const& reply) final
    {
        auto const what = request_in(tag);
        bool const late = is_late(tag);
        auto const said = self().type().read(what, reply);
        bool const by_hash = (tag & 1U) == static_cast<std::uint32_t>(redis::script_form::hash);
        if (!by_hash || says_more(said.what))
            learn(node, what, said.what);
        if (said.what == kind::answer::meaning::unknown_script && by_hash &&
            self().repeats(node, what, late)) {
            send(node, what, redis::script_form::text);
            self().on_repeated(node, what);
        } else {
            self().on_answer({node, what, late, said, reply});
        }
        if (--outstanding_ == 0)
            self().on_drained();
    }

    /// Than that the script is known, and what the lock asked.
    [[nodiscard]] static bool says_more(kind::answer::meaning said)
    {
        using meaning = kind::answer::meaning;
        return said == meaning::other_data || said == meaning::unknown_script;
    }

    /// Whether this connection may name the script by its hash from now on, and whether the data are what they were.
    void learn(unsigned node, kind::request what, kind::answer::meaning said)
    {
        using meaning = kind::answer::meaning;
        if (said == meaning::other_data)
            self().nodes().marker_of(node).missed();
        else if (auto const* const script = self().type().script(what); script && said != meaning::error)
            self().nodes().at(node).script_worked(*script, said != meaning::unknown_script);
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
