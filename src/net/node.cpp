// SPDX-License-Identifier: BSL-1.0
#include "net/node.hpp"

#include "core/memory.hpp"
#include "net/machine.hpp"
#include "redis/error_class.hpp"
#include "redis/resp.hpp"
#include "redis/server_words.hpp"
#include <redlock/server_error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace redlock::net {

namespace {

constexpr std::size_t first_queue_size = 64;

} // namespace

node::node(loop& l, node_listener& listener, broadcast& shared, unsigned index,
           std::shared_ptr<peer const> to, node_terms const& terms)
    : loop_(l), listener_(listener), broadcast_(shared), peer_(std::move(to)), terms_(terms),
      awaited_(first_queue_size), index_(index)
{
    broadcast_.add(*this);
}

node::~node()
{
    cancel_connector();
    if (stream_)
        stream_->close();
}

/// Guarantees that no command is appended in part, and that each appended command has room for its reply.
bool node::reserve_capacity() noexcept
{
    return core::if_memory_allows([this] {
        if (awaited_.reserve() < spare_places)
            awaited_.set_capacity(awaited_.capacity() * 2);
        if (out_.capacity() - out_.size() < spare_output)
            out_.reserve(std::max(out_.size() + 2 * spare_output, 2 * out_.capacity()));
        places_limit_ = std::min(awaited_.capacity() - spare_places + 1, max_queue_size);
        bytes_limit_ = std::min(out_.capacity() - spare_output + 1, max_output);
    });
}

/// Votes have smaller limits than releases. If the last connection failed, that reason is kept.
bool node::connect_to_send()
{
    if (!connect_to_release())
        return false;
    if (awaited_.size() < max_queue_size && out_.size() < max_output)
        return true;
    if (failure_.detail.empty())
        failure_.detail = "queue is full"; // short enough to need no memory
    return false;
}

bool node::connect_to_release()
{
    broadcast_.hand_over();
    return !closed_ && awaited_.size() < max_queue_size_with_releases &&
           out_.size() < max_output_with_releases && come_near() && reserve_capacity();
}

/// True if there is a connection, or one is being made.
bool node::come_near()
{
    switch (state_) {
    case node_state::ready:
        if (was_silent())
            renew();
        else if (went_away())
            connect();
        return state_ != node_state::down;
    case node_state::connecting: return true;
    case node_state::down:
        if (!core::reached(retry_at_, loop_.now()))
            return false;
        [[fallthrough]];
    case node_state::idle: connect(); return true;
    case node_state::quarantined: break; // is no state of a connection
    }
    return false;
}

/// An idle connection is not read. So its end is not noticed, nor a reply without a question, which the next vote would
/// take for its own. Both are noticed here, before a vote is sent. Pushes about keys may be there, too.
bool node::went_away()
{
    if (!awaited_.empty() || reading_ || !stream_->readable() || only_pushes_unread())
        return false;
    std::exchange(stream_, nullptr)->close();
    return true;
}

/// The master of a group may have paused meanwhile, and not know that it has lost its replicas.
// rule N8
bool node::was_silent() const
{
    return awaited_.empty() && terms_.longest_silence > core::duration::zero() &&
           core::elapsed(heard_, loop_.now()) > terms_.longest_silence;
}

void node::begin_batch()
{
    if (awaited_.size() == 1)
        begin_wait();
    flush_soon();
}

void node::begin_wait()
{
    answered_ = loop_.now();
    look_again_by(answered_ + terms_.response_timeout);
}

void node::take_over(std::string_view bytes, std::span<awaited_reply const> replies, bool writes) noexcept
{
    bool const first = awaited_.empty();
    if (writes && out_.empty() && stream_ &&
        !loop_.forked()) // an observer may have forked in the middle of a turn
        bytes.remove_prefix(stream_->write_now(bytes));
    out_.append(bytes);
    for (awaited_reply const& each : replies)
        awaited_.push_back(each);
    if (first)
        begin_wait();
}

/// All nodes are connected, and keep their places: a node that is sent anything else takes over what is here before.
bool broadcast::open() noexcept
{
    for (node* const each : nodes_)
        if (!each->ensure_can_send_now())
            return false;
    if (!reserve())
        return false;
    commands_limit_ = awaited_.capacity();
    bytes_limit_ = bytes_.capacity() - node::spare_output + 1;
    for (node const* const each : nodes_) {
        commands_limit_ = std::min(commands_limit_, each->commands_left());
        bytes_limit_ = std::min(bytes_limit_, each->bytes_left());
    }
    return true;
}

/// Takes memory for one more command.
bool broadcast::reserve() noexcept
{
    bool const fits =
        bytes_.capacity() - bytes_.size() >= node::spare_output && awaited_.size() != awaited_.capacity();
    return fits || core::if_memory_allows([this] {
               bytes_.reserve(std::max(bytes_.size() + 2 * node::spare_output, 2 * bytes_.capacity()));
               awaited_.reserve(std::max<std::size_t>(2 * awaited_.capacity(), 64));
           });
}

void broadcast::begin() noexcept
{
    for (node* const each : nodes_)
        each->flush_soon();
}

