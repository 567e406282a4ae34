// SPDX-License-Identifier: BSL-1.0
#include "redis/handshake.hpp"

#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/server_words.hpp"
#include <redlock/version.hpp>

#include <utility>

namespace redlock::redis {
namespace {

std::string library_version()
{
    return std::to_string(REDLOCK_VERSION_MAJOR) + '.' + std::to_string(REDLOCK_VERSION_MINOR) + '.' +
           std::to_string(REDLOCK_VERSION_PATCH);
}

// Nothing sent after these can be answered better on this connection.
bool ends_connection(server_error error) noexcept
{
    return error == server_error::wrongpass || error == server_error::loading ||
           error == server_error::busy || error == server_error::max_clients || error == server_error::denied;
}

bool may_repeat_arguments(server_error error) noexcept
{
    return error == server_error::unknown_command || error == server_error::other;
}

} // namespace

handshake::handshake(handshake_settings settings) : settings_{std::move(settings)}
{
    if (settings_.protocol >= 3)
        send_resp3();
    else
        send_resp2();
}

std::string handshake::take_output()
{
    return std::exchange(output_, {});
}

bool handshake::has_credentials() const noexcept
{
    // The default user without a password is what every connection starts as.
    return !settings_.password.empty() || (!settings_.username.empty() && settings_.username != "default");
}

void handshake::send(request kind, std::vector<std::string_view> const& args)
{
    append_command(output_, args);
    flight_.push_back(kind);
}

void handshake::send_resp3()
{
    std::vector<std::string_view> hello{"HELLO", "3"};
    if (has_credentials()) {
        auto const user = settings_.username.empty() ? std::string_view{"default"} : settings_.username;
        hello.insert(hello.end(), {"AUTH", user, settings_.password});
    }
    if (!settings_.client_name.empty())
        hello.insert(hello.end(), {"SETNAME", settings_.client_name});
    send(request::hello, hello);
    send_select_and_names(false);
}

void handshake::send_resp2()
{
    flight_.clear();
    answered_ = 0;
    fall_back_ = false;
    // Servers before Redis 6 know no users, and the default user is what one argument means everywhere.
    bool const one_argument = settings_.username.empty() || settings_.username == "default";
    if (has_credentials() && one_argument)
        send(request::auth, {"AUTH", settings_.password});
    else if (has_credentials())
        send(request::auth, {"AUTH", settings_.username, settings_.password});
    else
        send(request::ping, {"PING"}); // nothing else would show that the server wants a password
    send_select_and_names(true);
}

void handshake::send_select_and_names(bool name_client)
{
    if (settings_.database != 0) {
        auto const database = std::to_string(settings_.database);
        send(request::select, {"SELECT", database});
    }
    if (name_client && !settings_.client_name.empty())
        send(request::courtesy, {"CLIENT", "SETNAME", settings_.client_name});
    auto const version = library_version();
    send(request::courtesy, {"CLIENT", "SETINFO", "LIB-NAME", "asio-redlock"});
    send(request::courtesy, {"CLIENT", "SETINFO", "LIB-VER", version});
    send_questions();
}

/// May this server vote? In the same flight: admission costs no round trip. Plain INFO,
/// because old servers take one section at most.
// rule N2
void handshake::send_questions()
{
    send(request::info, {"INFO"});
    send(request::append_settings, {"CONFIG", "GET", append_settings_pattern});
    if (settings_.group)
        send(request::replica_settings, {"CONFIG", "GET", replica_settings_pattern});
    send(request::time, {"TIME"});
}

handshake::step handshake::on_reply(std::span<resp_node const> message)
{
    if (failure_ != server_error::none)
        return step::failed;
    if (answered_ == flight_.size())
        return fail(server_error::other, {}, "a reply that nobody asked for");
    auto const answered = flight_[answered_++];
    // After a refused HELLO the rest of its flight was answered without authentication: it means nothing.
    if (fall_back_)
        return proceed();
    auto const reply = body(message);
    if (reply.empty())
        return fail(server_error::other, {}, "an empty reply");
    if (is_error(reply.front().type))
        return on_error(answered, reply.front().text);
    return on_value(answered, reply);
}

handshake::step handshake::on_value(request answered, std::span<resp_node const> reply)
{
    if (answered == request::hello)
        return on_hello(reply);
    if (answered == request::info && !is_aggregate(reply.front().type))
        info_ = parse_info(reply.front().text);
    else if (answered == request::append_settings)
        append_ = read_append_settings(reply);
    else if (answered == request::replica_settings)
        replication_ = read_replica_settings(reply);
    else if (answered == request::time)
        time_ = read_time(reply);
    return proceed();
}

server_facts handshake::facts() const
{
    server_facts facts{.protocol = protocol_,
                       .info = info_,
                       .replica = replica_.value_or(false),
                       .cluster = cluster_.value_or(false),
                       .role_known = replica_.has_value(),
                       .forgetful = forgetful_setting(append_),
                       .time = time_,
                       .group = settings_.group,
                       .replication = replication_};
    bool aof = append_.append_only.value_or(false);
    if (info_) {
        facts.replica = facts.replica || info_->replica.value_or(false);
        facts.cluster = facts.cluster || info_->cluster.value_or(false);
        facts.role_known = facts.role_known || info_->replica.has_value();
        aof = aof || info_->aof;
    }
    facts.durable = aof && append_.fsync_always && append_.pauses_on_rewrite && facts.forgetful.empty();
    return facts;
}

// rule N6
handshake::step handshake::on_error(request answered, std::string_view words)
{
    auto const error = classify(words);
    if (ends_connection(error))
        return fail(error, {}, words);
    switch (answered) {
    case request::hello:
        // Some proxies meet an unknown HELLO with NOAUTH, although it carried the credentials; AUTH will
        // tell.
        if (error == server_error::noauth && !has_credentials())
            return fail(error, {}, words);
        fall_back_ = true;
        break;
    case request::auth:
        // A server that does not know AUTH repeats its arguments, cut short: a long password would be shown in part.
        return may_repeat_arguments(error) ? fail(error, "AUTH: ", to_string(error)) : fail(error, {}, words);
    case request::select: return fail(error, "SELECT " + std::to_string(settings_.database) + ": ", words);
    case request::courtesy:
    case request::info:
    case request::append_settings:
    case request::replica_settings:
    case request::time:
    case request::ping: // NOPERM shows a living, authenticated connection as well as PONG does
        if (error == server_error::noauth)
            return fail(error, {}, words);
        break;
    }
    return proceed();
}

handshake::step handshake::on_hello(std::span<resp_node const> reply)
{
    auto const type = reply.front().type;
    if (type != resp_type::map && type != resp_type::array)
        return fail(server_error::other, {}, "HELLO was not answered with a map");
    for_each_pair(reply, [this](resp_node const& key, resp_node const& told) { learn(key.text, told); });
    return proceed();
}

void handshake::learn(std::string_view key, resp_node const& told)
{
    if (key == "proto")
        protocol_ = told.number == 3 ? 3 : 2;
    else if (key == "role")
        replica_ = told.text == "replica" || told.text == "slave";
    else if (key == "mode")
        cluster_ = told.text == "cluster";
}

handshake::step handshake::proceed()
{
    if (answered_ < flight_.size())
        return step::more;
    if (!fall_back_)
        return step::ready;
    send_resp2();
    return step::more;
}

handshake::step handshake::fail(server_error error, std::string_view context, std::string_view words)
{
    failure_ = error;
    auto text = printable(words);
    auto const secret = printable(settings_.password);
    // A server that repeats the password is not quoted at all: cutting it out could leave it readable.
    if (!secret.empty() && text.find(secret) != std::string::npos)
        text = to_string(error);
    failure_text_ = shorten(std::string{context} + text);
    return step::failed;
}

} // namespace redlock::redis
