#pragma once

#include "core/attempt.hpp"
#include "core/backoff.hpp"
#include "core/contention.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace redlock::model {

/// What is the same for all who wait for one lock.
struct waiting_terms {
    unsigned nodes = 3;
    unsigned first = 0; ///< where contenders meet
    core::duration round_trip{};
    core::duration min_delay = std::chrono::milliseconds{2};
    core::duration max_delay = std::chrono::milliseconds{200};
    core::duration node_timeout{};
    core::duration key_ttl{};

    /// How long a lock is left alone so that others can be first (docs/protocol.md, rule W5).
    [[nodiscard]] core::duration turn() const;
    /// How long the first node may be silent (rule W3).
    [[nodiscard]] core::duration patience() const;
    /// No pause after attempts that crossed is longer.
    [[nodiscard]] core::duration longest_dodge() const { return 32 * round_trip; }
};

/// Two of these are drawn for each wait.
struct waiting_chance {
    core::random_fraction poll;
    core::random_fraction dodge;
};

/// What src/lock/contender*.cpp does around core::contention, from one attempt to the next: what happens goes in, with
/// the time, and what to send, or until when to wait, comes out. Both models use it.
class waiter {
public:
    struct decision {
        bool vote = false;
        bool look_around = false;
        std::optional<core::instant> until{};
    };
    enum class said : std::uint8_t { nothing, yes, no };

    /// Somebody of this client wants the lock.
    void open(waiting_terms const&);
    /// An attempt begins. The node that is asked first; nothing: all are.
    std::optional<unsigned> attempt_begins();
    /// The one that was asked is silent, or cannot vote. Nothing: all are asked.
    std::optional<unsigned> pass_over(core::attempt const&);
    void ask_all() { in_turn_ = false; }
    void asked(unsigned node) { asked_.insert(node); }
    [[nodiscard]] bool was_asked(unsigned node) const { return asked_.contains(node); }

    /// \param left of the other's key, where the node told (as a fenced vote does)
    /// \param listens it will tell when the key changes
    void refused(unsigned node, bool listens, std::optional<core::duration> left, core::instant now,
                 waiting_terms const&);
    void answered(unsigned node, said what) { said_[node] = what; }

    /// Defeated by others, or only the turn is offered: what is waited for from now on.
    void wait(waiting_terms const&, core::attempt const&, core::node_set ready, core::instant now,
              waiting_chance);
    void offer_turn(waiting_terms const&, core::node_set ready, core::instant now, waiting_chance);
    /// Has the first node to be asked for its key?
    [[nodiscard]] bool must_look_at_first() const;
    /// The question for the key, which is the request for word as well, has been sent.
    void looks(unsigned node) { listening_.insert(node); }
    [[nodiscard]] bool listens(unsigned node) const { return listening_.contains(node); }
    /// \param left nothing: the key is gone
    void found(unsigned node, std::optional<core::duration> left, core::instant now, waiting_terms const&);
    /// Who had the lock has gone where all meet, as far as word of a change there tells.
    [[nodiscard]] bool ends_a_row(unsigned node) const;
    /// \param courtesy how long others are let go first (rule W5)
    /// \return whether the wait is to be planned anew
    bool changed(unsigned node, core::instant now, core::duration courtesy);
    /// The votes are taken back: our own change ends what the nodes were to tell.
    void took_back();
    /// Of the nodes that were asked, those that may have executed the vote.
    [[nodiscard]] core::node_set perhaps() const;
    /// While it waits for others.
    void ready_changed(core::node_set ready);
    /// At any time: what a connection's server was to tell ends with it.
    void disconnected(core::node_set ready);

    [[nodiscard]] decision plan(core::instant now);
    [[nodiscard]] bool in_turn() const { return in_turn_; }
    [[nodiscard]] std::optional<unsigned> meeting_point() const { return known_.meeting_point(); }

    /// All of it, without what is the same for equal states: times count from now on, and what is past is past.
    struct packed {
        struct row {
            std::int32_t until = -1; ///< microseconds
            std::uint8_t flags = 0;
            std::array<std::uint8_t, 3> unused{};
        };
        std::array<row, 3> rows{};
        std::array<std::int32_t, 4> times{};
        std::uint16_t listening = 0;
        std::uint16_t asked = 0;
        std::uint16_t refused = 0;
        std::array<std::uint8_t, 3> said{};
        std::uint8_t asked_last = 0;
        std::uint8_t refusals = 0;
        std::uint8_t collisions = 0;
        std::uint8_t flags = 0;
        std::array<std::uint8_t, 3> unused{};
    };
    [[nodiscard]] packed pack(waiting_terms const&, core::instant now) const;
    static waiter unpack(waiting_terms const&, packed const&);

private:
    void learn(core::node_set ready);
    void let_others_first(core::instant now, core::duration courtesy);
    void wait(waiting_terms const&, core::node_set ready, bool crossed, core::instant now, waiting_chance);
    [[nodiscard]] bool hears() const;
    [[nodiscard]] core::instant next_try() const;

    core::contention known_;
    core::node_set listening_;
    core::node_set asked_;
    core::node_set refused_;
    std::array<said, 8> said_{};
    core::instant not_before_;
    core::instant poll_at_;
    core::instant try_anyway_at_;
    core::instant look_around_at_;
    unsigned nodes_ = 0;
    unsigned first_ = 0;
    unsigned asked_last_ = 0;
    unsigned refusals_ = 0;
    unsigned collisions_ = 0;
    bool knows_ = false;
    bool in_turn_ = false;
    bool looks_around_ = false;
};

} // namespace redlock::model
