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

/// Something to do at the end of the turn, when no other work is half done: user code runs only there.
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

/// Something with bytes to send at the end of the turn.
class flushable {
public:
    virtual void flush() noexcept = 0;

protected:
    ~flushable() = default;
};

/// Told, in a forked child, that what it has was its parent's. May be told more than once.
class fork_listener {
public:
    virtual void on_fork() noexcept = 0;

protected:
    ~fork_listener() = default;
};

/// One client's work on its executor, in turns: whatever the sockets and timers bring is worked off first, then the
/// tasks (which complete operations, and so run the user's code), then every node with something to say writes once.
/// Commands that belong to many operations thus share a write (docs/architecture.md, "A turn"). Its members are the clock,
/// the queues and the alarm that every step of a turn looks at.
class loop final : private alarm_listener {
public:
    loop(any_io_executor executor, std::shared_ptr<net::machine>);

    /// Handlers hold what owns this loop while they run.
    void owned_by(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

    /// Before anything of a turn is done in a copy of this process, and after each task, the listener is told.
    void made_in(process_page const& process, fork_listener& told)
    {
        process_ = &process;
        fork_listener_ = &told;
    }

    [[nodiscard]] any_io_executor const& executor() const { return executor_; }
    [[nodiscard]] net::machine& machine() const { return *machine_; }
    /// In the middle of a turn that is known without a question to the executor.
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
    /// To a sixteenth of a millisecond: for what is few, and short.
    void schedule_finely(core::timer&, core::instant at);
    void cancel(core::timer& t) { wheel_.cancel(t); }
    /// The same of one that will be scheduled again, and lives as long as the loop.
    void suspend(core::timer& t) { wheel_.suspend(t); }

    void enqueue(task& t)
    {
        if (!t.queued_)
            add(t);
    }
    void enqueue(flushable&) noexcept;
    /// So many things to flush there will be; none stands in the queue twice.
    void reserve_for(std::size_t flushables);

    /// A turn will come. Who begins something from outside asks for it first, and changes nothing where it throws; what
    /// is scheduled or enqueued then needs no memory.
    /// \throws std::bad_alloc
    void request_turn();

    /// Any thread, and without memory: `t` runs in the next turn, whenever that is.
    void call(task& t) noexcept { called_.store(&t, std::memory_order_release); }

    /// No timer and no flush any more; tasks still run, so that every operation completes.
    void close();

    /// In a forked child: did another thread of the parent have its turn then? What it did is half done for ever.
    [[nodiscard]] bool broken_off() const noexcept;

    /// Covers the work of one handler.
    class turn {
    public:
        explicit turn(loop&);
        turn(turn const&) = delete;
        turn& operator=(turn const&) = delete;
        ~turn();
        /// What a handler does last. Left out when an exception passes: then the rest is done in a later turn.
        void finish();

    private:
        std::shared_ptr<void> owner_;
        loop& loop_;
        std::thread::id const outer_; ///< a handler may run its context itself: turns may lie in one another
        bool finished_ = false;
    };

private:
    using tick = core::timer_wheel::tick;

    [[nodiscard]] core::duration since_start(core::instant at) const { return core::elapsed(start_, at); }
    template <std::int64_t Ticks>
    void schedule_in_steps(core::timer&, core::duration delay);
    /// Whose turn it is, if anybody's. Another thread's is a misuse that ends the program.
    std::thread::id expect_no_other() const noexcept;
    void ensure_turn() noexcept
    {
        if (!in_turn_ && !turn_requested_)
            bring_turn();
    }
    void bring_turn() noexcept;
    [[nodiscard]] bool forked() const noexcept { return process_ && process_->forked(); }
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
    core::instant start_; ///< of the timers' ticks
    core::instant now_;
    core::duration counted_{}; ///< from the start to now, by the timers' reckoning
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
