// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../examples/fenced_register.hpp"
#include "kit/dice.hpp"
#include "simulation/clocks.hpp"
#include "simulation/row.hpp"
#include "world/network.hpp"
#include "world/process.hpp"
#include "world/timeline.hpp"
#include <redlock/fenced_multi_mutex.hpp>
#include <redlock/fenced_mutex.hpp>
#include <redlock/fenced_semaphore.hpp>
#include <redlock/fenced_shared_mutex.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/lease.hpp>
#include <redlock/multi_mutex.hpp>
#include <redlock/mutex.hpp>
#include <redlock/semaphore.hpp>
#include <redlock/shared_mutex.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace redlock::simulation {

using core::duration;
using namespace std::chrono_literals;

/// For actors that have not been served.
constexpr duration time_of_the_slow = 10s;

/// The result of a schedule.
struct verdict {
    std::string flaw{};  ///< empty: none
    std::string story{}; ///< the events, if they were asked for
    std::uint64_t events = 0;
    std::uint64_t leases = 0;
    std::uint64_t writes = 0;  ///< to guarded values
    std::uint64_t late = 0;    ///< refused ones among them: a later holder had been there
    std::uint64_t answers = 0; ///< to observers, while a leader was in office
    std::uint64_t copies = 0;  ///< number of copies of programs, by fork
    unsigned disturbances = 0; ///< the number of the last one
    std::uint64_t digest = 0;  ///< hash of all events, in order

    friend bool operator==(verdict const&, verdict const&) = default;
};

/// The disturbances that take place. Each is drawn from its own number, so the other ones do not change.
struct selection {
    std::set<unsigned> left_out{};
    unsigned last = std::numeric_limits<unsigned>::max();

    [[nodiscard]] bool has(unsigned number) const { return number <= last && !left_out.contains(number); }
};

/// A minute of a few programs that want one to three locks of a few servers, and of disturbances: drawn from a seed.
class schedule {
public:
    schedule(std::uint64_t seed, bool with_story, selection chosen = {});
    ~schedule();

    [[nodiscard]] verdict run();

private:
    /// Runs one operation after the other, without end.
    struct actor;
    struct politician;
    class watcher;
    struct program {
        unsigned host = 0;
        std::unique_ptr<world::process> process{};
        std::optional<client> locks{};
        std::vector<std::unique_ptr<actor>> actors{};
        std::vector<std::unique_ptr<politician>> politicians{};
        std::vector<std::string> urls{}; ///< the URLs of all nodes
        std::uint64_t latest_term = 0;   ///< the latest term that they were told of
        leader_info confirmed{};         ///< the latest information from a majority that they were told of
        bool forks = false;              ///< when the next operation ends
        bool has_all_nodes = false;      ///< and nothing that began with another list
        duration had_no_majority{};      ///< when that was last seen

        [[nodiscard]] std::string name() const { return "program " + std::to_string(host); }
    };
    using programs = std::vector<std::unique_ptr<program>>;

    /// One lock, with what it guards.
    struct subject {
        /// A lease that was left behind (rule H9).
        struct bequest {
            std::string nonce;
            std::uint64_t token;
        };

        subject(std::string its_name, unsigned its_permits) : name(std::move(its_name)), permits(its_permits)
        {}
        void changes(duration now)
        {
            changed = now;
            vain.clear();
        }

