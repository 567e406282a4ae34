// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/reconnection.hpp"
#include "core/timer_wheel.hpp"
#include "net/broadcast.hpp"
#include "net/connect.hpp"
#include "net/loop.hpp"
#include "net/machine.hpp"
#include "net/stream.hpp"
#include "redis/command.hpp"
#include "redis/info.hpp"
#include "redis/resp.hpp"
#include "redis/resp_parser.hpp"
#include "redis/script.hpp"
#include <redlock/node_outcome.hpp>

#include <boost/circular_buffer.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::net {

/// Waits for a reply. Called while replies are being handled: no user code may run from here, but commands may be sent,
/// to any node. Exactly one of the two functions is called for every command.
class reply_sink {
public:
    virtual void on_reply(unsigned node, std::uint32_t tag, redis::resp_node const& reply) = 0;
    virtual void on_failure(unsigned node, std::uint32_t tag, failure const& why) = 0;

protected:
    ~reply_sink() = default;
};

class node_listener {
public:
    virtual void on_node_changed(unsigned node) = 0;
    /// Returns why this node, whose handshake has just succeeded, may not vote; empty: it may.
    virtual std::optional<failure> disqualification(unsigned node) = 0;
    /// May all commands that waited for its connection be sent? Otherwise all of them fail as quarantined, unsent.
    virtual bool is_certain(unsigned node) = 0;
    /// Its clock has just been read again on the same connection. True: the clock was set forward, and earlier answers
    /// do not count any more.
    virtual bool was_set_forward(unsigned node) = 0;
    /// The server reports that a key has changed; if it names none, any key may have changed.
    virtual void on_key_changed(unsigned node, std::optional<std::string_view> key) = 0;
    virtual void on_tracking_refused(unsigned node, redis::resp_node const& why) = 0;
    /// A message of the subscribed channel. `text` is invalid when the node is asked for anything.
    virtual void on_message(unsigned node, std::string_view text) = 0;
    /// \param command that was refused: a channel is useful only if every client may publish to it
    virtual void on_subscription_refused(unsigned node, std::string_view command,
                                         redis::resp_node const& why) = 0;

protected:
    ~node_listener() = default;
};

struct node_terms {
    core::duration reconnect_first;
    core::duration reconnect_cap;
    core::duration response_timeout;
    core::duration check_interval; ///< zero: never
    /// A connection that was silent for longer is not used, but made again; zero: it is used.
    core::duration longest_silence{};
};

/// The state of pushes that a connection asks the server for once.
enum class service : std::uint8_t { off, asked, refused };

/// One server: its connection, the commands on their way to it, and the sinks that wait for their replies, in order.
///
/// It has more functions and members than other classes: an event of the connection affects everything that was sent,
/// is being read and is awaited, so each part would need all the other parts.
///
/// A sink drains also replies that no operation waits for, so cancelling an operation does not affect the connection. A
/// command is never sent twice.
class node final : private stream_listener, private connect_listener, private flushable {
public:
    node(loop&, node_listener&, broadcast&, unsigned index, std::shared_ptr<peer const>, node_terms const&);
    node(node const&) = delete;
    node& operator=(node const&) = delete;
    ~node();

    /// May votes and extensions be appended? Connects if that is possible now. While it connects, commands wait. They
    /// fail if the node then may not vote for all of them.
    [[nodiscard]] bool ensure_can_send() { return fast_path_ready() || connect_to_send(); }
    /// The same for an existing connection that has not been closed unnoticed.
    [[nodiscard]] bool ensure_can_send_now()
    {
        return state_ == node_state::ready && ensure_can_send() && state_ == node_state::ready;
    }
    /// The room for commands that are sent to all nodes, after `ensure_can_send_now()`.
    [[nodiscard]] std::size_t commands_left() const { return places_limit_ - awaited_.size(); }
    [[nodiscard]] std::size_t bytes_left() const { return bytes_limit_ - out_.size(); }
    /// As `ensure_can_send()`, for releases, which have a larger queue than votes.
    [[nodiscard]] bool ensure_can_release() { return fast_path_ready() || connect_to_release(); }

