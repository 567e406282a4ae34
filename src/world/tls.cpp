// SPDX-License-Identifier: BSL-1.0
#include "world/tls.hpp"

#include "net/coroutine.hpp"
#include "net/machine.hpp"
#include "world/tls_end.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace redlock::world {

namespace asio = boost::asio;

namespace {

constexpr std::size_t header_size = 5;
constexpr std::size_t longest_record = std::size_t{16} * 1024;

/// The contents of handshakes; the certificate follows the server's greeting.
constexpr std::string_view hello = "hello";
constexpr std::string_view finished = "finished";
constexpr std::string_view ticket = "ticket";
constexpr std::string_view in_one = "1.3:";
constexpr std::string_view in_two = "1.2:";

unsigned char byte(char c)
{
    return static_cast<unsigned char>(c);
}

bool is_record(std::string const& bytes)
{
    return bytes.empty() || (bytes[0] >= tls_record::alert && bytes[0] <= tls_record::data);
}

net::error_code verify_failed()
{
    return {static_cast<int>(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_CERTIFICATE_VERIFY_FAILED)),
            asio::error::get_ssl_category()};
}

} // namespace

std::string tls_record::wrap(char type, std::string_view content)
{
    std::string records;
    do {
        std::string_view const some = content.substr(0, longest_record);
        content.remove_prefix(some.size());
        records +=
            {type, '\3', '\3', static_cast<char>(some.size() >> 8U), static_cast<char>(some.size() & 0xffU)};
        records += some;
    } while (!content.empty());
    return records;
}

std::optional<std::pair<char, std::string>> tls_record::take(std::string& from)
{
    if (from.size() < header_size)
        return {};
    std::size_t const size = byte(from[3]) * std::size_t{256} + byte(from[4]);
    if (from.size() < header_size + size)
        return {};
    std::pair taken(from[0], from.substr(header_size, size));
    from.erase(0, header_size + size);
    return taken;
}

tls_end::heard tls_end::receive(std::string& bytes, tls_traits const& how)
{
    heard now;
    while (!now.over) {
        if (!is_record(bytes)) {
            now.answer += tls_record::wrap(tls_record::alert, "\2\x46"); // protocol version
            now.over = true;
            break;
        }
        auto const record = tls_record::take(bytes);
        if (!record)
            break;
        auto const& [type, content] = *record;
        if (type == tls_record::handshake)
            greet(now, content, how);
        else if (type == tls_record::data)
            now.said += content;
        else
            now.over = true;
    }
    return now;
}

void tls_end::greet(heard& now, std::string const& content, tls_traits const& how)
{
    if (how.hangs_up) {
        now.over = true;
    } else if (content == hello) {
        now.answer += tls_record::wrap(tls_record::handshake,
                                       std::string(how.two_round_trips ? in_two : in_one) + how.trouble);
    } else {
        established_ = true;
        now.answer += tls_record::wrap(tls_record::handshake, how.two_round_trips ? finished : ticket);
    }
}

/// Calls `done` for every record, with its content in `content_`; or when there will be none.
void sim_tls_stream::next_record(completion done)
{
    if (auto record = tls_record::take(raw_)) {
        std::tie(type_, content_) = std::move(*record);
        notified_ = notified_ || (type_ == tls_record::alert && content_ == tls_record::close_notify);
        return notified_ ? done(asio::error::eof, 0) : done({}, content_.size());
    }
    chunk_.resize(most_at_once);
    plain_->read_some(asio::buffer(chunk_), [this, self = shared_from_this(),
                                             done = std::move(done)](net::error_code ec, std::size_t bytes) {
        if (ec)
            return done(ec == asio::error::eof ? asio::ssl::error::stream_truncated : ec, 0);
        raw_.append(chunk_, 0, bytes);
        next_record(done);
    });
}

void sim_tls_stream::handshake(net::resumption done)
{
    plain_->send(tls_record::wrap(tls_record::handshake, hello),
                 [this, self = shared_from_this(), done = completion(std::move(done))](net::error_code ec,
                                                                                       std::size_t) {
                     if (ec)
                         return done(ec, 0);
                     next_record([this, done](net::error_code failed, std::size_t) { shaken(failed, done); });
                 });
}

/// Called when the server has shown its certificate.
void sim_tls_stream::shaken(net::error_code ec, completion const& done)
{
    if (ec)
        return done(ec, 0);
    bool const again = content_.starts_with(in_two);
    trouble_ = verify_ ? content_.substr(in_two.size()) : std::string();
    if (!trouble_.empty())
        return done(verify_failed(), 0);
    plain_->send(tls_record::wrap(tls_record::handshake, finished),
                 [this, self = shared_from_this(), done, again](net::error_code failed, std::size_t) {
                     again && !failed ? next_record(done) : done(failed, 0);
                 });
}

void sim_tls_stream::await_content(completion done)
{
    if (!content_.empty() && type_ == tls_record::data)
        return plain_->complete(std::move(done), {});
    next_record([this, done = std::move(done)](net::error_code ec, std::size_t) {
        ec ? done(ec, 0) : await_content(done);
    });
}

/// Takes at most one record at a time.
std::size_t sim_tls_stream::take(asio::mutable_buffer into)
{
    std::size_t const size = std::min(into.size(), content_.size());
    std::memcpy(into.data(), content_.data(), size);
    content_.erase(0, size);
    return size;
}

void sim_tls_stream::read(asio::mutable_buffer into, net::resumption done)
{
    await_content([this, self = shared_from_this(), into, done = completion(std::move(done))](
                      net::error_code ec, std::size_t) { done(ec, ec ? 0 : take(into)); });
}

void sim_tls_stream::start_read(asio::mutable_buffer into)
{
    await_content([this, self = shared_from_this(), into](net::error_code ec, std::size_t) {
        if (listener_)
            listener_->on_read(ec, ec ? 0 : take(into));
    });
}

void sim_tls_stream::write(asio::const_buffer bytes, net::resumption done)
{
    std::string_view const content(static_cast<char const*>(bytes.data()), bytes.size());
    plain_->send(tls_record::wrap(tls_record::data, content), std::move(done));
}

void sim_tls_stream::flush(std::string& out)
{
    if (!unsent_.empty())
        return;
    unsent_ = tls_record::wrap(tls_record::data, std::exchange(out, {}));
    plain_->flush(unsent_);
}

void sim_tls_stream::on_writable(net::error_code ec)
{
    if (!ec)
        plain_->flush(unsent_);
    if ((ec || unsent_.empty()) && listener_)
        listener_->on_writable(ec);
}

void sim_tls_stream::close()
{
    listener_ = nullptr;
    plain_->close();
}

void sim_tls_stream::drop()
{
    listener_ = nullptr;
    plain_->drop();
}

void sim_tls_stream::finish(std::string rest)
{
    listener_ = nullptr;
    plain_->stop_reading(); // its handler owns this
    if (!rest.empty())
        unsent_ += tls_record::wrap(tls_record::data, rest);
    plain_->finish(std::move(unsent_));
}

} // namespace redlock::world
