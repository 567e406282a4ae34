#include "net/node.hpp"

#include "core/backoff.hpp"
#include "net/random.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace redlock::net {

namespace {

constexpr std::size_t first_input_size = std::size_t{16} * 1024;
constexpr std::size_t first_queue_size = 64;
/// Commands waiting on one connection; a node that far behind is as good as down. What takes votes back finds room where
/// votes find none any more.
constexpr std::size_t max_queue_size = std::size_t{1} << 17;
constexpr std::size_t max_queue_size_with_releases = 4 * max_queue_size;
/// More than is ever appended without asking for room again: the marker's script and a fenced vote's, with names as long
/// as they may be.
constexpr std::size_t spare_output = std::size_t{8} * 1024;
constexpr std::size_t spare_places = 8;

failure out_of_memory()
{
    return {node_result::unreachable, server_error::none, "out of memory"}; // short: needs none
}

} // namespace

node::node(loop& l, node_listener& listener, unsigned index, std::shared_ptr<peer const> to,
           node_terms const& terms)
    : loop_(l), listener_(listener), peer_(std::move(to)), terms_(terms), awaited_(first_queue_size),
      in_(first_input_size), index_(index)
{}

node::~node()
{
    if (connector_)
        connector_->abandon();
    if (stream_)
        stream_->close();
}

/// So that a command is never appended in part, and one that was appended is never without a place for its reply.
bool node::make_room() noexcept
{
    try {
        if (awaited_.reserve() < spare_places)
            awaited_.set_capacity(awaited_.capacity() * 2);
        if (out_.capacity() - out_.size() < spare_output)
            out_.reserve(std::max(out_.size() + spare_output, 2 * out_.capacity()));
        return true;
    } catch (std::bad_alloc const&) {
        return false;
    }
}

bool node::usable()
{
    if (!reachable() || state_ == node_state::quarantined)
        return false;
    if (awaited_.size() < max_queue_size)
        return true;
    if (failure_.detail.empty())
        failure_.detail = "queue is full"; // short: needs no memory
    return false;
}

bool node::reachable()
{
    return !closed_ && awaited_.size() < max_queue_size_with_releases && come_near() && make_room();
}

/// True where a connection stands or is being made.
bool node::come_near()
{
    switch (state_) {
    case node_state::quarantined:
    case node_state::ready:
        if (went_away())
            connect();
        return true;
    case node_state::connecting: return true;
    case node_state::down:
        if (!core::reached(retry_at_, loop_.now()))
            return false;
        [[fallthrough]];
    case node_state::idle: connect(); return true;
    }
    return false;
}

/// Nobody reads an idle connection, so nobody has heard its end, nor a reply that nobody asked for and that the next
/// vote would take for its own: found out here, before a vote is sent. Word of a key may be there, too.
bool node::went_away()
{
    if (!awaited_.empty() || reading_ || !stream_->readable() || only_words_unread())
        return false;
    std::exchange(stream_, nullptr)->close();
    return true;
}

void node::expect(reply_sink& sink, std::uint32_t tag)
{
    awaited_.push_back({&sink, tag});
    if (awaited_.size() == 1) {
        last_heard_ = loop_.now();
        set_timer();
    }
    if (!std::exchange(dirty_, true))
        loop_.enqueue(static_cast<flushable&>(*this));
}

redis::script_form node::form(script s) const
{
    return known_scripts_[static_cast<int>(s)] ? redis::script_form::hash : redis::script_form::text;
}

void node::script_worked(script s, bool known)
{
    known_scripts_[static_cast<int>(s)] = known;
}

void node::close()
{
    closed_ = true;
    loop_.cancel(timer_);
    if (connector_)
        std::exchange(connector_, nullptr)->abandon();
    if (auto const last = std::exchange(stream_, nullptr)) {
        try {
            last->finish(std::move(out_));
        } catch (std::bad_alloc const&) {
            last->close();
        }
    }
    out_.clear();
    enter(node_state::idle);
    fail_all({node_result::unreachable, server_error::none, "shut down"});
}

void node::enter(node_state next)
{
    state_ = next;
    listener_.on_node_changed(index_);
}

void node::connect()
{
    reading_ = false;
    starved_ = false;
    in_used_ = 0;
    parser_.reset();
    tracking_ = tracking::off;
    std::ranges::fill(known_scripts_, false);
    try {
        connector_ = std::make_shared<connector>(loop_.executor(), loop_.clocks(), peer_,
                                                 static_cast<connect_listener&>(*this));
        connector_->start();
    } catch (std::bad_alloc const&) { // not told from here: whoever wants to connect is not ready for that
        if (connector_)
            std::exchange(connector_, nullptr)->abandon();
        starved_ = true;
    }
    enter(node_state::connecting);
    set_timer();
}

void node::fail_soon()
{
    starved_ = true;
    set_timer();
}

void node::on_connected(std::shared_ptr<stream> made, introduction told)
{
    loop::turn const begun(
        loop_); // finished by the next: the connector would swallow what a user's handler throws
    connector_.reset();
    stream_ = std::move(made);
    try {
        meet(std::move(told));
    } catch (std::bad_alloc const&) {
        down(out_of_memory());
    }
}

void node::meet(introduction told)
{
    facts_ = std::move(told.facts);
    server_time_ = told.clock;
    incarnation_ = redis::incarnation(facts_);
    std::optional<failure> objection = listener_.objection(index_);
    last_heard_ = heard_ = checked_ = loop_.now();
    if (objection && objection->result != node_result::quarantined)
        return down(std::move(*objection));
    stream_->listen(*this);
    failures_ = 0;
    if (objection)
        quarantine(std::move(*objection));
    else
        admit();
    if (!std::exchange(dirty_, true))
        loop_.enqueue(static_cast<flushable&>(*this));
}

