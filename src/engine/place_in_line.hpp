// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/line_place.hpp"
#include "core/tally.hpp"
#include "engine/attempt.hpp"
#include "engine/lines.hpp"
#include "engine/lock_state.hpp"
#include "engine/node_group.hpp"
#include "engine/nonce_source.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "engine/undo.hpp"
#include "kind/kind.hpp"
#include "kind/queue.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::detail {

/// Who is told how it goes in the line. Called while replies are worked off: no user code may run from here.
class place_listener {
public:
    /// Somebody else has the lock.
    virtual void on_held(unsigned node, kind::sighting const&) = 0;
    /// How many stand before it is known.
    virtual void on_placed() = 0;
    /// One stands nearer to the lock, or asks again at another time.
    virtual void on_moved() = 0;
    /// It stands in another line, and does not know yet how far behind.
    virtual void on_other_line() = 0;
    /// The lock is ours to claim.
    virtual void on_called() = 0;
    /// The key on this node outlives ours: the others may be free all the same.
    virtual void on_doubt(unsigned node) = 0;
    /// There is no line for us, or not any more.
    virtual void on_no_line() = 0;
    /// All that was sent is answered.
    virtual void on_place_drained() = 0;

protected:
    ~place_listener() = default;
};

/// One place in the line for a lock, where its contenders meet (docs/protocol.md, rules Q2 and Q13 to Q18). Places are hints:
/// what is won is won by the claim.
class place_in_line final : private round<place_in_line>, private line_waiter {
public:
    place_in_line(runtime&, place_listener&);

    /// Enters a line, with a nonce of its own (rule K6). False: there is none to enter.
    /// \param then the lock is left to others until then
    /// \param in_front before all others
    [[nodiscard]] bool enter(std::shared_ptr<lock_state> const&, core::instant then, bool in_front);
    /// Gives up the place, and what may have been handed to it.
    void leave();
    /// What it was called for; there is no place to leave any more.
    [[nodiscard]] inheritance const& inherit();
    /// Is there something to inherit?
    [[nodiscard]] bool called() const { return standing_ && called_; }
    /// Its time has come: asks again, or elsewhere.
    void on_time();
    /// A node says that the key has changed.
    void key_changed(unsigned node);
    /// This client itself has changed it there.
    void changed_here(core::node_set where);
    /// The connection on which it would be called may be gone.
    void nodes_changed();

    [[nodiscard]] core::instant due() const { return waiting_.due(); }
    [[nodiscard]] std::uint64_t before() const { return waiting_.before(); }
    [[nodiscard]] bool drained() const { return round::drained(); }
    void discard() { lock_.reset(); }

private:
    friend class round<place_in_line>;

    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return *type_; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        type_->append(
            out, what,
            {lock_->key(), inherited_.heir.text(), 0, {}, {.position = place_, .at_front = in_front_}}, form);
    }
    [[nodiscard]] bool repeats(unsigned, kind::request, bool late) const { return !late; }
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_drained();
    [[nodiscard]] std::string_view name() const override { return inherited_.heir.text(); }
    void on_call(kind::call const&) override;

    [[nodiscard]] bool enter_somewhere();
    void ask();
    void hear_of_changes();
    void forget_call();
    void answer_call(std::string_view permits);
    void move_on();
    void pass_over(core::duration time);
    void move();
    [[nodiscard]] bool belongs_elsewhere();
    [[nodiscard]] bool lost() const { return !runtime_.lines.stands(node_, connection_, polls_); }
    void refused(node_answer const&);

    runtime& runtime_;
    place_listener& listener_;
    std::shared_ptr<lock_state> lock_;
    kind::lock_kind const* type_ = nullptr;
    undo* undo_ = nullptr; ///< for the place
    inheritance inherited_;
    std::string place_;                  ///< as it stands there, behind the nonce
    std::chrono::milliseconds window_{}; ///< for which the lock is kept for it
    core::line_place waiting_;
    core::instant then_;           ///< until when the lock is left to others
    core::node_set silent_;        ///< nodes that let this one wait for an answer, or answered with an error
    core::instant forgiven_at_;    ///< and may be asked again
    std::uint32_t connection_ = 0; ///< the place ends with it
    unsigned node_ = 0;
    bool standing_ = false;
    bool in_front_ = false; ///< it is to be the first; until it is known where it stands
    bool heard_ = false;    ///< was the server to tell of the key when it was asked last?
    bool owned_ =
        false; ///< did one owner have the lock then? Readers and permits serve the queue themselves (rule Q13)
    bool called_ = false;
    bool polls_ = false; ///< nobody calls it (rule Q18)
};

extern template class round<place_in_line>; // where its answers are dealt with

} // namespace redlock::detail
