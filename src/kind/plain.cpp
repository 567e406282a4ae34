// SPDX-License-Identifier: BSL-1.0
// rules K3 and S5
#include "core/attempt.hpp"
#include "kind/basics.hpp"
#include "kind/kind.hpp"
#include "kind/queue.hpp"
#include "kind/shared.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/scripts.hpp"
#include "redis/writer.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::kind {

namespace {

/// SET key nonce NX PX: OK is a grant. An extension compares the nonce, and renews to the full time. SET has no other form
/// here than with NX or IFEQ: nothing is ever set over another's key.
class plain_commands final : public commands {
public:
    explicit plain_commands(std::chrono::milliseconds key)
        : vote_options_("$2\r\nNX\r\n$2\r\nPX\r\n" + milliseconds(key)), time_(milliseconds(key))
    {}

    // rule A2
    void append(std::string& out, request what, command_arguments const& args,
                redis::script_form form) const override
    {
        switch (what) {
        case request::vote: return append_keyed(out, "*6\r\n$3\r\nSET\r\n", args, vote_options_);
        case request::claim: return append_claim(out, args, form);
        case request::extend:
        case request::adopt: return append_extension(out, args, form);
        default: return append_common(out, what, args, form);
        }
    }

    static std::unique_ptr<commands const> make(std::string_view, lifetimes const& times)
    {
        return std::make_unique<plain_commands const>(times.key);
    }

    static answer read(request what, redis::resp_node const& reply)
    {
        switch (what) {
        case request::vote: return read_set(reply);
        case request::extend:
        case request::adopt: return read_extension(reply);
        default: return read_common(what, reply);
        }
    }

    static constexpr std::array questions{request::owner, request::time_left};

private:
    static constexpr redis::script_call extension{redis::scripts::extend, 1, 3};
    static constexpr redis::script_call claiming{redis::scripts::vote, 2, 6};

    // rule K8
    void append_extension(std::string& out, command_arguments const& args, redis::script_form form) const
    {
        if (!redis::is_native(form))
            return append_keyed(out, extension, form, args, time_);
        auto const& [prefix, name, several] = args.key;
        std::string_view const nonce = checked(args.nonce);
        redis::append_all(out, "*7\r\n$3\r\nSET\r\n$", redis::digits(prefix.size() + name.size()),
                          redis::crlf, prefix, name, redis::crlf, nonce_header, nonce, redis::crlf,
                          "$4\r\nIFEQ\r\n", nonce_header, nonce, redis::crlf, "$2\r\nPX\r\n", time_);
    }

    void append_claim(std::string& out, command_arguments const& args, redis::script_form form) const
    {
        append_with_second_key(out, claiming, form, args.key, queue_suffix, "$1\r\nx\r\n", nonce_header,
                               checked(args.nonce), redis::crlf, time_);
        redis::append_argument(out, args.previous_owner);
    }

    /// Only a nil says that another holds the key.
    // rule A4
    static answer read_set(redis::resp_node const& reply)
    {
        if (reply.type == redis::resp_type::simple_string && reply.text == "OK")
            return {answer::meaning::granted};
        return {reply.type == redis::resp_type::null ? answer::meaning::denied : answer::meaning::error};
    }

    /// A script says a number and has read the key behind its own change, which SET does not (rule W6).
    static answer read_extension(redis::resp_node const& reply)
    {
        if (is_of_other_type(reply))
            return {answer::meaning::denied};
        if (reply.type == redis::resp_type::number || redis::is_error(reply.type))
            return read_script(reply);
        auto said = read_set(reply);
        said.unread = said.what == answer::meaning::granted;
        return said;
    }

    std::string vote_options_;
    std::string time_;
};

constexpr lock_kind simple{
    .agreement = core::agreement::majority,
    .marked = false,
    .compares = true,
    .scripts = scripts_of({{request::claim, &redis::scripts::vote},
                           {request::extend, &redis::scripts::extend},
                           {request::adopt, &redis::scripts::extend},
                           {request::release, &redis::scripts::release},
                           {request::give_back, &redis::scripts::give_back},
                           {request::enter, &redis::scripts::enter},
                           {request::whose, &redis::scripts::whose}}),
    .inspection = plain_commands::questions,
    .make_commands = plain_commands::make,
    .append = append_common,
    .read = plain_commands::read,
    .read_observation = read_common_observation,
};

} // namespace

constinit lock_kind const plain = simple;
// Only the address of the reader is taken.
// NOLINTNEXTLINE(cppcoreguidelines-interfaces-global-init)
constinit lock_kind const writer = with_readers(simple, reader, make_writer_commands);

} // namespace redlock::kind
