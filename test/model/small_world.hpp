// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/attempt.hpp"
#include "core/lease_machine.hpp"
#include "model/small_node.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace redlock::model {

struct action {
    enum class kind : std::uint8_t {
        start,
        give_up_attempt,
        begin_round,
        end_round,
        release,
        look_at_clock,
        execute,      ///< and the answer is read at once
        execute_late, ///< and the answer is on its way
        execute_lost, ///< and the answer is lost
        execute_twice,
        delay,
        lose,
        read,
        tick,
        restart,
        step_clock,
        expire,
    };
    kind what;
    std::uint8_t client = 0;
    std::uint8_t node = 0;
    std::uint8_t slot = 0;
};

/// The scope of the exhaustive search: the number of attempts, rounds and faults, and of ticks of time.
struct scope {
    char const* name;
    bool fenced = false;
    bool tolerate_suspect = false;
    /// Time is unknown: any key may expire at any moment, and no deadline ever comes. Only T2 can hold.
    bool timeless = false;
    /// The clients' wall clocks are in their tokens; otherwise only counters are.
    bool clocks = false;
    int ttl = 2;
    int slack = 0;
    int quarantine = 2;
    int horizon = 5;
    std::array<int, 2> attempts{1, 1};
    std::array<int, 2> rounds{1, 1}; ///< number of extensions
    int strays = 2;                  ///< requests and replies that are lost, or under way while time passes
    int restarts = 0;
    int duplicates = 0;
    int steps = 0;                       ///< number of steps of one tick forward, of any node's clock
    std::array<fence, 3> counters{};     ///< counters of the nodes, at the beginning
    std::span<action const> situation{}; ///< actions before the search begins
    std::uint64_t most_states = 3'000'000;
};

inline constexpr unsigned small_nodes = 3;
inline constexpr unsigned small_clients = 2;
/// Counters outlive the search.
inline constexpr millis fence_px = 1'000'000;

/// Every state is a plain value: copied to try an action, hashed to be met only once.
struct small_world {
    struct message {
        enum class kind : std::uint8_t { none, vote, raise, extend, release };
        kind what = kind::none;
        bool answered = false;
        bool copy = false; ///< bytes that arrive twice; the second reply is not read
        bool late = false; ///< may be under way while time passes
        reply::kind said{};
        std::uint8_t attempt = 0;
        std::uint8_t round = 0;
        std::uint8_t unused = 0;
        std::uint32_t number = 0; ///< sent: proposal or token; answered: the number in the reply
    };
    static constexpr unsigned line_length = 6;
    /// Everything under way between one client and one node, in no order: connections break and come again.
    using line = std::array<message, line_length>;

    struct client {
        enum class doing : std::uint8_t { nothing, voting, holding, over };
        explicit client(scope const&);
        core::attempt attempt;
        core::lease_machine lease;
        core::lease_round round;
        std::uint32_t token = 0;
        std::uint32_t highest_seen = 0;
        std::uint32_t granted_before_attempt = 0; ///< the largest token when the attempt began
        std::uint32_t granted_before_round = 0;
        doing now = doing::nothing;
        std::uint8_t attempt_number = 0;
        std::uint8_t round_number = 0;
        std::uint8_t rounds_done = 0;
        std::uint8_t denied = 0; ///< by these nodes, in this round
        bool end_seen = false;
        bool other_granted = false; ///< since this client's own grant
    };

    struct node {
        small_node data;
        std::uint8_t quarantined_until = 0;
    };

    enum class flaw : std::uint8_t {
        none,
        two_valid_leases,
        token_not_larger,
        extended_under_a_larger_token,
        came_back,
        extended_after_another_was_granted,
        granted_without_time_left,
        extended_without_time_left,
        loss_not_told,
    };

    explicit small_world(scope const&);

    std::array<node, small_nodes> nodes;
    std::array<client, small_clients> clients;
    std::array<std::array<line, small_nodes>, small_clients> lines;
    std::uint32_t largest_token = 0;
    std::uint8_t now = 0;
    std::uint8_t restarts = 0;
    std::uint8_t duplicates = 0;
    std::uint8_t steps = 0;
    flaw broken = flaw::none;
    std::uint8_t strays = 0;
    /// Nodes up to here were singled out by some action; the others are alike, so one stands for all.
    std::uint8_t distinct = 0;
    std::array<std::uint8_t, 5> unused{};
};

/// The rules by which one state follows another, with the production core in it.
inline constexpr std::chrono::seconds one_tick{1};

class small_steps {
public:
    using scope = model::scope;
    using world = small_world;
    using action = model::action;

    explicit small_steps(scope const& s) : scope_(s) {}

    [[nodiscard]] small_world first() const { return small_world(scope_); }
    [[nodiscard]] std::span<action const> situation() const { return scope_.situation; }
    /// Padding between members must not make equal states differ.
    static void clear_padding(small_world&);
    void possible(small_world const&, std::vector<action>& out) const;
    void take(small_world&, action) const;
    [[nodiscard]] std::string tell(small_world const& before, action, small_world const& after) const;
    /// Null: there is none.
    [[nodiscard]] static char const* flaw(small_world const&);

private:
    using client = small_world::client;
    using message = small_world::message;

    void start(small_world&, unsigned c) const;
    void follow(small_world&, unsigned c, core::attempt::step) const;
    void raise(small_world&, unsigned c) const;
    void win(small_world&, unsigned c) const;
    void end(small_world&, unsigned c) const;
    void begin_round(small_world&, unsigned c) const;
    void settle_round(small_world&, unsigned c, core::lease_machine::outcome) const;
    void execute(small_world&, unsigned c, unsigned n, message&) const;
    void repeat(small_world&, unsigned c, unsigned n, message) const;
    void read(small_world&, unsigned c, unsigned n, message) const;
    void read_attempt(small_world&, unsigned c, unsigned n, message) const;
    void look(small_world&, unsigned c) const;
    [[nodiscard]] bool changes_something(small_world const&, unsigned c, unsigned n, message) const;
    void client_actions(small_world const&, std::uint8_t c, std::vector<action>&) const;
    void message_actions(small_world const&, std::uint8_t c, std::uint8_t n, std::vector<action>&) const;
    void tick(small_world&) const;
    [[nodiscard]] static bool all_under_way_is_late(small_world const&);
    void restart(small_world&, unsigned n) const;
    void send(small_world&, unsigned c, unsigned n, message) const;
    void tidy(small_world&) const;
    void tidy(small_world&, unsigned c) const;
    [[nodiscard]] bool useless(small_world const&, unsigned c, unsigned n, message const&) const;
    void check(small_world&) const;

    [[nodiscard]] bool votes(small_world const& w, unsigned n) const
    {
        return w.now >= w.nodes[n].quarantined_until;
    }
    [[nodiscard]] core::instant clock(small_world const& w) const;
    [[nodiscard]] millis px() const;
    [[nodiscard]] nonce nonce_of(unsigned c, unsigned attempt) const;
    [[nodiscard]] core::fence proposal(small_world const&, unsigned c) const;
    [[nodiscard]] bool valid(small_world const&, unsigned c) const;

    scope const& scope_;
};

} // namespace redlock::model
