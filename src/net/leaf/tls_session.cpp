// SPDX-License-Identifier: BSL-1.0
#include "net/leaf/tls_session.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <new>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

error_code last_error()
{
    error_code const ec{static_cast<int>(ERR_get_error()), asio::error::get_ssl_category()};
    ERR_clear_error(); // the program's own use of OpenSSL in this thread shall not find it
    return ec ? ec : asio::ssl::error::unexpected_result;
}

bool is_numeric(std::string const& host)
{
    error_code ec;
    asio::ip::make_address(host, ec);
    return !ec;
}

} // namespace

tls_session::tls_session(SSL_CTX* context) : ssl_(SSL_new(context))
{
    BIO* const input = ssl_ ? BIO_new(BIO_s_mem()) : nullptr;
    BIO* const output = input ? BIO_new(BIO_s_mem()) : nullptr;
    if (!output) {
        BIO_free(input);
        throw std::bad_alloc();
    }
    SSL_set_bio(ssl_.get(), input, output);
    SSL_set_connect_state(ssl_.get());
    // Asio asks OpenSSL for the opposite, for servers with many idle connections: these are few, and busy.
    SSL_clear_mode(ssl_.get(), SSL_MODE_RELEASE_BUFFERS);
    // A second handshake would make a write wait for a read.
    SSL_set_options(ssl_.get(), SSL_OP_NO_RENEGOTIATION);
}

tls_session::result tls_session::handshake()
{
    ERR_clear_error();
    return judge(SSL_do_handshake(ssl_.get()));
}

/// OpenSSL itself compares the names, so that its verdict says what did not match. Neither the root's dot (RFC 6066,
/// section 3) nor the zone of an address is part of a name in SNI or in a certificate.
error_code tls_session::expect(std::string server_name, bool verify)
{
    SSL* const ssl = ssl_.get();
    ERR_clear_error();
    if (server_name.ends_with('.'))
        server_name.pop_back();
    bool const numeric = is_numeric(server_name);
    if (numeric)
        server_name = server_name.substr(0, server_name.find('%'));
    if (!numeric && SSL_set_tlsext_host_name(ssl, server_name.c_str()) != 1)
        return last_error();
    SSL_set_verify(ssl, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (!verify)
        return {};
    if (!numeric)
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    int const done = numeric ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server_name.c_str())
                             : SSL_set1_host(ssl, server_name.c_str());
    if (done == 1 && !server_name.empty()) // an empty name would allow any
        return {};
    return server_name.empty() ? asio::error::invalid_argument : last_error();
}

tls_session::result tls_session::encipher(std::string_view bytes)
{
    if (bytes.empty())
        return {.done = true};
    std::size_t taken = 0;
    ERR_clear_error();
    bool const all = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &taken) == 1;
    return all ? result{.done = true, .bytes = taken} : result{.ec = last_error()};
}

tls_session::result tls_session::decipher(std::span<char> into)
{
    result so_far{.done = true};
    starved_ = false;
    while (so_far.bytes != into.size()) {
        std::size_t more = 0;
        ERR_clear_error();
        int const returned =
            SSL_read_ex(ssl_.get(), into.data() + so_far.bytes, into.size() - so_far.bytes, &more);
        so_far.bytes += more;
        if (returned == 1)
            continue;
        result const end = judge(returned);
        starved_ = !end.ec;
        return so_far.bytes != 0 ? so_far : end; // an error is found again
    }
    return so_far;
}

tls_session::result tls_session::judge(int returned) const
{
    switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_NONE: return {.done = true};
    case SSL_ERROR_WANT_READ: return {};
    case SSL_ERROR_ZERO_RETURN: return {.ec = asio::error::eof};
    default: break;
    }
    return {.ec = last_error()};
}

/// Memory is all that OpenSSL can lack here.
error_code tls_session::feed(std::string_view bytes)
{
    auto const size = static_cast<int>(bytes.size());
    bool const taken = BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), size) == size;
    return taken ? error_code() : asio::error::no_memory;
}

std::string_view tls_session::output() const
{
    char* begin = nullptr;
    auto const size = BIO_get_mem_data(SSL_get_wbio(ssl_.get()), &begin);
    return std::string_view(begin, static_cast<std::size_t>(size)).substr(sent_);
}

void tls_session::sent(std::size_t bytes)
{
    bool const all = bytes == output().size();
    sent_ = all ? 0 : sent_ + bytes;
    if (all)
        (void)BIO_reset(SSL_get_wbio(ssl_.get()));
}

std::string tls_session::certificate_trouble() const
{
    SSL* const ssl = ssl_.get();
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

} // namespace redlock::net
