#pragma once

#include "core/admission.hpp"
#include "core/attempt.hpp"
#include "core/lease_machine.hpp"
#include "core/tenure.hpp"
#include "model/dice.hpp"
#include "model/fake_node.hpp"
#include "model/faults.hpp"
#include "model/marker_text.hpp"
#include "model/terrain.hpp"
#include "model/waiter.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace redlock::model {

/// One random schedule: the production core in every client, a virtual network and virtual clocks around it.
class schedule {
public:
    schedule(std::uint64_t seed, fault_counts&, theme = theme::faults, std::string* log = nullptr);
    outcome run();

private:
    static constexpr micros for_long = 3'600'000'000;

    // Times and clocks
    struct clocks {
        micros since = 0;
        std::int64_t boot = 0; ///< nanoseconds at `since`
        std::int64_t raw = 0;
        std::int64_t boot_rate = 1'000'000; ///< parts per million
        std::int64_t raw_rate = 1'000'000;
        millis wall_offset = 0;
    };

    // Messages
    enum class ask : std::uint8_t { vote, raise, extend, release, look, word };
    struct message {
        ask what;
        std::uint8_t client;
        std::uint8_t node;
        bool duplicate;
        bool by_hash;
        bool lost_reply;
        bool dead;         ///< its connection's end took it along
        micros held_until; ///< bytes of a broken connection that arrive after all
        std::uint16_t connection;
        std::uint32_t attempt;
        std::uint32_t round;
        nonce owner;
        std::uint64_t number;
        marker expected;
        reply said;
    };

    enum class happening : std::uint8_t { arrive, answer, timer, connect, reset, fault, calm, ready, expire };
    struct event {
        micros at;
        std::uint32_t order;
        happening what;
        std::uint8_t client;
        std::uint8_t node;
        std::uint16_t index; ///< of a message, or the timer's generation

        friend bool operator<(event const& a, event const& b) // what comes first is on top of the heap
        {
            return a.at != b.at ? a.at > b.at : a.order > b.order;
        }
    };

    struct debt {
        nonce owner = 0;
        micros until = 0;
    };

    struct link {
        bool up = true;
        bool tracks = false; ///< its server tells of changes
        std::uint16_t connection = 0;
        marker mark = 0; ///< on this connection; zero: not asked for
        marker_sight seen{};
        std::optional<core::instant> marked_since{};
        core::admission_terms terms{};
        micros last_request = 0;
        micros last_answer = 0;
        micros requests_blocked = 0;
        micros replies_blocked = 0;
        core::instant heard{};
        core::acquaintance known{};
        std::array<debt, 8> debts{};
        nonce last_vote = 0;
    };

    struct client {
        enum class doing : std::uint8_t { resting, voting, pausing, holding };
        client(terrain const& t, lock_terms const& its) : wants(its), lease(its.lease, t.nodes, {}, {}) {}
        lock_terms wants;
        core::attempt attempt{core::attempt::kind::plain, 1, {}};
        core::lease_machine lease;
        clocks time;
        doing now = doing::resting;
        nonce owner = 0;
        std::uint32_t attempts = 0;
        std::uint32_t rounds = 0;
        unsigned refusals = 0;
        core::fence token = 0;
        core::fence highest_seen = 0;
        core::fence floor = 0;       ///< the largest token granted before the attempt began
        core::fence round_floor = 0; ///< and before the round of extensions began
        core::instant first_sent{};
        micros frozen_until = 0;
        micros wake_at = 0;
        micros attempt_ends = 0;
        micros body_ends = 0;
        micros waits_since = 0;
        std::uint16_t generation = 0;
        std::uint8_t denied = 0; ///< nodes, in this round
        bool end_seen = false;
        bool late_timer = false; ///< was frozen, or a timer was late, during this lease
        bool served = false;     ///< after the faults stopped
        std::uint64_t read = 0;  ///< of the guarded register
        waiter wait;
        core::tenure tenure;
        core::precedence precedence;
        nonce last_met = 0;
        core::instant pause_ends{}; ///< until then others go first
        core::fence proposal = 0;
        unsigned queue = 0; ///< how many want the lock, the one who is asked for included
        bool hears = false; ///< waits for the others; otherwise for the nodes
        bool offered_turn = false;
        micros lease_ended = 0;
        micros row_began = 0;
        micros quiet_since = 0;
        std::uint64_t seen_changes = 0;
        unsigned vain = 0; ///< attempts since the world changed
    };