    /// Takes over what was sent to all nodes.
    /// \param writes also writes it, if nothing stands before it
    void take_over(std::string_view bytes, std::span<awaited_reply const>, bool writes) noexcept;
    /// At the end of this turn.
    void flush_soon()
    {
        if (!std::exchange(dirty_, true))
            loop_.enqueue(static_cast<flushable&>(*this));
    }

    /// True if the connection is certainly usable: replies are being read, and there is room for more.
    [[nodiscard]] bool fast_path_ready() const
    {
        return state_ == node_state::ready && (reading_ || !awaited_.empty() || broadcast_.commands() != 0) &&
               has_capacity() && terms_.longest_silence == core::duration::zero();
    }

    /// More than is ever appended without asking for room again: the longest script, the marker's script, a
    /// leader's extension, and a command on several names, with the longest names and value.
    static constexpr std::size_t spare_output = redis::longest_script + std::size_t{16} * 1024;

    /// To send a command, append its bytes to `output()`, then call `expect`. Only after `ensure_can_send()`.
    [[nodiscard]] std::string& output()
    {
        broadcast_.hand_over();
        return out_;
    }
    void expect(reply_sink& sink, std::uint32_t tag)
    {
        assert(!awaited_.full()); // the oldest would be forgotten, and answers would go to others
        awaited_.push_back({&sink, tag});
        if (awaited_.size() == 1 || !dirty_)
            begin_batch();
    }

    /// Scripts are sent as text until one has worked on this connection.
    /// \param natively may it be a command if the server compares by itself?
    // rule A7
    [[nodiscard]] redis::script_form form(redis::script const& s, bool natively) const
    {
        if (natively && native_)
            return *native_;
        return known_scripts_[s.index] ? redis::script_form::hash : redis::script_form::text;
    }
    /// How this connection compares by itself; empty: it does not, or that is not known yet.
    [[nodiscard]] std::optional<redis::script_form> native() const { return native_; }
    void native_refused() { native_.reset(); }
    void script_worked(redis::script const& s, bool known) { known_scripts_[s.index] = known; }

    /// Replaces the present connection by a new one, to learn the server's present identity.
    void renew();

    /// While a client waits for pushes, the connection is read also when no reply is awaited.
    void expect_pushes(bool expected);
    /// Asks the server, once in each connection, to report changes of keys that are read from now on. Only when ready.
    void track();
    /// As far as is known now.
    [[nodiscard]] bool tracks() const { return tracking_ == service::asked; }
    [[nodiscard]] bool may_track() const { return may_serve(tracking_); }
    /// Asks the server, once in each connection, to send messages of this channel from now on, and whether this client
    /// may publish there. Only when ready.
    /// \throws std::bad_alloc
    void subscribe(std::string_view channel);
    /// As far as is known now.
    [[nodiscard]] bool subscribed() const { return subscription_ == service::asked; }
    [[nodiscard]] bool may_subscribe() const { return may_serve(subscription_); }

    /// While a lease or a waiter exists, a lost connection is made again, and an existing one is checked: the server is
    /// asked for its time.
    void keep_connected(bool kept);

    /// Called for a lease: until the node is connected again, or has failed once more, pending steps happen at this
    /// pace.
    void hasten(core::reconnect_pace const&);

    /// Connects now if the connection has just failed, whatever the back-off is; once between two times of being
    /// watched.
    void try_once();

    /// Ends the connection after writing what can be written now; every waiting sink fails. There is no next one.
    void close();
    /// Closes the descriptor without a byte, and connects no more. Waiting commands fail only in `close()`, which must
    /// follow.
    void drop_connection();

    [[nodiscard]] unsigned index() const { return index_; }
    [[nodiscard]] node_state state() const { return state_; }
    /// The number of the present connection; the next one has another.
    [[nodiscard]] std::uint32_t connection() const { return connections_; }
    [[nodiscard]] failure const& last_failure() const { return failure_; }

