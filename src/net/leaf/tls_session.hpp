// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/machine.hpp"

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace redlock::net {

/// One end of a TLS connection, without the connection: OpenSSL reads the peer's bytes from memory, and writes its own to
/// memory. So the bytes of a turn are one write, however many records they are.
class tls_session {
public:
    /// \throws std::bad_alloc
    explicit tls_session(SSL_CTX* context);

    /// The server's certificate must be for this name, which is also sent as SNI unless it is a numeric address.
    [[nodiscard]] error_code expect(std::string server_name, bool verify);

    /// The result of a step. Neither done nor an error: more bytes of the peer are needed.
    struct result {
        error_code ec{};
        bool done = false;
        std::size_t bytes = 0;
    };
    [[nodiscard]] result handshake();
    /// Takes all of the bytes.
    [[nodiscard]] result encipher(std::string_view);
    /// Fills the memory as far as there are bytes.
    [[nodiscard]] result decipher(std::span<char> into);
    /// Did `decipher` end last for want of the peer's bytes?
    [[nodiscard]] bool starved() const { return starved_; }

    /// Takes bytes that have come from the peer.
    [[nodiscard]] error_code feed(std::string_view);
    /// Bytes for the peer.
    [[nodiscard]] std::string_view output() const;
    /// So many bytes of the output are on their way.
    void sent(std::size_t bytes);

    /// After a failure: the problem with a certificate, the peer's or ours; empty if there is none.
    [[nodiscard]] std::string certificate_trouble() const;

private:
    struct deleter {
        void operator()(SSL* ssl) const { SSL_free(ssl); }
    };

    [[nodiscard]] result judge(int returned) const;

    std::unique_ptr<SSL, deleter> ssl_;
    std::size_t sent_ = 0; ///< bytes of the memory for output
    bool starved_ = false;
};

} // namespace redlock::net
