// SPDX-License-Identifier: BSL-1.0
#include "kind/basics.hpp"

#include "kind/election.hpp"
#include "kind/fenced.hpp"
#include "kind/queue.hpp"
#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/resp.hpp"
#include "redis/scripts.hpp"
#include "redis/text_number.hpp"
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

namespace redlock::kind {

namespace {

constexpr redis::script_call release_call{redis::scripts::release, 1, 2};
constexpr redis::script_call give_back_call{redis::scripts::give_back, 2, 8};
constexpr redis::script_call enter_call{redis::scripts::enter, 2, 6};
constexpr redis::script_call whose_call{redis::scripts::whose, 1, 1};

constexpr std::array<std::string_view, 5> kept{fence_suffix, permit_fences_suffix, queue_suffix,
                                               leader_suffix, redis::marker_name};

// rule Q23
void append_enter(std::string& out, redis::script_form form, command_arguments const& args)
{
    append_with_second_key(out, enter_call, form, args.key, queue_suffix);
    redis::append_argument(out, args.queue.position);
    out += milliseconds(queue_life);
    append_number(out, longest_queue);
    redis::append_argument(out, std::string_view(args.queue.at_front ? "front" : ""));
}

/// DELEX without IFEQ would delete any key.
// rule K8
void append_release(std::string& out, redis::script_form form, command_arguments const& args)
{
    if (!redis::is_native(form))
        return append_keyed(out, release_call, form, args, {});
    bool const delex = form == redis::script_form::delex;
    auto const& [prefix, name, several] = args.key;
    redis::append_all(out, std::string_view(delex ? "*4\r\n$5\r\nDELEX\r\n$" : "*3\r\n$7\r\nDELIFEQ\r\n$"),
                      redis::digits(prefix.size() + name.size()), redis::crlf, prefix, name, redis::crlf,
                      std::string_view(delex ? "$4\r\nIFEQ\r\n" : ""), nonce_header, checked(args.nonce),
                      redis::crlf);
}

void append_question(std::string& out, std::string_view head, redis::lock_key const& key)
{
    redis::append_all(out, head, redis::digits(key.prefix.size() + key.name.size()), redis::crlf, key.prefix,
                      key.name, redis::crlf);
}

void append_whose(std::string& out, redis::script_form form, redis::lock_key const& key)
{
    if (form == redis::script_form::text)
        whose_call.append_text(out);
    else
        out += whose_call.by_hash();
    append_question(out, "$", key);
}

/// \param other the kind of holder of a key of another type
key_observation read_owner(redis::resp_node const& reply, holder_kind other)
{
    if (reply.type == redis::resp_type::null)
        return {.gone = true};
    if (is_of_other_type(reply))
        return {.who = other};
    if (reply.type != redis::resp_type::bulk_string)
        return {};
    return {.who = holder_kind::owner, .owner = owner_id(reply.text), .nonce = reply.text};
}

key_observation read_whose(redis::resp_node const& reply)
{
    bool const word = reply.type == redis::resp_type::simple_string;
    if (word && reply.text == "READERS")
        return {.who = holder_kind::readers};
    if (word && reply.text == "PERMITS")
        return {.who = holder_kind::permits};
    if (word && reply.text == "NONE")
        return {.gone = true};
    return read_owner(reply, holder_kind::no_lock);
}

/// Bounded: clients could not compute with a longer time.
std::chrono::milliseconds time_left(std::int64_t milliseconds)
{
    return std::min<std::chrono::milliseconds>(std::chrono::milliseconds{milliseconds},
                                               std::chrono::years{100});
}

/// PTTL: -2 without a key, -1 where it never expires.
key_observation read_time_left(redis::resp_node const& reply)
{
    if (reply.type != redis::resp_type::number)
        return {};
    if (reply.number == -1)
        return {.immortal = true};
    if (reply.number < 0)
        return {.gone = true};
    return {.left = time_left(reply.number)};
}

/// \param text the start of an owner's nonce, or a word that is shorter than that
holder_kind holder_of(std::string_view text)
{
    return text.empty()        ? holder_kind::maybe_readers
           : text == "READERS" ? holder_kind::readers
           : text == "PERMITS" ? holder_kind::permits
                               : holder_kind::owner;
}

answer read_number(std::int64_t number)
{
    using meaning = answer::meaning;
    return {number == 1 ? meaning::granted : number == 2 ? meaning::repaired : meaning::denied};
}

// rule Q2
answer read_rare(request what, redis::resp_node const& reply)
{
    using meaning = answer::meaning;
    switch (what) {
    case request::release:
        if (is_of_other_type(reply))
            return {meaning::denied};
        break;
    case request::enter:
        if (auto const standing = read_refusal("LINE", reply))
            return {.what = meaning::denied, .number = standing->number};
        break;
    case request::vote:
    case request::claim:
        if (is_queued(reply) || read_refusal("HELD", reply))
            return {meaning::denied};
        break;
    case request::give_back:
        if (reply.type == redis::resp_type::number && (reply.number == 2 || reply.number == 3))
            return {.what = reply.number == 2 ? meaning::granted : meaning::denied, .handed_on = true};
        break;
    default: break;
    }
    return read_script(reply);
}

} // namespace

bool is_of_other_type(redis::resp_node const& reply)
{
    return redis::is_error(reply.type) && redis::classify(reply.text) == server_error::wrongtype;
}

answer read_script(redis::resp_node const& reply)
{
    using meaning = answer::meaning;
    if (reply.type == redis::resp_type::number)
        return read_number(reply.number);
    if (redis::is_error(reply.type) && redis::classify(reply.text) == server_error::noscript)
        return {meaning::unknown_script};
    bool const stranger = reply.type == redis::resp_type::simple_string && reply.text == "STRANGER";
    return {stranger ? meaning::other_data : meaning::error};
}

std::optional<redis::script_form> other_form(redis::script_form said, redis::resp_node const& reply,
                                             std::optional<redis::script_form> native)
{
    using form = redis::script_form;
    auto const error = redis::is_error(reply.type) ? redis::classify(reply.text) : server_error::none;
    if (redis::is_native(said))
        return error == server_error::oom || refuses_form(reply) ? std::optional(form::text) : std::nullopt;
    if (said == form::hash && error == server_error::noscript)
        return form::text;
    return refuses_form(reply) ? native : std::nullopt;
}

/// A right to the lock's keys is missing for all forms alike.
bool refuses_form(redis::resp_node const& reply)
{
    if (!redis::is_error(reply.type) || redis::is_about_keys(reply.text))
        return false;
    auto const error = redis::classify(reply.text);
    return error == server_error::unknown_command || error == server_error::syntax ||
           error == server_error::noperm;
}

void append_keyed(std::string& out, std::string_view head, command_arguments const& args,
                  std::string_view rest)
{
    auto const& [prefix, name, several] = args.key;
    redis::append_all(out, head, "$", redis::digits(prefix.size() + name.size()), redis::crlf, prefix, name,
                      redis::crlf, nonce_header, checked(args.nonce), redis::crlf, rest);
}

void append_keyed(std::string& out, redis::script_call const& call, redis::script_form form,
                  command_arguments const& args, std::string_view rest)
{
    if (form == redis::script_form::text)
        call.append_text(out);
    append_keyed(out, form == redis::script_form::text ? std::string_view() : call.by_hash(), args, rest);
}

void append_give_back(std::string& out, redis::script_form form, command_arguments const& args, request what,
                      waiter_kind likely)
{
    append_with_second_key(out, give_back_call, form, args.key, queue_suffix);
    append_release_arguments(out, args, what, likely);
}

void append_release_arguments(std::string& out, command_arguments const& args, request what,
                              waiter_kind likely)
{
    std::string_view const word = what == request::release ? "none"
                                  : args.queue.leaves_free ? "free"
                                                           : "take";
    char const kind[] = {static_cast<char>(likely)};
    redis::append_argument(out, std::string_view(kind, 1));
    redis::append_all(out, nonce_header, checked(args.nonce), redis::crlf);
    redis::append_argument(out, args.queue.position);
    redis::append_argument(out, word);
    append_number(out, static_cast<std::uint64_t>(args.queue.time.count()));
    redis::append_argument(out, args.numbers);
}

void append_call_head(std::string& out, redis::script const& which, redis::script_form form, std::size_t keys,
                      std::size_t arguments)
{
    bool const by_hash = form == redis::script_form::hash;
    std::string_view const named = by_hash ? which.sha1 : which.text;
    redis::digits const count(keys);
    redis::append_all(out, "*", redis::digits(3 + keys + arguments), redis::crlf,
                      by_hash ? "$7\r\nEVALSHA\r\n$" : "$4\r\nEVAL\r\n$", redis::digits(named.size()),
                      redis::crlf, named, redis::crlf);
    redis::append_argument(out, std::string_view(count));
}

void append_key(std::string& out, redis::lock_key const& key, std::string_view suffix)
{
    redis::append_all(out, "$", redis::digits(key.prefix.size() + key.name.size() + suffix.size()),
                      redis::crlf, key.prefix, key.name, suffix, redis::crlf);
}

std::string milliseconds(std::chrono::milliseconds time)
{
    assert(time.count() > 0);
    std::string text;
    append_number(text, static_cast<std::uint64_t>(time.count()));
    return text;
}

void append_common(std::string& out, request what, command_arguments const& args, redis::script_form form)
{
    switch (what) {
    case request::release: return append_release(out, form, args);
    case request::give_back: return append_give_back(out, form, args, what, waiter_kind::exclusive);
    case request::enter: return append_enter(out, form, args);
    case request::whose: return append_whose(out, form, args.key);
    case request::owner: return append_question(out, "*2\r\n$3\r\nGET\r\n$", args.key);
    case request::time_left: return append_question(out, "*2\r\n$4\r\nPTTL\r\n$", args.key);
    default: std::abort(); // without bytes, each later reply would be taken for another command's
    }
}

answer read_common(request what, redis::resp_node const& reply)
{
    if (reply.type == redis::resp_type::number && what == request::release) // most of all
        return read_number(reply.number);
    return read_rare(what, reply);
}

bool is_queued(redis::resp_node const& reply)
{
    return reply.type == redis::resp_type::simple_string && reply.text == "QUEUED";
}

std::optional<refusal> read_refusal(std::string_view word, redis::resp_node const& reply)
{
    std::string_view text = reply.text;
    bool whole = reply.type == redis::resp_type::simple_string;
    auto const next = [&] {
        auto const space = text.find(' ');
        whole = whole && space != text.npos;
        auto const part = text.substr(0, space);
        text.remove_prefix(whole ? space + 1 : text.size());
        return part;
    };
    std::int64_t left = 0;
    refusal found;
    if (next() != word || !redis::read_number(next(), left) || !redis::read_number(next(), found.number) ||
        !whole || found.number >= fence_end)
        return std::nullopt;
    found.seen.who = holder_of(text);
    found.seen.owner = found.seen.who == holder_kind::owner ? owner_id(text) : 0;
    found.seen.immortal = left == -1;
    if (left >= 0)
        found.seen.left = time_left(left);
    return found;
}

key_observation read_common_observation(request what, redis::resp_node const& reply)
{
    switch (what) {
    case request::vote:
    case request::claim:
        return is_queued(reply) ? key_observation{.who = holder_kind::waiting}
                                : read_refusal("HELD", reply).value_or(refusal{}).seen;
    case request::enter: return read_refusal("LINE", reply).value_or(refusal{}).seen;
    case request::whose: return read_whose(reply);
    case request::owner: return read_owner(reply, holder_kind::maybe_readers);
    case request::time_left: return read_time_left(reply);
    default: return {};
    }
}

// rule K7
std::span<std::string_view const> kept_names()
{
    return kept;
}

std::uint64_t owner_id(std::string_view nonce)
{
    std::uint64_t id = 0;
    std::memcpy(&id, nonce.data(), std::min(nonce.size(), sizeof id));
    return id;
}

} // namespace redlock::kind