    struct server {
        fake_node data;
        fake_node backup;
        micros clock_since = 0;
        std::int64_t clock_rate = 1'000'000;
        millis steps = 0;
        millis room = 0; ///< for further steps forward
        millis started = 0;
        std::uint16_t run = 0;
        std::uint16_t history = 0;
        bool promoted = false;
        bool durable = false;       ///< it never forgets, and the user knows
        bool seems_durable = false; ///< its settings say so, and nobody else
        bool hides_uptime = false;
        micros lost_at = -for_long;
        micros stalled_until = 0;
        micros full_until = 0;
        micros read_only_until = 0;
        bool knows_scripts = true;
        std::array<std::uint16_t, most_clients> tells{}; ///< connections, plus one
        micros forgetful_until = 0;                      ///< its tracking table is full
        bool expiry_planned = false;
    };

    // schedule.cpp
    void prepare();
    void prepare_clients();
    void prepare_nodes();
    void prepare_waiting();
    void push(micros at, happening, unsigned c, unsigned n, std::uint16_t index = 0);
    void check_leftovers();
    [[nodiscard]] bool leaves_keys(unsigned n) const;
    void handle(event const&);
    bool postpone(event const&);
    void calm_down();
    void break_off(breach);
    void log(event const&);
    [[nodiscard]] bool seen_enough() const;

    // network.cpp
    [[nodiscard]] micros travel();
    void send(unsigned c, unsigned n, ask, nonce, std::uint64_t number, bool by_hash);
    std::uint16_t keep(message const&);
    void arrive(std::uint16_t index);
    [[nodiscard]] reply execute(server&, message const&);
    void answer(std::uint16_t index);
    void reset(unsigned c, unsigned n, bool executes_later);
    void connect(unsigned c, unsigned n);

    // memory.cpp
    void prepare_marker(unsigned n);
    void prepare_locks(std::vector<lock_terms>&);
    void meet(unsigned c, unsigned n);
    void ask_marker(unsigned c, unsigned n);
    void ask_markers(unsigned c);
    void leave_marker(unsigned n, mark_call const&);
    [[nodiscard]] mark_call call_of(unsigned c, unsigned n);
    [[nodiscard]] std::uint32_t life(unsigned n) const;
    [[nodiscard]] core::admission_terms words_of(unsigned c, unsigned n);
    [[nodiscard]] bool relies_on_absence(unsigned c, unsigned n) const;
    [[nodiscard]] bool seems_fresh(unsigned c, unsigned n) const;
    [[nodiscard]] bool usable(unsigned c, unsigned n) const;
    [[nodiscard]] std::optional<core::instant> quarantine(unsigned c, unsigned n) const;
    void await_the_end_of_quarantine(unsigned c, unsigned n);
    void come_anew(unsigned c);
    void somebody_comes();
    void pass_by(unsigned n);
    void owe(unsigned c, unsigned n, nonce);
    void pay(unsigned c, unsigned n);

    // driver.cpp
    void begin_attempt(unsigned c);
    void follow(unsigned c, core::attempt::step);
    void raise(unsigned c);
    void won(unsigned c);
    void lose_attempt(unsigned c, bool asked_enough);
    void take_back(unsigned c, core::node_set nodes);
    void take_back(unsigned c);
    void pause(unsigned c, bool contended);
    void hold(unsigned c, core::instant sent);
    void begin_round(unsigned c);
    void settle(unsigned c, core::lease_machine::outcome);
    void cancel(unsigned c);
    void lose_lease(unsigned c);
    void release(unsigned c);
    void rest(unsigned c, micros);
    void time_out(unsigned c);
    void on_timer(unsigned c);
    void lease_timer(unsigned c);
    void wake(unsigned c, micros at);
    void wake_for_lease(unsigned c);
    void read_attempt(unsigned c, message const&);
    void read_extension(unsigned c, message const&);
    void read_failure(unsigned c, unsigned n);
    void fail_vote(unsigned c, unsigned n);