    /// The server's information from the beginning of the present connection, or of the last one.
    [[nodiscard]] redis::server_facts const& facts() const { return facts_; }
    /// The life of the data set that the present connection leads to; empty if the server does not tell.
    [[nodiscard]] std::string const& incarnation() const { return incarnation_; }
    /// The last reading of the server's wall clock; empty if it is not permitted.
    [[nodiscard]] std::optional<clock_reading> const& server_time() const { return server_time_; }
    /// The shortest time in which the server told it on the present connection; zero if it has not.
    [[nodiscard]] core::duration round_trip() const { return round_trip_; }
    /// When the server was last heard, before the handshake that is being judged.
    [[nodiscard]] core::instant heard() const { return heard_; }
    /// For a new node: when the server was heard on another connection of this client.
    void was_heard(core::instant when) { heard_ = when; }

private:
    /// The largest number of commands waiting on one connection: a node that far behind is as good as down. Releases
    /// have a larger queue than votes.
    static constexpr std::size_t max_queue_size = std::size_t{1} << 17;
    static constexpr std::size_t max_queue_size_with_releases = 4 * max_queue_size;
    static constexpr std::size_t spare_places = 8;
    /// The same limits in bytes, for long commands.
    static constexpr std::size_t max_output = std::size_t{32} << 20U;
    static constexpr std::size_t max_output_with_releases = 4 * max_output;
    /// The limit of unread bytes for pushes: beyond it a new connection is made.
    static constexpr std::size_t most_unread = std::size_t{1} << 20U;

    struct clock : core::timer {
        explicit clock(node& n) : owner(n) {}
        void expire() override { owner.on_timer(); }
        node& owner;
    };
    /// The sink of replies that no operation waits for.
    struct drain : reply_sink {
        void on_reply(unsigned, std::uint32_t, redis::resp_node const&) override {}
        void on_failure(unsigned, std::uint32_t, failure const&) override {}
    };
    /// The sink of the health check; `deliver_rare` gives its reply, if it is more than one value, to `on_time`.
    struct check_sink : drain {
        explicit check_sink(node& n) : owner(n) {}
        void on_reply(unsigned, std::uint32_t, redis::resp_node const&) override { owner.checking_ = false; }
        void on_failure(unsigned, std::uint32_t, failure const&) override { owner.checking_ = false; }
        node& owner;
    };

    /// The sink of a request for pushes.
    struct service_sink final : drain {
        using taker = void (node::*)(redis::resp_node const& reply);
        service_sink(node& n, taker t) : owner(n), take(t) {}
        void on_reply(unsigned, std::uint32_t, redis::resp_node const& reply) override
        {
            (owner.*take)(reply);
        }
        node& owner;
        taker take;
    };

    void on_read(error_code, std::size_t) override;
    void on_writable(error_code) override;
    void on_connected(std::shared_ptr<stream>, introduction) override;
    void on_connect_failed(failure) override;
    [[nodiscard]] bool forked() const noexcept override { return loop_.forked(); }
    void flush() noexcept override;

