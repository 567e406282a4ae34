// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace redlock::core {

struct timer_hook {
    timer_hook* previous = nullptr;
    timer_hook* next = nullptr;
};

/// Something that is due at a tick. Belongs to at most one wheel, and must not be destroyed while scheduled there.
class timer : private timer_hook {
public:
    timer() = default;
    timer(timer const&) = delete;
    timer& operator=(timer const&) = delete;

    [[nodiscard]] bool scheduled() const { return stands() && (due_ & suspended) == 0; }
    /// In a wheel, scheduled or suspended.
    [[nodiscard]] bool stands() const { return next != nullptr; }
    virtual void expire() = 0;

protected:
    ~timer() { unlink(); }

private:
    friend class timer_wheel;
    static constexpr std::uint64_t suspended = std::uint64_t{1} << 63U;

    void unlink()
    {
        if (!stands())
            return;
        previous->next = next;
        next->previous = previous;
        previous = next = nullptr;
    }

    std::uint64_t due_ = 0; ///< or was, when it was suspended
};

/// Hierarchical timing wheel (Varghese and Lauck 1987): the cost of schedule and cancel does not depend on the number
/// of timers, so a hundred thousand leases need one operating-system timer. The caller defines the length of a tick;
/// ticks never go back.
///
/// A timer that is suspended or put off stays where it stands until that tick has come, and is then dropped or moved: an
/// attempt's limits the time of answers that come, and is set anew long before.
class timer_wheel {
public:
    using tick = std::uint64_t;

    timer_wheel();
    timer_wheel(timer_wheel const&) = delete;
    timer_wheel& operator=(timer_wheel const&) = delete;
    ~timer_wheel();

    /// Moves the timer if it is scheduled already. A tick in the past is due at once, one beyond 2^42 at 2^42.
    void schedule(timer&, tick due);
    /// The wheel and its other timers do not know it any more: it may be destroyed by any thread.
    void cancel(timer& t)
    {
        size_ -= t.scheduled() ? 1U : 0U;
        t.unlink();
    }
    /// Suspends a timer that will be scheduled again: it is not due, but stays in the wheel, and belongs to the wheel's
    /// owner.
    void suspend(timer& t)
    {
        if (!t.scheduled())
            return;
        t.due_ |= timer::suspended;
        --size_;
    }

    /// Takes out one timer that is due at `now`; null when there is none left.
    [[nodiscard]] timer* pop_due(tick now);

    /// No timer is due before this tick. Empty: there is no timer.
    [[nodiscard]] std::optional<tick> next_due() const;
    [[nodiscard]] bool empty() const { return size_ == 0; }

private:
    static constexpr unsigned bits = 6;
    static constexpr unsigned slots_per_level = 1U << bits;
    static constexpr unsigned levels = 7;
    static constexpr tick horizon =
        (tick{1} << (bits * levels)) - 1; ///< 8 years of sixteenths of a millisecond

    void insert(timer&);
    void cascade(unsigned slot);
    [[nodiscard]] timer* pop(unsigned slot);
    static timer& take_first(timer_hook& head);
    /// Empty: no timer stands in any.
    [[nodiscard]] std::optional<unsigned> first_slot() const;
    [[nodiscard]] tick start_of(unsigned slot) const;
    void clear(unsigned slot) { occupied_[slot / slots_per_level] &= ~(tick{1} << slot % slots_per_level); }

    std::array<timer_hook, std::size_t{levels} * slots_per_level> slots_;
    std::array<std::uint64_t, levels> occupied_{}; ///< slots in which timers stand, or have stood
    tick now_ = 0;
    std::size_t size_ = 0; ///< timers that are scheduled
};

} // namespace redlock::core