        std::string name;
        std::uint64_t highest_token = 0;
        std::uint64_t highest_of_writers =
            0;                       ///< or of other exclusive owners; as far as all nodes' majorities know
        bool granted_by_all = false; ///< since every program has all nodes
        fenced_register<std::uint64_t> counter{};
        std::uint64_t counted = 0; ///< writes that were accepted: each adds one
        actor const* valid = nullptr;
        unsigned permits; ///< as a semaphore
        struct slot {
            actor const* valid = nullptr;
            std::uint64_t highest_token = 0;
        };
        std::map<std::uint16_t, slot> slots{};
        bool shared = false;  ///< some actors are readers or writers
        bool several = false; ///< some actors want it with others
        std::optional<duration> free_since{};
        std::set<std::string, std::less<>> abandoned{}; ///< nonces whose keys were left to expire
        duration changed{};                             ///< when an actor last got or left it
        std::map<unsigned, unsigned> vain{};            ///< attempts of each host since then
        row leases{};
        std::vector<bequest> left_behind{};
    };
    /// One server's properties that promises depend on.
    struct server_record {
        bool durable = false; ///< it never forgets, unless it is promoted
        std::optional<duration> promoted{};
        bool moves = false; ///< clients on the network know its name
        step_budget clock{};
        world::network::data saved{}; ///< on its disk, or on its replica
    };
    enum class kinds : std::uint8_t {
        plain,
        fenced,
        mixed,
        shared,
        fenced_shared,
        several,
        fenced_several,
        permits,
        fenced_permits,
        all,
        all_fenced
    };
    /// How an actor has a lock.
    enum class manner : std::uint8_t {
        plainly,
        fenced,
        reading,
        writing,
        fenced_reading,
        fenced_writing,
        with_others,
        fenced_with_others,
        with_permits,
        fenced_with_permits
    };
    /// True if fenced locks alone are used: otherwise a loss of data under an existing connection would go unnoticed
    /// (C3).
    [[nodiscard]] bool all_are_fenced() const
    {
        return kinds_ == kinds::fenced || kinds_ == kinds::fenced_shared || kinds_ == kinds::fenced_several ||
               kinds_ == kinds::fenced_permits || kinds_ == kinds::all_fenced;
    }
    /// Under one name, by many programs.
    [[nodiscard]] bool all_kinds_meet() const { return kinds_ == kinds::all || kinds_ == kinds::all_fenced; }
    /// Then some want several names at once.
    [[nodiscard]] bool several_meet() const { return seed_ % 4 >= 2; }
    /// Tokens, or terms.
    [[nodiscard]] bool has_numbers() const { return all_are_fenced() || kinds_ == kinds::mixed || elects_; }
    [[nodiscard]] bool has_many_permits() const;
    [[nodiscard]] static bool takes_permits(manner how)
    {
        return how == manner::with_permits || how == manner::fenced_with_permits;
    }
    [[nodiscard]] static bool takes_several(manner how)
    {
        return how == manner::with_others || how == manner::fenced_with_others;
    }
    [[nodiscard]] static bool reads(manner how)
    {
        return how == manner::reading || how == manner::fenced_reading;
    }
    enum class stage : std::uint8_t {
        faults,
        quiet,    ///< nothing bad happens any more
        for_slow, ///< served actors come later
        expiring, ///< some holders do not release the lock
    };

    // schedule.cpp: the programs, and the passing of time
    void set_up_nodes();
    [[nodiscard]] std::unique_ptr<program> new_program(bool at_the_beginning = false);
    [[nodiscard]] static world::server::release draw_version(test::dice&);
    [[nodiscard]] std::string draw_url(std::size_t node, test::dice&) const;
    [[nodiscard]] config draw_config(test::dice&, bool at_the_beginning);
    [[nodiscard]] std::vector<std::string> without_spare(std::vector<std::string> urls) const;
    [[nodiscard]] lock_options draw_options(test::dice&) const;
    [[nodiscard]] manner draw_manner(test::dice&) const;
    [[nodiscard]] manner draw_unfenced(test::dice&) const;
    [[nodiscard]] manner draw_fenced(test::dice&) const;
    [[nodiscard]] static fence_options draw_fence(test::dice&, lock_options const&);
    bool step(duration until);
    bool run_programs();
    void run_until(duration when);
    void run_quietly();
    void serve_the_slow();
    [[nodiscard]] duration until_next_crowd() const;
    void lose_one_for_good();
    void end();
    void end(program&);
    void note(std::string const& what);
    void flaw(std::string const& what);

    // disturbances.cpp
    void disturb();
    void disturb_node(unsigned node, test::dice&);
    void disturb_connections(unsigned node, test::dice&);
    void disturb_data(unsigned node, test::dice&);
    void disturb_clock(unsigned node, test::dice&);
    void disturb_names(unsigned node, test::dice&);
    void disturb_ways(unsigned node, test::dice&);
    void disturb_program(std::unique_ptr<program>&, test::dice&);
    void disturb_program_clock(program&, test::dice&);
    [[nodiscard]] static bool is_slewed(program const&);
    void overtake(program&, unsigned node, duration until, test::dice&);
    void cut(program&, unsigned node, duration until, test::dice&);
    [[nodiscard]] bool hides_promotion(unsigned node) const;
    void kill_node(unsigned node, test::dice&);
    void restart(unsigned node, test::dice);
    void promote(unsigned node, test::dice&);
    void flush(unsigned node, test::dice&);
    void forbid(unsigned node, test::dice&);
    void change_nodes(program&, test::dice&);
    void give_all_nodes(unsigned host);
    void has_all_nodes(program&, duration asked);
    void begin_to_replace();
    void end_replacement();
    void have_other_spare();
    void kill_program(std::unique_ptr<program>&);
    void add_newcomer();
    void leave(std::unique_ptr<program>&);
    template <class Value>
    void for_a_while(Value& what, Value then, duration length);
    [[nodiscard]] static std::string name_of(std::size_t node) { return "node " + std::to_string(node + 1); }