    void connect();
    void cancel_connector();
    void meet(introduction);
    void fail_soon();
    void lost_connection(error_code);
    void begin_batch();
    void begin_wait();
    [[nodiscard]] bool connect_to_send();
    [[nodiscard]] bool connect_to_release();
    [[nodiscard]] bool has_capacity() const
    {
        return awaited_.size() + broadcast_.commands() < places_limit_ &&
               out_.size() + broadcast_.bytes() < bytes_limit_;
    }
    [[nodiscard]] bool reserve_capacity() noexcept;
    void fail_unsent();
    void discount_awaited();
    void enter(node_state);
    void down(failure);
    void down(node_result, char const* words);
    void fail_no_memory() { down(node_result::unreachable, "out of memory"); }
    void fail(std::size_t waiting, failure const&);
    void on_timer();
    void set_timer();
    void look_again_by(core::instant);
    void give_up_attempt();
    void check();
    void ask_time();
    [[nodiscard]] bool may_serve(service s) const { return s != service::refused && facts_.protocol >= 3; }
    [[nodiscard]] bool begin_service(service&);
    void on_tracking(redis::resp_node const& reply);
    void on_subscription(redis::resp_node const& reply);
    void on_publication(redis::resp_node const& reply);
    [[nodiscard]] bool server_may_push() const { return tracks() || subscribed(); }
    [[nodiscard]] bool answers_subscription(std::span<redis::resp_node const> push) const;
    void on_push(std::span<redis::resp_node const> push);
    void on_time(std::span<redis::resp_node const> reply);
    void on_info(redis::resp_node const& reply);
    [[nodiscard]] bool checks() const;
    [[nodiscard]] bool check_due();
    void work_off();
    void deliver(std::span<redis::resp_node const> message);
    void deliver_rare(std::span<redis::resp_node const> message);
    [[nodiscard]] awaited_reply take_answered()
    {
        --answerable_;
        awaited_reply const first = awaited_.front();
        awaited_.pop_front();
        return first;
    }
    [[nodiscard]] bool refuses_writes(redis::resp_node const& reply) const;
    void read_more();
    [[nodiscard]] bool went_away();
    [[nodiscard]] bool was_silent() const;
    [[nodiscard]] bool only_pushes_unread();
    [[nodiscard]] std::string look_at_unread();
    [[nodiscard]] static bool only_pushes(std::string_view unread);
    [[nodiscard]] bool connected() const { return state_ == node_state::ready; }
    [[nodiscard]] bool come_near();
    [[nodiscard]] std::optional<core::instant> next_due() const;
    [[nodiscard]] core::duration attempt_limit() const
    {
        return std::max(pace_.attempt, least_attempt_.value());
    }
    [[nodiscard]] bool is_silent_too_long() const;

    loop& loop_;
    node_listener& listener_;
    broadcast& broadcast_;
    std::shared_ptr<peer const> peer_;
    node_terms terms_;
    clock timer_{*this};
    check_sink check_{*this};
    service_sink tracking_sink_{*this, &node::on_tracking};
    service_sink subscription_sink_{*this, &node::on_subscription};
    service_sink publication_sink_{*this, &node::on_publication};
    service_sink info_sink_{*this, &node::on_info};
    drain drain_;
    std::shared_ptr<connector> connector_;
    std::shared_ptr<stream> stream_;
    std::string out_;
    boost::circular_buffer<awaited_reply> awaited_;
    std::shared_ptr<std::vector<char>> in_; ///< each connection has another
    std::size_t in_used_ = 0;
    std::size_t worked_off_ = 0; ///< bytes in `in_` that have been handled
    std::size_t answerable_ = 0; ///< commands that the last bytes read may answer
    /// Below these limits there is certainly room for another command; zero when a stream may have had the output.
    std::size_t places_limit_ = 0;
    std::size_t bytes_limit_ = 0;
    redis::resp_parser parser_;
    failure failure_;
    redis::server_facts facts_;
    std::string incarnation_;
    std::string channel_; ///< the last subscription
    std::optional<clock_reading> server_time_;
    core::duration round_trip_{};
    core::instant heard_;
    core::instant answered_; ///< or when the wait for a reply began
    core::instant checked_;  ///< or when the connection began
    core::instant retry_at_;
    core::instant began_;                     ///< to connect
    core::instant went_down_;                 ///< the last failure
    std::optional<core::instant> answer_due_; ///< earlier than the response timeout, for a lease
    core::reconnect_pace pace_;               ///< while it is down or being connected
    core::least_attempt least_attempt_;
    std::optional<core::instant> due_; ///< when the timer expires
    unsigned failures_ = 0;
    std::uint32_t connections_ = 0;
    unsigned index_;
    node_state state_ = node_state::idle;
    service tracking_ = service::off;
    service subscription_ = service::off;
    std::array<bool, redis::most_scripts> known_scripts_{};
    std::optional<redis::script_form> native_;
    bool dirty_ = false;
    bool reading_ = false;
    bool pushes_expected_ = false;
    bool kept_connected_ = false;
    bool checking_ = false;
    bool tried_once_ = false;
    bool out_of_memory_ = false; ///< there was no memory: the connection is ended at the next occasion
    bool closed_ = false;
};

} // namespace redlock::net
