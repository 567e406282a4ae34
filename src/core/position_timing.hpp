// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace redlock::core {

/// When a waiter in the queue asks again until it is called (docs/protocol.md, rules Q1, Q13, Q16, Q18 and Q19).
class position_timing {
public:
    /// A waiter that does not repeat its entry within three times this interval is forgotten.
    // rule Q1
    static constexpr duration refresh = std::chrono::seconds{20};
    /// Keys that were set together expire together; each position asks this much later than the one before.
    static constexpr duration step = std::chrono::milliseconds{2};

    /// A polling waiter asks at least this often. After a second without a question it counts as dead.
    static constexpr duration longest_poll = std::chrono::milliseconds{200};

    position_timing() = default;
    /// \param window for which the lock is kept for a called waiter, and an answer is awaited
    explicit position_timing(duration window) : window_(window) {}
    /// For a waiter that is never called: it polls.
    /// \param poll how soon the first position asks again
    position_timing(duration window, duration poll, instant now)
        : window_(window), poll_(std::min(poll, longest_poll)), entered_(now)
    {}

    /// The node is asked for a position, or whether the waiter still has it.
    void asked(instant now)
    {
        awaited_ = true;
        due_ = now + window_;
    }
    /// The waiter has a position.
    /// \param before number of positions before it
    /// \param left until the lock's key expires
    /// \param longest that our own key would live
    // rule Q13
    void positioned(std::uint64_t before, duration left, duration longest, instant now)
    {
        awaited_ = false;
        before_ = before;
        entered_behind_ = std::max(entered_behind_, before);
        if (!is_left_free(now))
            free_until_ = {};
        auto const mine = static_cast<duration::rep>(std::min<std::uint64_t>(before, most_steps) + 1);
        due_ = now + std::min(left + mine * step, poll_ ? poll_pause(now) : refresh);
        if (left <= longest)
            doubt_at_.reset();
        else if (!doubt_at_)
            doubt_at_ = now + longest;
        doubt_in_time(now);
        if (std::exchange(changed_, false)) // the answer may be older
            is_left_free(now) ? left_free(free_until_) : key_changed(now);
    }
    /// Unqueued clients may take the lock until then.
    // rule Q19
    void left_free(instant until)
    {
        doubt_at_.reset();
        free_until_ = until;
        changed_ = awaited_;
        if (!awaited_)
            due_ = until;
    }
    /// The waiter before this one was handed the lock, or has left.
    /// \param left until the key expires
    void became_first(instant now, duration left)
    {
        before_ = 0;
        if (awaited_)
            return;
        if (sooner(now + left, due_, now))
            due_ = now + left;
        doubt_in_time(now);
    }
    /// The key has changed: the first waiter asks at once, after the other events of this turn. Each waiter before this
    /// one may be silent, and has its time; the last of them half of it, because it is handed the lock then.
    // rule Q13
    void key_changed(instant now)
    {
        doubt_at_.reset();
        changed_ = awaited_;
        if (awaited_ || is_left_free(now))
            return;
        auto const halves = static_cast<duration::rep>(std::min(before_, most_windows)) * 2 - 1;
        instant const then = before_ == 0 ? now : now + halves * (window_ / 2);
        if (sooner(then, due_, now))
            due_ = then;
    }

    /// The key has existed for as long as ours would live, and has more time left: its owner may be gone, and the other
    /// nodes free. The first waiter checks that.
    [[nodiscard]] bool doubtful(instant now) const
    {
        return before_ == 0 && !awaited_ && doubt_at_ && reached(*doubt_at_, now);
    }

    /// The next check follows after the same time.
    void doubted(duration longest, instant now) { doubt_at_ = now + longest; }

    [[nodiscard]] std::uint64_t before() const { return before_; }
    /// When to ask again, or when a question has timed out.
    [[nodiscard]] instant due() const { return due_; }
    [[nodiscard]] bool awaits_answer() const { return awaited_; }

private:
    static constexpr std::uint64_t most_steps = 10'000;
    static constexpr std::uint64_t most_windows = 20; ///< waiters before this one may have gone long ago

    /// Half of the time after which it should be the first, if positions take as long as those before it did.
    // rule Q18
    [[nodiscard]] duration poll_pause(instant now) const
    {
        auto const waits_for = static_cast<duration::rep>(std::min(before_, most_steps));
        auto const passed = static_cast<duration::rep>(std::max<std::uint64_t>(entered_behind_ - before_, 1));
        return std::clamp(elapsed(entered_, now) / (2 * passed) * waits_for, *poll_, longest_poll);
    }
    void doubt_in_time(instant now)
    {
        if (doubt_at_ && before_ == 0 && sooner(*doubt_at_, due_, now))
            due_ = *doubt_at_;
    }
    [[nodiscard]] bool is_left_free(instant now) const { return !reached(free_until_, now); }

    duration window_{};
    std::optional<duration> poll_{};
    instant entered_{};
    std::uint64_t entered_behind_ = 0;
    std::uint64_t before_ = 0;
    instant due_{};
    instant free_until_{};
    std::optional<instant> doubt_at_{};
    bool awaited_ = false;
    bool changed_ = false; ///< the key has, since the question was asked
};

} // namespace redlock::core