    // waiting.cpp
    void come(unsigned c, core::tenure::next);
    void ask_first(unsigned c);
    void ask_in_turn(unsigned c, unsigned n);
    void pass_over(unsigned c);
    void ask_all(unsigned c);
    void hear_refusal(unsigned c, message const&);
    void follow_in_turn(unsigned c, message const&, core::attempt::step);
    void wait_for_others(unsigned c);
    void plan(unsigned c);
    void look(unsigned c, unsigned n);
    void read_look(unsigned c, message const&);
    void read_word(unsigned c, unsigned n);
    void nodes_changed(unsigned c);
    [[nodiscard]] core::node_set ready(unsigned c) const;
    [[nodiscard]] bool hand_over(unsigned c);
    void tell(unsigned n, unsigned but);
    void remember(unsigned n, message const&);
    void plan_expiry(unsigned n);
    void on_expiry(unsigned n);
    void begin_calm_waiting();
    void lose_a_node();
    void trouble_in_the_calm();
    bool dies(unsigned c);
    [[nodiscard]] bool missing(unsigned n, terrain::absence) const;
    [[nodiscard]] micros length_of_body();
    void watch_asking(unsigned c);
    void watch_row(unsigned c);
    void watch_gap();
    void watch_wish();

    // trouble.cpp
    void some_fault();
    void one_fault(unsigned n);
    void client_fault(fault, unsigned c);
    void node_fault(fault, unsigned n);
    void restart(unsigned n, bool with_data);
    void flush(unsigned n);
    void belie_words(unsigned n);
    [[nodiscard]] bool would_hide_a_promotion(server const&) const;
    void trouble_with_request(message&, micros& at);
    void trouble_with_answer(message&, micros& at);
    bool trouble_with_word(message&, micros& at);
    void block(bool requests, bool replies, unsigned nodes, unsigned c);
    void count(fault);

    // watch.cpp
    [[nodiscard]] core::instant clock(unsigned c) const;
    [[nodiscard]] micros true_time(unsigned c, core::instant local) const;
    [[nodiscard]] millis wall(server const&) const;
    void touch(server&);
    [[nodiscard]] bool valid(unsigned c) const;
    void watch_grant(unsigned c);
    void watch_round(unsigned c, core::lease_machine::outcome);
    void watch_end(unsigned c);
    void watch_exclusion();
    /// T2's conditions: the counters survive, or the clocks make up for them.
    [[nodiscard]] bool order_counts() const { return !counters_lost_ || !clocks_apart_; }
    void write_register(unsigned c);

    dice dice_;
    fault_counts& counts_;
    std::string* log_;
    terrain terrain_;
    std::array<server, most_nodes> servers_;
    std::vector<client> clients_;
    std::array<std::array<link, most_nodes>, most_clients> links_;
    std::vector<event> events_;
    std::vector<message> messages_;
    std::vector<std::uint16_t> free_messages_;
    outcome out_;
    micros now_ = 0;
    std::uint32_t order_ = 0;
    nonce nonces_ = 0;
    std::uint16_t names_ = 0;          ///< of runs and histories, of all nodes
    std::vector<marker_text> markers_; ///< which a node's number stands for, from one on
    std::vector<micros> lineages_{0};  ///< when each was placed as uncertain; otherwise long ago
    core::fence largest_ = 0;
    std::array<core::fence, 16> recent_{};
    unsigned recent_at_ = 0;
    bool calm_ = false;
    nonce calm_nonce_ = 0;
    bool time_counts_ = true; ///< T1's conditions are kept so far
    bool counters_lost_ = false;
    bool clocks_apart_ = false; ///< so far that they cannot make up for lost counters
    std::uint64_t register_ = 0;
    core::fence register_token_ = 0;
    std::set<nonce> leases_;    ///< whose keys are missed when they go
    std::uint64_t changes_ = 0; ///< of who has the lock, and until when
    micros strict_from_ = 0;    ///< nothing is left of the faults
    micros gap_began_ = -1;     ///< wanted, and nobody has it
    micros keys_left_ = 0;      ///< by a holder that died, until then
    unsigned last_holder_ = most_clients;
    micros nodes_awaited_until_ = 0;
    micros guessed_until_ = 0; ///< keys of one who died in the calm are about
};

} // namespace redlock::model
