// SPDX-License-Identifier: BSL-1.0
#include "core/backoff.hpp"
#include "core/memory.hpp"
#include "net/node.hpp"
#include "net/stream.hpp"
#include "redis/info.hpp"
#include <redlock/server_error.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

// How a connection begins, is judged and ends.
namespace redlock::net {

namespace {

constexpr std::size_t first_input_size = std::size_t{16} * 1024;

} // namespace

void node::close()
{
    broadcast_.hand_over();
    closed_ = true;
    bool const unsent = !stream_; // nothing is written before the handshake is over
    due_.reset();
    loop_.cancel(timer_);
    cancel_connector();
    if (auto const last = std::exchange(stream_, nullptr))
        if (awaited_.empty() || !core::if_memory_allows([&] { last->finish(std::move(out_)); }))
            last->close();
    out_.clear();
    enter(node_state::idle);
    fail(awaited_.size(), {node_result::unreachable, server_error::none, "shut down", unsent});
}

/// Asio does not remove the socket from the epoll set that a child shares with its parent. A close would remove it if
/// it closed the last descriptor of the connection.
void node::drop_connection()
{
    closed_ = true;
    cancel_connector();
    if (stream_)
        std::exchange(stream_, nullptr)->drop();
}

void node::cancel_connector()
{
    if (connector_)
        std::exchange(connector_, nullptr)->cancel();
}

void node::enter(node_state next)
{
    state_ = next;
    if (!connected()) {
        tracking_ = subscription_ = service::off;
        ++connections_;
    }
    listener_.on_node_changed(index_);
}

void node::connect()
{
    reading_ = false;
    began_ = loop_.now();
    out_.clear(); // commands for the former connection
    in_used_ = worked_off_ = 0;
    parser_.reset();
    std::ranges::fill(known_scripts_, false);
    native_.reset();
    // Not reported from here: the caller is not ready for it.
    out_of_memory_ = !core::if_memory_allows([this] {
        connector_ = std::make_shared<connector>(loop_.executor(), loop_.machine(), peer_,
                                                 static_cast<connect_listener&>(*this), attempt_limit());
        connector_->start();
    });
    enter(node_state::connecting);
    set_timer();
}

void node::fail_soon()
{
    out_of_memory_ = true;
    set_timer();
}

// rule N2
void node::on_connected(std::shared_ptr<stream> made, introduction told)
{
    loop::turn const begun(
        loop_); // finished by the next: the connector would swallow an exception of a user's handler
    connector_.reset();
    stream_ = std::move(made);
    if (!core::if_memory_allows([&] { meet(std::move(told)); }))
        fail_no_memory();
}

void node::meet(introduction told)
{
    facts_ = std::move(told.facts);
    server_time_ = told.clock;
    round_trip_ = server_time_ ? server_time_->took() : core::duration::zero();
    incarnation_ = redis::incarnation(facts_);
    native_ = facts_.info ? facts_.info->native : std::nullopt;
    std::optional<failure> disqualification = listener_.disqualification(index_);
    answered_ = heard_ = checked_ = loop_.now();
    answer_due_.reset();
    least_attempt_.succeeded(core::elapsed(began_, loop_.now()));
    if (disqualification)
        return down(std::move(*disqualification));
    in_ = std::make_shared<std::vector<char>>(first_input_size);
    stream_->listen(*this, in_);
    pace_ = {};
    failures_ = 0;
    failure_ = {};
    state_ = node_state::ready;
    if (!listener_.is_certain(index_))
        fail_unsent();
    if (state_ != node_state::ready) // a sink wanted to send a command, and found the connection closed
        return;
    enter(node_state::ready);
    set_timer();
    flush_soon();
}

/// The senders decide anew: a vote may be sent at once, and a release is.
void node::fail_unsent()
{
    out_.clear();
    fail(awaited_.size(), {.result = node_result::quarantined, .unsent = true});
}

void node::renew()
{
    if (!connected())
        return;
    down(node_result::unreachable, "asked anew who it is");
    if (state_ == node_state::down)
        connect();
}

void node::on_connect_failed(failure why)
{
    loop::turn const begun(
        loop_); // finished by the next: the connector would swallow an exception of a user's handler
    connector_.reset();
    down(std::move(why));
}

// rule A7
void node::down(failure why)
{
    broadcast_.hand_over();
    cancel_connector();
    if (stream_)
        std::exchange(stream_, nullptr)->close();
    reading_ = false;
    out_of_memory_ = false;
    out_.clear();
    answer_due_.reset();
    failure_ = std::move(why);
    failure_.unsent = state_ == node_state::connecting; // nothing is written before the handshake is over
    went_down_ = loop_.now();
    if (failure_.unsent && failure_.result == node_result::timed_out)
        least_attempt_.given_up(); // it was still connecting: the next attempt gets more time
    pace_ = {};
    ++failures_;
    retry_at_ = went_down_ + core::half_jitter(failures_, terms_.reconnect_first, terms_.reconnect_cap,
                                               loop_.machine().random_bits());
    std::size_t const waiting = awaited_.size(); // an observer may let others connect and send
    enter(node_state::down);
    fail(waiting, failure_);
    set_timer();
}

/// Sinks may send to this node again, which then is down or connecting anew: only the commands waiting now fail. In a
/// forked child none waits any more.
void node::fail(std::size_t waiting, failure const& why)
{
    for (std::size_t left = waiting; left != 0 && !awaited_.empty(); --left) {
        awaited_reply const next = awaited_.front();
        awaited_.pop_front();
        next.sink->on_failure(index_, next.tag, why);
    }
}

/// Replies to commands that were sent are read in their order, but do not count: a command may have been executed. The
/// state of tracking stays valid, and the answer to a subscription must be recognised.
void node::discount_awaited()
{
    broadcast_.hand_over();
    std::size_t const count = awaited_.size(); // sinks may send again, or end this connection
    std::uint32_t const connection = connections_;
    for (std::size_t i = 0; i != count && connections_ == connection; ++i) {
        if (awaited_[i].sink == &tracking_sink_ || awaited_[i].sink == &subscription_sink_)
            continue;
        awaited_reply const next = std::exchange(awaited_[i], {&drain_, 0});
        next.sink->on_failure(index_, next.tag, {node_result::quarantined});
    }
}

} // namespace redlock::net
