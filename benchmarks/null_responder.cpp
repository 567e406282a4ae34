// SPDX-License-Identifier: BSL-1.0
#include "null_responder.hpp"

#include "sockets.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

namespace {

constexpr std::size_t max_arguments = 16;

struct request {
    std::array<std::string_view, max_arguments> arguments; // further ones are skipped
    std::size_t count = 0;
    std::size_t bytes = 0;
};

/// "<mark><digits>\r\n": the number, and `at` behind it; nothing when the line is not complete.
std::optional<std::size_t> read_count(std::string_view input, std::size_t& at)
{
    std::size_t number = 0;
    for (std::size_t digit = at + 1; digit + 1 < input.size(); ++digit) {
        if (input[digit] == '\r') {
            at = digit + 2;
            return number;
        }
        number = number * 10 + static_cast<std::size_t>(input[digit] - '0');
    }
    return std::nullopt;
}

bool parse(std::string_view input, request& out)
{
    if (input.empty())
        return false;
    std::size_t at = 0;
    auto const count = read_count(input, at);
    if (!count)
        return false;
    for (std::size_t index = 0; index < *count; ++index) {
        auto const size = read_count(input, at);
        if (!size || input.size() < at + *size + 2)
            return false;
        if (index < max_arguments)
            out.arguments[index] = input.substr(at, *size);
        at += *size + 2;
    }
    out.count = *count < max_arguments ? *count : max_arguments;
    out.bytes = at;
    return true;
}

bool is(std::string_view word, std::string_view upper_case)
{
    if (word.size() != upper_case.size())
        return false;
    for (std::size_t index = 0; index < word.size(); ++index)
        if ((word[index] & ~0x20) != (upper_case[index] & ~0x20))
            return false;
    return true;
}

void append_bulk(std::string& out, std::string_view text)
{
    out += '$' + std::to_string(text.size()) + "\r\n";
    out.append(text) += "\r\n";
}

class connection {
public:
    connection(int fd, std::size_t node) : socket_{fd}, node_{node} { no_delay(fd); }

    bool on_readable() // false: the peer has gone
    {
        auto const size = ::read(socket_.get(), in_.get() + have_, capacity - have_);
        if (size <= 0)
            return size < 0 && (errno == EAGAIN || errno == EINTR);
        have_ += static_cast<std::size_t>(size);
        std::size_t used = 0;
        while (parse({in_.get() + used, have_ - used}, request_)) {
            answer();
            used += request_.bytes;
        }
        have_ -= used;
        if (have_ == capacity)
            return false;
        std::memmove(in_.get(), in_.get() + used, have_);
        return flush();
    }

private:
    static constexpr std::size_t capacity = 1U << 20;
    static constexpr std::size_t arguments_of_mark = 10; // mark.lua: no other script has as many

    void answer()
    {
        std::string_view const name = request_.arguments[0];
        if (is(name, "SET"))
            out_ += "+OK\r\n";
        else if (is(name, "EVAL") && request_.count == arguments_of_mark)
            append_bulk(out_, "1700000000000 run:data/0a1b2c3d/0/0");
        else if (is(name, "EVALSHA") || is(name, "EVAL"))
            out_ += ":1\r\n";
        else
            answer_setup(name);
    }

    void answer_setup(std::string_view name)
    {
        if (is(name, "HELLO"))
            greet();
        else if (is(name, "INFO"))
            inform();
        else if (is(name, "PING"))
            out_ += "+PONG\r\n";
        else if (is(name, "SCRIPT"))
            append_bulk(out_, "0123456789abcdef0123456789abcdef01234567");
        else if (is(name, "CLIENT") && request_.count > 1 && is(request_.arguments[1], "ID"))
            out_ += ':' + std::to_string(socket_.get()) + "\r\n";
        else if (is(name, "CLIENT") || is(name, "AUTH") || is(name, "SELECT"))
            out_ += "+OK\r\n";
        else if (is(name, "GET") || is(name, "PTTL") || is(name, "DEL"))
            out_ +=
                is(name, "GET") ? (resp3_ ? "_\r\n" : "$-1\r\n") : (is(name, "DEL") ? ":1\r\n" : ":-2\r\n");
        else
            out_ += "-ERR unknown command\r\n";
    }

    void greet()
    {
        resp3_ = request_.count > 1 && request_.arguments[1] == "3";
        out_ += resp3_ ? "%7\r\n" : "*14\r\n";
        out_ += "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n";
        out_ += resp3_ ? ":3\r\n" : ":2\r\n";
        out_ += "$2\r\nid\r\n:" + std::to_string(socket_.get()) + "\r\n";
        out_ += "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";
    }

    void inform()
    {
        std::string identity(40, '0'); // nodes with one run_id are taken for one server
        identity.back() = static_cast<char>('a' + node_ % 26);
        std::string text =
            "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:" + identity +
            "\r\nuptime_in_seconds:1000000\r\n\r\n# "
            "Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n\r\n"
            "# Persistence\r\nloading:0\r\nasync_loading:0\r\naof_enabled:0\r\nrdb_last_save_time:0\r\n\r\n"
            "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:" +
            identity + "\r\nmaster_replid2:" + std::string(40, '0') +
            "\r\nmaster_repl_offset:0\r\nsecond_repl_offset:-1\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n";
        if (resp3_)
            out_ += '=' + std::to_string(text.size() + 4) + "\r\ntxt:" + text + "\r\n";
        else
            append_bulk(out_, text);
    }

    bool flush()
    {
        std::size_t sent = 0;
        while (sent < out_.size()) {
            auto const size =
                ::send(socket_.get(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (size > 0) {
                sent += static_cast<std::size_t>(size);
            } else if (errno == EAGAIN) {
                pollfd writable{socket_.get(), POLLOUT, 0};
                ::poll(&writable, 1, 1000);
            } else if (errno != EINTR) {
                return false;
            }
        }
        out_.clear();
        return true;
    }

    descriptor socket_;
    std::size_t node_;
    std::unique_ptr<char[]> in_{new char[capacity]};
    std::size_t have_ = 0;
    std::string out_;
    request request_;
    bool resp3_ = false;
};

} // namespace

void serve_null(std::span<int const> listeners)
{
    descriptor const poller{::epoll_create1(EPOLL_CLOEXEC)};
    std::vector<std::unique_ptr<connection>> connections; // by descriptor
    auto const watch = [&](int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        ::epoll_ctl(poller.get(), EPOLL_CTL_ADD, fd, &event);
    };
    auto const node_of = [&](int fd) -> std::optional<std::size_t> {
        for (std::size_t node = 0; node < listeners.size(); ++node)
            if (listeners[node] == fd)
                return node;
        return std::nullopt;
    };
    for (int const listener : listeners)
        watch(listener);
    std::array<epoll_event, 64> events;
    for (;;) {
        int const ready = ::epoll_wait(poller.get(), events.data(), static_cast<int>(events.size()), -1);
        for (int index = 0; index < ready; ++index) {
            auto const fd = events[static_cast<std::size_t>(index)].data.fd;
            auto const slot = static_cast<std::size_t>(fd);
            if (slot < connections.size() && connections[slot]) {
                if (!connections[slot]->on_readable())
                    connections[slot].reset();
            } else if (auto const node = node_of(fd)) {
                int const accepted = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (accepted < 0)
                    continue;
                if (connections.size() <= static_cast<std::size_t>(accepted))
                    connections.resize(static_cast<std::size_t>(accepted) + 1);
                connections[static_cast<std::size_t>(accepted)] =
                    std::make_unique<connection>(accepted, *node);
                watch(accepted);
            }
        }
    }
}

} // namespace redlock::bench
