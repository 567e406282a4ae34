// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_node.hpp"

#include "world/command.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace redlock::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

struct expectation {
    std::string command;
    answer then;
};

bool of_handshake(std::string const& command)
{
    constexpr std::array known{"HELLO", "AUTH", "SELECT", "CLIENT", "PING", "INFO", "CONFIG", "TIME"};
    return std::ranges::find(known, command) != known.end();
}

/// The kernel's tcp_info (include/uapi/linux/tcp.h) goes on where glibc's ends.
struct longer_tcp_info {
    tcp_info known;
    std::uint64_t rates_and_bytes[4];
    std::uint32_t segments[2];
    std::uint32_t not_sent;
    std::uint32_t min_rtt;
    std::uint32_t data_segments_in;
};
static_assert(offsetof(longer_tcp_info, data_segments_in) == 152);

std::string_view friendly(std::string const& command)
{
    if (command == "HELLO")
        return canned::hello;
    if (command == "PING")
        return canned::pong;
    if (command == "CONFIG")
        return canned::append_settings;
    if (command == "TIME")
        return canned::time;
    return command.starts_with("EVAL") ? canned::one : canned::ok;
}

} // namespace

std::string info_reply(std::vector<std::pair<std::string, std::string>> const& changes)
{
    std::string text(canned::info);
    for (auto const& [name, value] : changes) {
        auto const begin = text.find("\n" + name + ':') + name.size() + 2;
        text.replace(begin, text.find('\r', begin) - begin, value);
    }
    return "=" + std::to_string(text.size() + 4) + "\r\ntxt:" + text + "\r\n";
}

std::string time_reply(std::chrono::microseconds since_1970)
{
    auto const us = since_1970.count();
    return "*2\r\n" + bulk(std::to_string(us / 1'000'000)) + bulk(std::to_string(us % 1'000'000));
}

class scripted_node::impl : public std::enable_shared_from_this<impl> {
public:
    struct session {
        explicit session(tcp::socket s) : socket(std::move(s)) {}
        tcp::socket socket;
        std::array<char, 65536> chunk{};
        std::string input;
        std::string held;
        std::string trickle;
        bool holding = false;
        bool silent = false;
        bool closed = false;
    };
    using session_ptr = std::shared_ptr<session>;

    explicit impl(asio::io_context& context) : acceptor_(context, {asio::ip::address_v4::loopback(), 0}) {}

    void accept()
    {
        acceptor_.async_accept([self = shared_from_this()](error_code ec, tcp::socket socket) {
            if (ec)
                return;
            ++self->accepted;
            socket.set_option(tcp::no_delay(true));
            self->sessions.push_back(std::make_shared<session>(std::move(socket)));
            self->read(self->sessions.back());
            self->accept();
        });
    }

    void shut()
    {
        error_code ignored;
        acceptor_.close(ignored);
        for (auto const& s : std::exchange(sessions, {}))
            close(*s);
    }

    void read(session_ptr const& s)
    {
        s->socket.async_read_some(asio::buffer(s->chunk),
                                  [self = shared_from_this(), s](error_code ec, std::size_t n) {
                                      if (ec || s->closed)
                                          return self->close(*s);
                                      s->input.append(s->chunk.data(), n);
                                      while (auto const command = world::take_command(s->input)) {
                                          self->heard.push_back(*command);
                                          self->act(s, self->decide(*command));
                                          if (s->closed)
                                              return;
                                      }
                                      self->read(s);
                                  });
    }

    answer decide(words const& command)
    {
        auto const& name = command.front();
        if (!script.empty() && script.front().command == name) {
            answer then = std::move(script.front().then);
            script.pop_front();
            return then;
        }
        if (name == "INFO")
            return reply(info_reply({{"run_id", std::to_string(acceptor_.local_endpoint().port())}}));
        if (name == "SUBSCRIBE")
            return reply(subscription_push(command.at(1)));
        if (name == "PUBLISH")
            return reply(canned::zero);
        if (script.empty() || of_handshake(name))
            return reply(friendly(name));
        surprises.push_back("expected " + script.front().command + ", heard " + name);
        return silence();
    }

    void act(session_ptr const& s, answer const& a)
    {
        switch (a.what) {
        case answer::kind::late: s->holding = true; [[fallthrough]];
        case answer::kind::reply: return send(*s, a.bytes);
        case answer::kind::silence: s->silent = true; return;
        case answer::kind::close: return close(*s);
        case answer::kind::reset: s->socket.set_option(asio::socket_base::linger(true, 0)); return close(*s);
        case answer::kind::dribble: s->trickle += a.bytes; return trickle(s);
        }
    }

    void send(session& s, std::string_view bytes)
    {
        if (s.silent || s.closed)
            return;
        if (s.holding || !s.trickle.empty()) {
            s.held += bytes;
            return;
        }
        error_code ignored;
        asio::write(s.socket, asio::buffer(bytes), ignored);
    }

    void trickle(session_ptr const& s)
    {
        asio::async_write(s->socket, asio::buffer(s->trickle, 1),
                          [self = shared_from_this(), s](error_code ec, std::size_t) {
                              if (ec || s->closed)
                                  return;
                              s->trickle.erase(0, 1);
                              if (!s->trickle.empty())
                                  return self->trickle(s);
                              if (!s->holding)
                                  self->send(*s, std::exchange(s->held, {}));
                          });
    }

    void close(session& s)
    {
        error_code ignored;
        s.closed = true;
        s.socket.close(ignored);
    }

    tcp::acceptor acceptor_;
    std::deque<expectation> script;
    std::vector<words> heard;
    std::vector<std::string> surprises;
    std::vector<session_ptr> sessions;
    std::size_t accepted = 0;
};

scripted_node::scripted_node(asio::io_context& context) : impl_(std::make_shared<impl>(context))
{
    impl_->accept();
}

scripted_node::~scripted_node()
{
    impl_->shut();
}

scripted_node& scripted_node::expect(std::string command, answer then)
{
    impl_->script.push_back({std::move(command), std::move(then)});
    return *this;
}

void scripted_node::deliver_late()
{
    for (auto const& s : impl_->sessions) {
        s->holding = false;
        impl_->send(*s, std::exchange(s->held, {}));
    }
}

void scripted_node::say(std::string_view bytes)
{
    for (auto const& s : impl_->sessions)
        impl_->send(*s, bytes);
}

void scripted_node::close_all()
{
    for (auto const& s : impl_->sessions)
        impl_->close(*s);
}

std::string scripted_node::url() const
{
    return "redis://127.0.0.1:" + std::to_string(impl_->acceptor_.local_endpoint().port());
}

bool scripted_node::done() const
{
    return impl_->script.empty();
}

std::vector<scripted_node::words> const& scripted_node::heard() const
{
    return impl_->heard;
}

std::size_t scripted_node::count(std::string_view command) const
{
    return static_cast<std::size_t>(
        std::ranges::count_if(impl_->heard, [&](words const& w) { return w.front() == command; }));
}

std::vector<std::string> const& scripted_node::surprises() const
{
    return impl_->surprises;
}

std::size_t scripted_node::accepted() const
{
    return impl_->accepted;
}

std::size_t scripted_node::open() const
{
    return static_cast<std::size_t>(
        std::ranges::count_if(impl_->sessions, [](auto const& s) { return !s->closed; }));
}

std::uint32_t scripted_node::writes_received() const
{
    longer_tcp_info info{};
    socklen_t size = sizeof info;
    ::getsockopt(impl_->sessions.back()->socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size);
    return info.data_segments_in;
}

} // namespace redlock::test
