#include "kind/basics.hpp"

#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/resp.hpp"
#include "redis/scripts.hpp"
#include <redlock/server_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace redlock::kind {

namespace {

constexpr redis::script_call release_call{redis::scripts::release, 1, 2};

void append_question(std::string& out, std::string_view head, redis::lock_key const& key)
{
    redis::append_all(out, head, redis::digits(key.prefix.size() + key.name.size()), redis::crlf, key.prefix,
                      key.name, redis::crlf);
}

sighting read_owner(redis::resp_node const& reply)
{
    if (reply.type == redis::resp_type::null)
        return {.gone = true};
    if (redis::is_error(reply.type))
        return {.no_lock = redis::classify(reply.text) == server_error::wrongtype};
    if (reply.type != redis::resp_type::bulk_string)
        return {};
    return {.owner = owner_id(reply.text), .nonce = reply.text};
}

/// PTTL: -2 without a key, -1 where it never expires.
sighting read_time_left(redis::resp_node const& reply)
{
    if (reply.type != redis::resp_type::number)
        return {};
    if (reply.number == -1)
        return {.immortal = true};
    if (reply.number < 0)
        return {.gone = true};
    return {.left = std::chrono::milliseconds{reply.number}};
}

} // namespace

answer read_script(redis::resp_node const& reply)
{
    using meaning = answer::meaning;
    if (reply.type == redis::resp_type::number)
        return {reply.number == 1   ? meaning::granted
                : reply.number == 2 ? meaning::repaired
                                    : meaning::denied};
    if (redis::is_error(reply.type) && redis::classify(reply.text) == server_error::noscript)
        return {meaning::unknown_script};
    bool const stranger = reply.type == redis::resp_type::simple_string && reply.text == "STRANGER";
    return {stranger ? meaning::other_data : meaning::error};
}

std::string milliseconds(std::chrono::milliseconds time)
{
    assert(time.count() > 0);
    std::string text;
    redis::append_argument(text, std::string_view(redis::digits(static_cast<std::uint64_t>(time.count()))));
    return text;
}

void append_common(std::string& out, request what, claim const& whose, redis::script_form form)
{
    switch (what) {
    case request::release: return append_keyed(out, release_call, form, whose, {});
    case request::owner: return append_question(out, "*2\r\n$3\r\nGET\r\n$", whose.key);
    case request::time_left: return append_question(out, "*2\r\n$4\r\nPTTL\r\n$", whose.key);
    default: assert(false);
    }
}

sighting read_common_sighting(request what, redis::resp_node const& reply)
{
    switch (what) {
    case request::owner: return read_owner(reply);
    case request::time_left: return read_time_left(reply);
    default: return {};
    }
}

std::uint64_t owner_id(std::string_view nonce)
{
    std::uint64_t id = 0;
    std::memcpy(&id, nonce.data(), std::min(nonce.size(), sizeof id));
    return id;
}

} // namespace redlock::kind
