// SPDX-License-Identifier: BSL-1.0
#include "net/connect.hpp"
#include "redis/resp.hpp"
#include <redlock/server_error.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

// TLS and HELLO, before a connection is used.
namespace redlock::net {

namespace asio = boost::asio;

/// Blames the system's error and, if a certificate may be the cause, names the problem with it.
bool connector::blame_security(error_code ec, std::string const& doing)
{
    std::string const trouble = stream_ ? stream_->certificate_trouble() : std::string();
    bool const no_tls = ec.category() == asio::error::get_ssl_category() &&
                        ERR_GET_REASON(static_cast<unsigned long>(ec.value())) == SSL_R_WRONG_VERSION_NUMBER;
    if (no_tls)
        return blame({node_result::unreachable, server_error::none,
                      doing + ec.message() + std::string(tls_port_question)});
    if (trouble.empty())
        return blame(ec, doing);
    std::string text = doing + ec.message() + ": " + trouble;
    if (trouble.ends_with("mismatch"))
        text += ", wanted " + wanted_;
    return blame({node_result::unreachable, server_error::none, std::move(text)});
}

coroutine<bool> connector::secure(std::string const& host)
{
    missing_ = "no answer to the TLS handshake (is this a TLS port?)";
    error_code ec;
    wanted_ = peer_->server_name.empty() ? host : peer_->server_name;
    stream_ = machine_.secure(std::move(stream_), *peer_, wanted_, ec);
    auto const attempt = stream_;
    operation shaken;
    if (!ec) {
        attempt->handshake(shaken.handler(shared_from_this()));
        ec = co_await shaken;
    }
    if (!goes_on())
        co_return false;
    co_return !ec || blame_security(ec, "TLS: ");
}

/// True, with blame, if there is too much: a surplus answer would be taken for an answer to the next flight, or for a
/// vote.
bool connector::answers_too_much(std::string_view left)
{
    if (!left.empty())
        blame({node_result::unreachable, server_error::none, "handshake: a reply that nobody asked for"});
    return !left.empty();
}

/// True, with blame, if it is. A TLS server answers plain bytes with an alert, or hangs up without an answer.
bool connector::unreadable(error_code ec, redis::parse_status status, std::string_view what,
                           std::string_view input)
{
    constexpr std::string_view tls_alert("\x15\x03");
    bool const plain = !peer_->tls && peer_->where.transport != redis::endpoint::kind::unix_socket;
    bool const hung_up = ec == asio::error::eof || ec == asio::error::connection_reset;
    if (plain && hung_up && !heard_)
        blame({node_result::unreachable, server_error::none,
               "handshake: " + ec.message() + std::string(hung_up_question)});
    else if (ec)
        blame_security(ec, "handshake: ");
    else if (status == redis::parse_status::malformed)
        blame({node_result::unreachable, server_error::none,
               std::string(no_redis_server) + std::string(what) +
                   std::string(plain && input.starts_with(tls_alert) ? tls_port_question : "")});
    else
        return false;
    return true;
}

/// Sends the talk's output, and passes the replies to it, until it is ready.
template <class Talk>
coroutine<bool> connector::converse(Talk& talk)
{
    redis::resp_parser parser;
    std::string input;
    char chunk[4096];
    auto const attempt = stream_;
    error_code ec;
    for (auto step = redis::handshake::step::more; step == redis::handshake::step::more;) {
        std::string const output = talk.take_output();
        if (!output.empty()) {
            if (answers_too_much(input))
                co_return false;
            sent_ = machine_.read_clocks();
            operation written;
            attempt->write(asio::buffer(output), written.handler(shared_from_this()));
            ec = co_await written;
        }
        auto parsed = ec ? redis::parse_result{} : parser.next(input);
        if (!ec && parsed.status == redis::parse_status::need_more) {
            input.erase(0, parsed.consumed);
            operation told;
            attempt->read(asio::buffer(chunk), told.handler(shared_from_this()));
            ec = co_await told;
            received_ = machine_.read_clocks();
            heard_ = heard_ || told.transferred() != 0;
            input.append(chunk, told.transferred());
            parsed = {};
        }
        if (!goes_on() || unreadable(ec, parsed.status, parser.what(), input))
            co_return false;
        if (parsed.status != redis::parse_status::complete)
            continue;
        if (redis::value(parser.message()).type != redis::resp_type::push)
            step = talk.on_reply(parser.message());
        input.erase(0, parsed.consumed);
        if (step == redis::handshake::step::failed)
            co_return blame({node_result::refused, talk.failure(), talk.failure_text()});
    }
    co_return !answers_too_much(input);
}

/// Asks the program for credentials. An exception from it must not end the client.
bool connector::ask_for_credentials(redis::handshake_settings& settings)
{
    std::string why = "a user name without a password"; // unless it throws
    try {
        auto told = peer_->credentials_provider(peer_->name);
        settings.username = std::move(told.username);
        settings.password = std::move(told.password);
        if (settings.username.empty() || !settings.password.empty())
            return true;
    } catch (std::exception const& e) {
        why = e.what();
    } catch (...) {
        why = "an exception that is no std::exception";
    }
    return blame({node_result::unreachable, server_error::none, "credentials_provider: " + why});
}

coroutine<bool> connector::introduce()
{
    missing_ = "no answer to HELLO";
    auto settings = peer_->handshake;
    if (peer_->credentials_provider && (!ask_for_credentials(settings) || !goes_on())) // it may cancel us
        co_return false;
    redis::handshake talk(std::move(settings));
    if (!co_await converse(talk))
        co_return false;
    told_.facts = talk.facts();
    if (told_.facts.time)
        told_.clock = {*told_.facts.time, sent_, received_}; // TIME is the last command that was sent
    co_return true;
}

coroutine<bool> connector::ask(redis::address const& sentinel, redis::group_view& told, std::size_t shares)
{
    if (!co_await reach(sentinel, shares))
        co_return false;
    missing_ = "no answer";
    redis::sentinel_talk talk(peer_->where);
    bool const answered = co_await converse(talk);
    if (goes_on())
        std::exchange(stream_, nullptr)->close();
    told = talk.view();
    co_return answered;
}

} // namespace redlock::net
