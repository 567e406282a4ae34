// SPDX-License-Identifier: BSL-1.0
#include "net/leaf/tls.hpp"

#include "net/coroutine.hpp"
#include "net/leaf/handler_memory.hpp"
#include "net/leaf/parting.hpp"
#include "net/leaf/tls_session.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <openssl/ssl.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

struct openssl_context final : tls_context {
    asio::ssl::context ssl{asio::ssl::context::tls_client};
};

class tls_stream final : public socket_stream {
public:
    tls_stream(socket s, std::shared_ptr<openssl_context> context)
        : context_(std::move(context)), socket_(std::move(s)), session_(context_->ssl.native_handle())
    {}

    tls_session& session() { return session_; }
    socket& transport() override { return socket_; }

    void handshake(resumption done) override
    {
        go_on([this] { return session_.handshake(); }, std::move(done));
    }

    void read(asio::mutable_buffer into, resumption done) override
    {
        go_on([this, into] { return decipher(into); }, std::move(done));
    }

    void write(asio::const_buffer bytes, resumption done) override
    {
        std::string_view const text(static_cast<char const*>(bytes.data()), bytes.size());
        go_on([this, text] { return session_.encipher(text); }, std::move(done));
    }

    std::string certificate_trouble() override { return session_.certificate_trouble(); }

    void start_read(asio::mutable_buffer into) override
    {
        into_ = into;
        handler_allocator<void> const memory(read_memory_);
        tls_session::result const now = session_.starved() ? tls_session::result() : decipher(into);
        if (now.done || now.ec)
            return asio::post(
                socket_.get_executor(),
                asio::bind_allocator(memory, [this, self = shared_from_this(), now] { tell(now); }));
        socket_.async_read_some(
            asio::buffer(received_),
            asio::bind_allocator(memory, [this, self = shared_from_this()](error_code ec, std::size_t bytes) {
                if (listener_)
                    received(ec, bytes);
            }));
    }

    /// Keeps the records that a full socket does not take; the next bytes wait for them.
    void flush(std::string& out) override
    {
        if (writing_)
            return;
        error_code ec = session_.encipher(out).ec;
        out.clear();
        if (!ec)
            ec = write_output();
        if (ec || !session_.output().empty())
            await_room(ec);
    }

    void finish(std::string rest) override
    {
        listener_ = nullptr;
        if (!session_.encipher(rest).ec)
            (void)write_output();
        part(std::static_pointer_cast<socket_stream>(shared_from_this()), std::string(session_.output()));
    }

private:
    tls_session::result decipher(asio::mutable_buffer into)
    {
        return session_.decipher({static_cast<char*>(into.data()), into.size()});
    }
    void tell(tls_session::result const& read)
    {
        if (listener_)
            listener_->on_read(read.ec, read.bytes);
    }
    /// Takes the result of a read from the socket.
    error_code take(error_code ec, std::size_t bytes)
    {
        if (ec == asio::error::eof)
            return asio::ssl::error::stream_truncated;
        return ec ? ec : session_.feed({received_.data(), bytes});
    }

    /// Takes a step of the session, tells the peer what follows from it, and repeats that with more of the peer's bytes.
    template <class Step>
    void go_on(Step step, resumption done)
    {
        tls_session::result const made = step();
        auto next = [this, self = shared_from_this(), step, made,
                     done = std::move(done)](error_code ec = {}, std::size_t bytes = 0) mutable {
            session_.sent(bytes);
            if (ec || made.ec || made.done)
                return done(made.ec ? made.ec : ec, made.bytes);
            socket_.async_read_some(
                asio::buffer(received_),
                [this, self, step, done = std::move(done)](error_code failed, std::size_t more) mutable {
                    error_code const trouble = take(failed, more);
                    trouble ? done(trouble) : go_on(std::move(step), std::move(done));
                });
        };
        std::string_view const out = session_.output();
        out.empty() ? asio::post(socket_.get_executor(), std::move(next))
                    : asio::async_write(socket_, asio::buffer(out), std::move(next));
    }

    void received(error_code ec, std::size_t bytes)
    {
        if (error_code const trouble = take(ec, bytes))
            return tell({.ec = trouble});
        auto const read = decipher(into_);
        read.ec || read.done ? tell(read) : start_read(into_);
    }

    error_code write_output()
    {
        error_code ec;
        session_.sent(write_some(session_.output(), ec));
        return ec;
    }

    void on_room(error_code ec) override
    {
        if (!ec)
            ec = write_output();
        ec || session_.output().empty() ? listener_->on_writable(ec) : await_room(ec);
    }

    std::shared_ptr<openssl_context> context_;
    socket socket_;
    tls_session session_;
    asio::mutable_buffer into_;
    std::array<char, std::size_t{17} * 1024> received_; ///< the longest record has room
};

void check(error_code const& ec, std::string const& what)
{
    if (ec)
        throw tls_error(what + ": " + ec.message());
}

} // namespace

std::shared_ptr<tls_context> make_tls_context(tls_settings const& settings)
{
    auto made = std::make_shared<openssl_context>();
    asio::ssl::context* const context = &made->ssl;
    error_code ec;
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    if (!settings.ca_file.empty())
        check(context->load_verify_file(settings.ca_file, ec), "CA file " + settings.ca_file);
    if (!settings.ca_dir.empty()) {
        std::error_code unreadable; // OpenSSL looks into it only when it needs a certificate
        std::filesystem::directory_iterator const entries(settings.ca_dir, unreadable);
        if (unreadable)
            throw tls_error("CA directory " + settings.ca_dir + ": " + unreadable.message());
        check(context->add_verify_path(settings.ca_dir, ec), "CA directory " + settings.ca_dir);
    }
    if (settings.ca_file.empty() && settings.ca_dir.empty())
        check(context->set_default_verify_paths(ec), "system certificate authorities");
    // A library asks nobody at the terminal for the key's passphrase, as OpenSSL does by default.
    context->set_password_callback(
        [](std::size_t, asio::ssl::context::password_purpose) { return std::string(); }, ec);
    if (!settings.cert_file.empty())
        check(context->use_certificate_chain_file(settings.cert_file, ec),
              "client certificate " + settings.cert_file);
    if (!settings.key_file.empty())
        check(context->use_private_key_file(settings.key_file, asio::ssl::context::pem, ec),
              "client key " + settings.key_file);
    return made;
}

std::shared_ptr<stream> make_tls_stream(socket s, std::shared_ptr<tls_context> context,
                                        std::string const& server_name, bool verify, error_code& ec)
{
    auto made =
        std::make_shared<tls_stream>(std::move(s), std::static_pointer_cast<openssl_context>(context));
    ec = made->session().expect(server_name, verify);
    return made;
}

} // namespace redlock::net