    // copy.cpp: what a program's copy may do, in a copy of this process
    void fork(program&);
    [[noreturn]] void be_copied();
    void check_lost(char const* when);
    void use_copy();
    void run_copy(duration time);

    // oracles.cpp: the invariants
    void granted(actor&, std::uint64_t ticket);
    void check_order(actor const&, std::uint64_t ticket);
    void check_row(actor const&);
    [[nodiscard]] unsigned rivals_of(actor const&) const;
    void check_bound(actor const&);
    void check_token(actor const&);
    void check_token(actor const&, subject&);
    void check_tokens_of_slots(actor const&);
    void check_attempt(unsigned host, std::string_view lock);
    void written(actor const&, subject&, std::uint64_t token, std::uint64_t value);
    void came_late(actor const&, std::uint64_t token);
    void check(bool ran);
    void check_exclusion();
    void check_slots(actor const&);
    [[nodiscard]] static actor const* in_the_way(actor const&, subject const&);
    void check_told(program const&, actor&);
    void check_length(actor const&);
    void check_operations(program const&, actor&);
    void look_for_majorities();
    void check_wake_ups();
    void check_wake_up(subject&);
    [[nodiscard]] bool is_wanted_since(subject const&, duration since) const;
    [[nodiscard]] static bool has_majority(program const&);
    [[nodiscard]] static duration could_vote_since(actor const&);
    void check_progress();
    void check_forgotten(program const&);
    [[nodiscard]] bool is_there(std::size_t node, std::string const& key) const;

    // politician.cpp: the invariants of the election
    void elected(politician const&);
    void check_author(std::uint64_t term, std::string const& value);
    void told(politician const&, leader_info const&);
    void observed(politician const&, leader_info const&);
    [[nodiscard]] politician const* in_office();
    void check_news();
    void check_elections();

    void check_keys();
    [[nodiscard]] bool served_all() const;
    [[nodiscard]] bool quiet() const { return stage_ != stage::faults; }

    std::uint64_t seed_;
    test::dice dice_;
    bool with_story_;
    selection chosen_;
    kinds kinds_;
    stage stage_ = stage::faults;
    std::chrono::milliseconds longest_ttl_;
    std::int64_t variety_;       ///< the shortest ttl is this part of the longest; 1: all locks are alike
    std::int64_t slack_divisor_; ///< a ttl divided by this is the smallest slack
    bool enciphered_;            ///< some connections use TLS
    bool elects_;                ///< there is an election, too
    bool changes_nodes_ = false; ///< some programs have one node less than others, each at its time (rule N9)
    bool replaces_nodes_ = false; ///< and it is not always the same node
    bool replacing_ = false;    ///< programs that change the nodes have all of them, until every program has
    std::size_t spare_ = 0;     ///< the node that some programs do not have
    bool bounded_ = false;      ///< all waiters for a name are in one queue, or vote
    bool crowded_;              ///< no actor pauses for long, in the quiet time either
    bool polls_ = false;        ///< some server did not tell of changes, once
    duration one_queue_from_{}; ///< a node that refused the queue was passed over until then, by some clients
    world::timeline time_;
    std::unique_ptr<world::network> net_;
    std::vector<server_record> servers_;
    std::deque<subject> subjects_;
    std::size_t most_programs_ = 5;
    programs programs_;
    programs leaving_; ///< their clients have been destroyed
    programs gone_;    ///< killed
    unsigned hosts_ = 0;
    unsigned disturbances_ = 0;
    std::uint64_t tickets_ = 0;
    std::uint64_t latest_term_ = 0;
    std::map<std::uint64_t, std::string> authors_; ///< authors of the values that were announced in each term
    duration checked_{};
    program* copied_ = nullptr; ///< then this is a copy of that program
    duration copied_at_{};
    int report_ = -1; ///< the descriptor for its flaw
    std::uint64_t touched_before_ = 0;
    verdict seen_{};
};

} // namespace redlock::simulation