void node::admit()
{
    failure_ = {};
    enter(node_state::ready);
    set_timer();
}

/// What waited for the connection were votes, too: all of it fails, and releases among it are owed, and paid at once.
void node::quarantine(failure why, under_way what)
{
    bool const waited = state_ == node_state::connecting;
    failure_ = std::move(why);
    state_ = node_state::quarantined;
    if (waited) {
        out_.clear();
        fail_all(failure_);
    } else if (what == under_way::is_disowned)
        disown_all();
    if (state_ !=
        node_state::quarantined) // one of them wanted to send something, and found the connection gone
        return;
    enter(node_state::quarantined);
    set_timer();
}

void node::renew()
{
    if (!connected())
        return;
    down(node_result::unreachable, "asked anew who it is");
    if (state_ == node_state::down)
        connect();
}

void node::judge_again()
{
    if (!connected())
        return;
    try {
        auto objection = listener_.objection(index_);
        if (objection && objection->result == node_result::quarantined)
            quarantine(std::move(*objection));
    } catch (std::bad_alloc const&) {
        down(out_of_memory());
    }
}

void node::on_connect_failed(failure why)
{
    loop::turn const begun(
        loop_); // finished by the next: the connector would swallow what a user's handler throws
    connector_.reset();
    down(std::move(why));
}

void node::down(failure why)
{
    if (stream_)
        std::exchange(stream_, nullptr)->close();
    reading_ = false;
    starved_ = false;
    out_.clear();
    failure_ = std::move(why);
    ++failures_;
    retry_at_ = loop_.now() +
                core::half_jitter(failures_, terms_.reconnect_first, terms_.reconnect_cap, random_bits());
    enter(node_state::down);
    fail_all(failure_);
    set_timer();
}

/// Sinks may send to this node again, which then is down or connecting anew: only those waiting now fail.
void node::fail_all(failure const& why)
{
    for (std::size_t left = awaited_.size(); left != 0; --left) {
        awaited const next = awaited_.front();
        awaited_.pop_front();
        next.sink->on_failure(index_, next.tag, why);
    }
}

/// What was sent may have been executed, but what the answers say does not count; they are read in their order.
void node::disown_all()
{
    std::size_t const count = awaited_.size(); // sinks may send again
    for (std::size_t i = 0; i != count; ++i) {
        awaited const next = std::exchange(awaited_[i], {&drain_, 0});
        next.sink->on_failure(index_, next.tag, failure_);
    }
}

/// What failed half-way on a stream ends it: the next connection begins anew.
void node::flush() noexcept
{
    dirty_ = false;
    if (!connected())
        return;
    try {
        if (!out_.empty())
            stream_->flush(out_);
        read_more();
    } catch (std::bad_alloc const&) {
        down(out_of_memory());
    }
}

/// A read is pending only while a reply or word of a key is awaited: an idle client leaves nothing that keeps its
/// executor busy.
void node::read_more()
{
    if (reading_ || (awaited_.empty() && !(listening_ && tracks())))
        return;
    if (in_used_ == in_.size())
        in_.resize(in_.size() * 2); // bounded by the parser's limits
    reading_ = true;
    stream_->start_read({in_.data() + in_used_, in_.size() - in_used_});
}

void node::on_writable(error_code ec)
{
    loop::turn current(loop_);
    if (ec)
        lost_connection(ec);
    else
        flush();
    current.finish();
}

void node::lost_connection(error_code ec)
{
    try {
        down({node_result::unreachable, server_error::none, ec.message()});
    } catch (std::bad_alloc const&) {
        down(out_of_memory());
    }
}

/// Words are a courtesy: without memory there are none.
void node::down(node_result result, char const* words)
{
    failure why{result};
    try {
        why.detail = words;
    } catch (std::bad_alloc const&) {
    }
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
        last_heard_ = heard_ = loop_.now();
        try {
            work_off();
        } catch (std::bad_alloc const&) { // a reply that was not worked off is not read again
            down(out_of_memory());
        }
        if (!std::exchange(dirty_, true))
            loop_.enqueue(static_cast<flushable&>(*this));
    }
    current.finish();
}

void node::work_off()
{
    std::size_t begin = 0;
    while (begin != in_used_ && connected()) {
        auto const parsed = parser_.next({in_.data() + begin, in_used_ - begin});
        if (parsed.status == redis::parse_status::need_more)
            break;
        if (parsed.status == redis::parse_status::malformed)
            return down({node_result::unreachable, server_error::none,
                         "malformed reply: " + std::string(parser_.what())});
        deliver(parser_.message());
        begin += parsed.consumed;
    }
    if (!connected())
        return;
    std::memmove(in_.data(), in_.data() + begin, in_used_ - begin);
    in_used_ -= begin;
    set_timer();
}

void node::deliver(std::span<redis::resp_node const> message)
{
    redis::resp_node const& reply = redis::value(message);
    if (!make_room()) // whoever gets it may have to say something again
        return down(out_of_memory());
    if (reply.type == redis::resp_type::push)
        return on_push(redis::body(message));
    if (awaited_.empty()) // counting on would give every later reply to the wrong command
        return down({node_result::unreachable, server_error::none, "a reply that nobody asked for"});
    awaited const next = awaited_.front();
    awaited_.pop_front();
    if (next.sink == &check_)
        return on_time(redis::body(message));
    next.sink->on_reply(index_, next.tag, reply);
}

} // namespace redlock::net
