// SPDX-License-Identifier: BSL-1.0
#include "net/leaf/tls.hpp"

#include "core/memory.hpp"
#include "net/coroutine.hpp"
#include "net/leaf/handler_memory.hpp"
#include "net/leaf/parting.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

constexpr std::size_t longest_record = std::size_t{16} * 1024;
/// How long a stream may take to get its last bytes out.
constexpr std::chrono::milliseconds farewell{500};

struct openssl_context final : tls_context {
    asio::ssl::context ssl{asio::ssl::context::tls_client};
};

class tls_stream final : public socket_stream {
public:
    tls_stream(socket s, std::shared_ptr<openssl_context> context)
        : context_(std::move(context)), ssl_(std::move(s), context_->ssl)
    {}

    asio::ssl::stream<socket>& ssl() { return ssl_; }
    socket& transport() override { return ssl_.next_layer(); }

    void handshake(resumption done) override
    {
        ssl_.async_handshake(asio::ssl::stream_base::client, std::move(done));
    }

    void read(asio::mutable_buffer into, resumption done) override
    {
        ssl_.async_read_some(into, std::move(done));
    }

    void write(asio::const_buffer bytes, resumption done) override
    {
        asio::async_write(ssl_, bytes, std::move(done));
    }

    std::string certificate_trouble() override
    {
        SSL* const ssl = ssl_.native_handle();
        long const verdict = SSL_get_verify_result(ssl);
        if (verdict != X509_V_OK && (SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) != 0)
            return X509_verify_cert_error_string(verdict);
        // TLS 1.3 servers judge the client's certificate after the client's handshake is over, and their alert is
        // easily lost to the reset behind it. Only a request for a certificate tells a client such algorithms.
        bool const asked = SSL_get_sigalgs(ssl, 0, nullptr, nullptr, nullptr, nullptr, nullptr) > 0;
        if (!asked)
            return {};
        return SSL_get_certificate(ssl) == nullptr
                   ? "the server asked for a client certificate, and none is configured"
                   : "the server asked for a client certificate, and may not accept ours";
    }

    /// Decrypts into memory of its own: a read outlives the listener, which may have freed its buffer.
    void start_read(asio::mutable_buffer into) override
    {
        into_ = into;
        auto done = [this, self = shared_from_this()](error_code ec, std::size_t bytes) {
            if (!listener_)
                return;
            std::memcpy(into_.data(), deciphered_.data(), bytes);
            listener_->on_read(ec, bytes);
        };
        ssl_.async_read_some(asio::buffer(deciphered_, into.size()),
                             asio::bind_allocator(handler_allocator<void>(read_memory_), std::move(done)));
    }

    /// A TLS record cannot be taken back when the socket is full, so a write is started and the next waits for it.
    void flush(std::string& out) override
    {
        if (writing_)
            return;
        start_write(out);
    }

    void finish(std::string rest) override
    {
        listener_ = nullptr;
        if (rest.empty() && !writing_)
            return part(std::static_pointer_cast<socket_stream>(shared_from_this()), {});
        last_words_ = std::move(rest);
        limit_ = std::make_unique<asio::steady_timer>(ssl_.get_executor(), farewell);
        limit_->async_wait([self = shared_from_this()](error_code ec) {
            if (!ec)
                self->close();
        });
        if (!writing_)
            start_write(last_words_);
    }

private:
    void start_write(std::string& out)
    {
        writing_ = true;
        std::swap(out, in_flight_);
        out.clear();
        auto done = [this, self = shared_from_this()](error_code ec, std::size_t) { written(ec); };
        asio::async_write(ssl_, asio::buffer(in_flight_),
                          asio::bind_allocator(handler_allocator<void>(write_memory_), std::move(done)));
    }

    void written(error_code ec)
    {
        writing_ = false;
        in_flight_.clear();
        if (listener_)
            return listener_->on_writable(ec);
        if (!limit_)
            return;
        bool const goes_on = core::if_memory_allows([&] {
            if (!ec && !last_words_.empty())
                return start_write(last_words_);
            limit_->cancel();
            part(std::static_pointer_cast<socket_stream>(shared_from_this()), {});
        });
        if (!goes_on)
            close();
    }

    std::shared_ptr<openssl_context> context_;
    asio::ssl::stream<socket> ssl_;
    asio::mutable_buffer into_;
    std::array<char, longest_record> deciphered_;
    std::string in_flight_;
    std::string last_words_;
    std::unique_ptr<asio::steady_timer> limit_;
};

void check(error_code const& ec, std::string const& what)
{
    if (ec)
        throw tls_error(what + ": " + ec.message());
}

bool is_numeric(std::string const& host)
{
    error_code ec;
    asio::ip::make_address(host, ec);
    return !ec;
}

error_code last_error()
{
    return {static_cast<int>(ERR_get_error()), asio::error::get_ssl_category()};
}

/// OpenSSL itself compares the names, so that its verdict says what did not match.
error_code expect(SSL* ssl, std::string const& name)
{
    ERR_clear_error();
    bool const numeric = is_numeric(name);
    if (!numeric)
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    int const done = numeric ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str())
                             : SSL_set1_host(ssl, name.c_str());
    if (done == 1 && !name.empty()) // an empty name would allow any
        return {};
    error_code const ec = last_error();
    return ec ? ec : asio::error::invalid_argument;
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
    auto& ssl = made->ssl();
    if (!is_numeric(server_name) && SSL_set_tlsext_host_name(ssl.native_handle(), server_name.c_str()) != 1) {
        ec = last_error();
        return nullptr;
    }
    // Asio asks OpenSSL for the opposite, for servers with many idle connections: these are few, and busy.
    SSL_clear_mode(ssl.native_handle(), SSL_MODE_RELEASE_BUFFERS);
    ssl.set_verify_mode(verify ? asio::ssl::verify_peer : asio::ssl::verify_none, ec);
    if (!ec && verify)
        ec = expect(ssl.native_handle(), server_name);
    return made;
}

} // namespace redlock::net