void broadcast::distribute(bool writes) noexcept
{
    for (node* const each : nodes_)
        each->take_over(bytes_, awaited_, writes);
    bytes_.clear();
    awaited_.clear();
}

/// If a flush fails half-way, the stream ends: the next connection begins anew.
void node::flush() noexcept
{
    broadcast_.write();
    dirty_ = false;
    if (!connected())
        return;
    bool const done = core::if_memory_allows([this] {
        if (!out_.empty()) {
            stream_->flush(out_);
            bytes_limit_ = 0; // the stream may have taken the output's memory
        }
        read_more();
    });
    if (!done)
        fail_no_memory();
}

/// A read is pending only while a reply or a push is awaited: an idle client leaves nothing that keeps its executor
/// busy.
void node::read_more()
{
    if (reading_ || (awaited_.empty() && !(pushes_expected_ && server_may_push())))
        return;
    if (in_used_ == in_->size())
        in_->resize(in_->size() * 2); // bounded by the parser's limits
    reading_ = true;
    stream_->start_read({in_->data() + in_used_, in_->size() - in_used_});
}

void node::on_writable(error_code ec)
{
    loop::turn current(loop_);
    ec ? lost_connection(ec) : flush_soon();
    current.finish();
}

void node::lost_connection(error_code ec)
{
    failure why;
    core::if_memory_allows([&] { why.detail = ec.message(); });
    down(std::move(why));
}

/// Without memory the failure has no text.
void node::down(node_result result, char const* words)
{
    failure why{result};
    core::if_memory_allows([&] { why.detail = words; });
    down(std::move(why));
}

void node::on_read(error_code ec, std::size_t bytes)
{
    loop::turn current(loop_);
    reading_ = false;
    if (ec) {
        lost_connection(ec);
    } else {
        in_used_ += bytes;
        heard_ = loop_.now();
        if (!core::if_memory_allows([this] { work_off(); }))
            fail_no_memory(); // a reply that was not worked off is not read again
        flush_soon();
    }
    current.finish();
}

/// Received bytes can answer only commands that were sent before: a surplus reply must not become the answer to a vote
/// that is sent meanwhile.
void node::work_off()
{
    std::size_t const asked = answerable_ = awaited_.size();
    while (worked_off_ != in_used_ && connected()) {
        auto const parsed = parser_.next({in_->data() + worked_off_, in_used_ - worked_off_});
        worked_off_ += parsed.consumed;
        if (parsed.status == redis::parse_status::need_more)
            break;
        if (parsed.status == redis::parse_status::malformed)
            return down({node_result::unreachable, server_error::none,
                         "malformed reply: " + std::string(parser_.what())});
        deliver(parser_.message());
    }
    if (!connected())
        return;
    if (answerable_ != asked) { // and not with every byte: incomplete answers could go on permanently
        answered_ = loop_.now();
        answer_due_.reset();
    }
    if (awaited_.empty() && !out_.empty())
        return down(node_result::unreachable, "a reply to what was not sent yet");
    if (answerable_ == 0 && worked_off_ != in_used_ &&
        (*in_)[worked_off_] != '>') // half of an answer; pushes may come
        return down(node_result::unreachable, "a reply that nobody asked for");
    in_used_ -= worked_off_;
    if (worked_off_ != 0) // not for every byte of an answer that comes byte by byte
        std::memmove(in_->data(), in_->data() + std::exchange(worked_off_, 0), in_used_);
    set_timer();
}

/// Most replies are one value.
void node::deliver(std::span<redis::resp_node const> message)
{
    redis::resp_node const& reply = message.front();
    bool const is_rare = redis::is_error(reply.type) || reply.type == redis::resp_type::push;
    if (message.size() != 1 || is_rare || answerable_ == 0 || !has_capacity())
        return deliver_rare(message);
    awaited_reply const next = take_answered();
    next.sink->on_reply(index_, next.tag, reply);
}

// rule A4
void node::deliver_rare(std::span<redis::resp_node const> message)
{
    redis::resp_node const& reply = redis::value(message);
    if (!has_capacity() && !reserve_capacity()) // the receiver may have to send another command
        return fail_no_memory();
    if (reply.type == redis::resp_type::push && !answers_subscription(redis::body(message)))
        return on_push(redis::body(message));
    if (answerable_ == 0) // counting on would give every later reply to the wrong command
        return down(node_result::unreachable, "a reply that nobody asked for");
    awaited_reply const next = take_answered();
    if (next.sink == &check_)
        return on_time(redis::body(message));
    bool const lost_role = redis::is_error(reply.type) && refuses_writes(reply);
    next.sink->on_reply(index_, next.tag, reply);
    if (lost_role && connected())
        down({node_result::refused, redis::classify(reply.text), redis::quote(reply.text)});
}

/// Does this error say that the server has become a replica, or that a group's master may not write? The data may be another's
/// from then on, and another server the master.
// rules N5 and N8
bool node::refuses_writes(redis::resp_node const& reply) const
{
    switch (redis::classify(reply.text)) {
    case server_error::readonly:
    case server_error::masterdown:
    case server_error::loading: return true;
    case server_error::noreplicas: return facts_.group;
    default: return false;
    }
}

} // namespace redlock::net
