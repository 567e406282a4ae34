// SPDX-License-Identifier: BSL-1.0
#include "kit/fault_proxy_pipe.hpp"

#include "kit/fault_proxy_session.hpp"

#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <utility>

namespace redlock::test::proxy {
namespace {

/// Without it the receiver's kernel joins the bytes again before the receiver has read the first.
constexpr std::chrono::microseconds dribble_gap{100};

} // namespace

void pipe::read()
{
    if (reading_ || source_ended_ || deaf() || !from_.is_open())
        return;
    reading_ = true;
    from_.async_wait(tcp::socket::wait_read, [this, alive = owner_.shared_from_this()](error_code ec) {
        reading_ = false;
        if (ec != asio::error::operation_aborted && from_.is_open() && !deaf())
            on_readable();
    });
}

void pipe::on_readable()
{
    std::array<char, 16384> buffer;
    error_code ec;
    auto const count = from_.read_some(asio::buffer(buffer), ec);
    if (ec == asio::error::would_block)
        return read();
    if (ec)
        return on_end(ec);
    // Counted before it is forwarded, so that a test that has seen a byte finds it counted.
    news_.write([&](figures& now) { now.bytes[index(way_)] += count; });
    if (!swallowing_)
        arrived(std::string(buffer.data(), count));
    read();
}

void pipe::on_end(error_code ec)
{
    source_ended_ = true;
    if (!swallowing_) {
        judge({ec == asio::error::eof ? chunk::kind::fin : chunk::kind::reset});
    } else if (way_ == direction::to_server) {
        owner_.close();
    }
}

void pipe::arrived(std::string bytes)
{
    if (auto const other = std::exchange(wanted_.replacement, std::nullopt))
        bytes = *other;
    if (std::exchange(wanted_.duplicate, false))
        judge({chunk::kind::data, bytes});
    judge({chunk::kind::data, std::move(bytes)});
}

void pipe::judge(chunk part)
{
    switch (wanted_.how) {
    case mode::hold:
    case mode::cut: return keep(std::move(part), clock::time_point::max());
    case mode::delay: return keep(std::move(part), clock::now() + wanted_.by);
    case mode::drop:
        if (part.what == chunk::kind::data)
            return;
        break;
    case mode::dribble: part.dribble = true; break;
    case mode::pass: break;
    }
    ready_.push_back(std::move(part));
    write();
}

void pipe::keep(chunk part, clock::time_point due)
{
    part.due = due;
    auto const size = part.bytes.size();
    waiting_.push_back(std::move(part));
    news_.write([&](figures& now) { now.held[index(way_)] += size; });
    arm();
}

chunk pipe::next_waiting()
{
    auto part = std::move(waiting_.front());
    waiting_.pop_front();
    news_.write([&](figures& now) { now.held[index(way_)] -= part.bytes.size(); });
    return part;
}

void pipe::lose_waiting()
{
    while (!waiting_.empty())
        next_waiting();
}

void pipe::arm()
{
    if (waiting_.empty() || waiting_.front().due == clock::time_point::max())
        return;
    due_.expires_at(waiting_.front().due);
    due_.async_wait([this, alive = owner_.shared_from_this()](error_code ec) {
        if (ec)
            return;
        while (!waiting_.empty() && waiting_.front().due <= clock::now())
            ready_.push_back(next_waiting());
        write();
        arm();
    });
}

void pipe::judge_again()
{
    if (!swallowing_) {
        // Judging may end the session, and with it what waits.
        for (auto rest = waiting_.size(); rest > 0 && !waiting_.empty(); --rest)
            judge(next_waiting());
    }
    read();
}

void pipe::flush()
{
    while (!waiting_.empty())
        ready_.push_back(next_waiting());
    write();
}

void pipe::swallow()
{
    swallowing_ = true;
    lose_waiting();
    ready_.clear();
    read();
}

void pipe::stop()
{
    finished_ = true;
    lose_waiting();
    ready_.clear();
    due_.cancel();
    gap_.cancel();
}

void pipe::write()
{
    if (writing_ || finished_ || ready_.empty())
        return;
    current_ = std::move(ready_.front());
    ready_.pop_front();
    written_ = 0;
    if (current_.what == chunk::kind::reset)
        return owner_.reset();
    if (current_.what == chunk::kind::data)
        return write_bytes();
    error_code ignored;
    to_.shutdown(tcp::socket::shutdown_send, ignored);
    finished_ = true;
    owner_.finished_one();
}

void pipe::write_bytes()
{
    writing_ = true;
    auto const rest = asio::buffer(current_.bytes) + written_;
    asio::async_write(to_, asio::buffer(rest, current_.dribble ? 1 : rest.size()),
                      [this, alive = owner_.shared_from_this()](error_code ec, std::size_t count) {
                          on_written(ec, count);
                      });
}

void pipe::on_written(error_code ec, std::size_t count)
{
    writing_ = false;
    if (finished_)
        return;
    news_.write([&](figures& now) { now.forwarded[index(way_)] += count; });
    if (ec) {
        // The receiver is gone. The other pipe reports its last bytes, and how it left.
        finished_ = true;
        return owner_.finished_one();
    }
    written_ += count;
    if (written_ == current_.bytes.size() || swallowing_)
        return write();
    writing_ = true;
    gap_.expires_after(dribble_gap);
    gap_.async_wait([this, alive = owner_.shared_from_this()](error_code failed) {
        writing_ = false;
        if (!failed && !finished_ && !swallowing_)
            write_bytes();
    });
}

} // namespace redlock::test::proxy
