// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/coroutine.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"
#include "world/link.hpp"

#include <boost/asio/buffer.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::world {

/// TLS as its users see it: bytes come in records, which can be read only as a whole; an announced end can be told from
/// one that was not.
namespace tls_record {

constexpr char alert = '\x15';
constexpr char handshake = '\x16';
constexpr char data = '\x17';
constexpr std::string_view close_notify("\1\0", 2);

[[nodiscard]] std::string wrap(char type, std::string_view content);
/// Takes one record out, type and content. Empty: it is not complete.
[[nodiscard]] std::optional<std::pair<char, std::string>> take(std::string& from);

} // namespace tls_record

/// The client's end, over a stream that is connected.
class sim_tls_stream final : public net::stream, private net::stream_listener {
public:
    sim_tls_stream(std::shared_ptr<sim_stream> plain, bool verify) : plain_(std::move(plain)), verify_(verify)
    {
        plain_->listen(*this);
    }

    void connect(net::endpoint const&, bool, net::resumption) override {} // it is already
    void interrupt() override { plain_->interrupt(); }
    void handshake(net::resumption) override;
    void read(boost::asio::mutable_buffer, net::resumption) override;
    void write(boost::asio::const_buffer, net::resumption) override;
    [[nodiscard]] std::string certificate_trouble() override { return trouble_; }
    void start_read(boost::asio::mutable_buffer) override;
    void flush(std::string& out) override;
    /// The state of the connection underneath: bytes that have been read from it and not been asked for are not seen.
    [[nodiscard]] bool readable() override { return plain_->readable(); }
    [[nodiscard]] bool hung_up() override { return plain_->hung_up(); }
    void close() override;
    void drop() override;
    void finish(std::string rest) override;

private:
    using completion = sim_stream::completion;
    static constexpr std::size_t most_at_once = std::size_t{17} * 1024;

    void next_record(completion);
    void shaken(net::error_code, completion const&);
    void await_content(completion);
    [[nodiscard]] std::size_t take(boost::asio::mutable_buffer into);
    void on_read(net::error_code, std::size_t) override {} // reads have handlers of their own
    void on_writable(net::error_code) override;

    std::shared_ptr<sim_stream> plain_;
    bool verify_;
    std::string trouble_;
    std::string raw_ = {};     ///< read from the connection
    std::string chunk_ = {};   ///< a read's, from the connection
    std::string content_ = {}; ///< the part of the last record that is not read yet
    char type_ = 0;
    bool notified_ = false;   ///< the end was announced
    std::string unsent_ = {}; ///< records, or a part of one
};

} // namespace redlock::world
