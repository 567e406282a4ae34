// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/timer_wheel.hpp"
#include "net/executor.hpp"
#include "net/machine.hpp"
#include "net/process_page.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::net {

/// Work for the end of the turn, when no other work is half done: user code runs only there.
class task {
public:
    task() = default;
    task(task const&) = delete;
    task& operator=(task const&) = delete;

    virtual void run() = 0;

protected:
    ~task() = default;

private:
    friend class loop;
    task* next_ = nullptr;
    bool queued_ = false;
};

/// A writer with bytes to send at the end of the turn.
class flushable {
public:
    virtual void flush() noexcept = 0;

protected:
    ~flushable() = default;
};

/// Called in a forked child, where its resources are the parent's. May be called more than once.
class fork_listener {
public:
    virtual void on_fork() noexcept = 0;

protected:
    ~fork_listener() = default;
};

/// One client's work on its executor, in turns. A turn first handles everything that the sockets and timers bring. Then
/// it runs the tasks, which complete operations, and so run the user's code. Then every node with bytes to send writes
/// once. Thus commands of many operations share a write (docs/architecture.md, "A turn"). The loop's members are the
/// clock, the queues and the alarm, which every step of a turn uses.
class loop final : private alarm_listener {
public:
    loop(any_io_executor executor, std::shared_ptr<net::machine>);

    /// Handlers keep this loop's owner alive while they run.
    void owned_by(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

    /// The listener is told of a fork before any work of a turn in a copy of this process, and after each task.
    void made_in(process_page const& process, fork_listener& told)
    {
        process_ = &process;
        fork_listener_ = &told;
    }

    [[nodiscard]] any_io_executor const& executor() const { return executor_; }
    [[nodiscard]] net::machine& machine() const { return *machine_; }
    /// True in the middle of a turn, without a question to the executor.
    [[nodiscard]] bool running_here() const
    {
        return inside_.load(std::memory_order_relaxed) == std::this_thread::get_id() ||
               running_here_(executor_);
    }

    /// The reading of this turn, never later than the truth; good for the start of something.
    // rule V1
    [[nodiscard]] core::instant now() const { return in_turn_ ? now_ : machine_->read_clocks(); }
    /// A fresh reading, for the end of something.
    core::instant read_clock();

    void schedule(core::timer&, core::instant at);
    void schedule_after(core::timer&, core::duration);
    /// With a precision of a sixteenth of a millisecond: for few, short timers.
    void schedule_finely(core::timer&, core::instant at);
    void cancel(core::timer& t) { wheel_.cancel(t); }
    /// Cancels a timer that will be scheduled again, and lives as long as the loop.
    void suspend(core::timer& t) { wheel_.suspend(t); }

    void enqueue(task& t)
    {
        if (!t.queued_)
            add(t);
    }
    void enqueue(flushable&) noexcept;
    /// Reserves memory for so many flushables; each is queued at most once.
    void reserve_for(std::size_t flushables);

    /// Makes sure that a turn will come. A caller that begins work from outside calls it first, and changes nothing if
    /// it throws. Scheduling and enqueuing then need no memory.
    /// \throws std::bad_alloc
    void request_turn();

    /// Runs `t` in the next turn. May be called on any thread, and needs no memory.
    void call(task& t) noexcept { called_.store(&t, std::memory_order_release); }

    /// Stops timers and flushes; tasks still run, so that every operation completes.
    void close();

    /// Is this process a forked child? A turn tells the fork's listener.
    [[nodiscard]] bool forked() const noexcept { return process_ && process_->forked(); }
    /// In a forked child: was another thread of the parent inside a turn? Its work is half done permanently.
    [[nodiscard]] bool broken_off() const noexcept;

    /// Covers the work of one handler.
    class turn {
    public:
        explicit turn(loop&);
        turn(turn const&) = delete;
        turn& operator=(turn const&) = delete;
        ~turn();
        /// Ends a handler's work. Not called when an exception passes: then the rest is done in a later turn.
        void finish();

    private:
        std::shared_ptr<void> owner_;
        loop& loop_;
        std::thread::id const outer_; ///< this thread, if a handler runs its context itself: turns nest
        bool finished_ = false;
    };

private:
    using tick = core::timer_wheel::tick;

    [[nodiscard]] core::duration since_start(core::instant at) const { return core::elapsed(start_, at); }
    template <std::int64_t Ticks>
    void schedule_in_steps(core::timer&, core::duration delay);
    /// Returns the thread inside a turn, if any. If it is another thread, the misuse ends the program.
    std::thread::id thread_inside() const noexcept;
    void ensure_turn() noexcept
    {
        if (!in_turn_ && !turn_requested_)
            bring_turn();
    }
    void bring_turn() noexcept;
    void notice_fork() noexcept
    {
        if (forked())
            fork_listener_->on_fork();
    }
    void add(task&) noexcept;
    void expire_timers();
    void run_tasks();
    void flush_all() noexcept;
    void arm() noexcept;
    [[nodiscard]] bool wait(core::duration) noexcept;
    void on_alarm(error_code, unsigned) override;

    any_io_executor executor_;
    on_executor running_here_;
    std::shared_ptr<net::machine> machine_;
    core::instant start_; ///< beginning of the timers' ticks
    core::instant now_;
    core::duration counted_{}; ///< from the start to now, as the timers count
    core::timer_wheel wheel_;
    std::unique_ptr<alarm> alarm_;
    std::weak_ptr<void> owner_;
    process_page const* process_ = nullptr;
    fork_listener* fork_listener_ = nullptr;
    task* first_task_ = nullptr;
    task* last_task_ = nullptr;
    std::vector<flushable*> to_flush_;
    std::vector<flushable*> flushing_;
    std::atomic<task*> called_ = nullptr;
    std::atomic<std::thread::id> inside_{}; ///< the thread whose turn it is
    tick armed_for_ = 0;
    bool armed_ = false;
    bool woken_ = false; ///< the wait that was cancelled stands for a turn
    bool in_turn_ = false;
    bool turn_requested_ = false;
    bool closed_ = false;
};

} // namespace redlock::net
