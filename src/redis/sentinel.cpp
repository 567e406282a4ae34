// SPDX-License-Identifier: BSL-1.0
#include "redis/sentinel.hpp"

#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/server_words.hpp"
#include "redis/text_number.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace redlock::redis {
namespace {

constexpr std::size_t longest_host = 255;
constexpr unsigned most_replicas = 1000;

/// Is the text a name or an address that a name server or a socket may be asked for?
bool is_host(std::string_view text)
{
    constexpr std::string_view marks = ".-_:%";
    return !text.empty() && text.size() <= longest_host && std::ranges::all_of(text, [marks](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || marks.find(c) != marks.npos;
    });
}

} // namespace

sentinel_talk::sentinel_talk(endpoint const& where)
    : group_(where.group), password_(where.sentinel_password.value_or("")),
      awaited_(password_.empty() ? request::address : request::auth)
{
    std::string const user = where.sentinel_username.value_or("default");
    if (user != "default")
        append_command(output_, {"AUTH", user, password_});
    else if (!password_.empty())
        append_command(output_, {"AUTH", password_});
    // The first command knows of a new master before the second does, but only the second counts replicas that are
    // away.
    append_command(output_, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", group_});
    append_command(output_, {"SENTINEL", "MASTER", group_});
}

std::string sentinel_talk::take_output()
{
    return std::exchange(output_, {});
}

// rule N8
sentinel_talk::step sentinel_talk::on_reply(std::span<resp_node const> message)
{
    auto const reply = body(message);
    if (is_error(reply.front().type))
        return on_error(reply.front().text);
    switch (awaited_) {
    case request::auth: awaited_ = request::address; return step::more;
    case request::address: return on_address(reply);
    case request::state: break;
    }
    return on_state(reply);
}

sentinel_talk::step sentinel_talk::on_error(std::string_view words)
{
    // A server that does not know AUTH repeats its arguments in the error, and cuts them short.
    auto const error = classify(words);
    bool const repeats =
        awaited_ == request::auth && (error == server_error::unknown_command || error == server_error::other);
    bool const tells = !password_.empty() && printable(words).find(printable(password_)) != std::string::npos;
    return fail(error, repeats || tells ? std::string(to_string(error)) : printable(words));
}

sentinel_talk::step sentinel_talk::on_address(std::span<resp_node const> reply)
{
    if (reply.front().type == resp_type::null)
        return fail(server_error::other, "it knows no group '" + group_ + "'");
    if (reply.size() != 3 || !is_host(reply[1].text) || !read_number(reply[2].text, view_.master.port) ||
        view_.master.port == 0)
        return fail(server_error::other, "it does not tell the master's address as a Sentinel does");
    view_.master.host = reply[1].text;
    awaited_ = request::state;
    return step::more;
}

sentinel_talk::step sentinel_talk::on_state(std::span<resp_node const> reply)
{
    bool told = false;
    for_each_pair(reply, [&](resp_node const& key, resp_node const& value) {
        if (key.text == "num-slaves")
            told = read_number(value.text, view_.replicas) && view_.replicas <= most_replicas;
    });
    return told ? step::ready : fail(server_error::other, "it does not tell how many replicas there are");
}

sentinel_talk::step sentinel_talk::fail(server_error error, std::string text)
{
    failure_ = error;
    failure_text_ = shorten(std::move(text));
    return step::failed;
}

} // namespace redlock::redis
