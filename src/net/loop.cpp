// SPDX-License-Identifier: BSL-1.0
#include "net/loop.hpp"

#include "core/memory.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

constexpr core::duration tick_length = std::chrono::nanoseconds{62'500};
/// Clocks that are read one after the other always differ a little.
constexpr core::duration unheeded = std::chrono::milliseconds{1};
/// More than time synchronisation slews the machine's timers by (chrony: a twelfth at most).
constexpr int slewed_by = 10;
constexpr core::duration soon = std::chrono::milliseconds{10};
constexpr std::int64_t ticks_in_ms = std::chrono::milliseconds{1} / tick_length;

} // namespace

loop::loop(any_io_executor executor, std::shared_ptr<net::machine> m)
    : executor_(std::move(executor)), running_here_(serialising(executor_)), machine_(std::move(m)),
      start_(machine_->read_clocks()), now_(start_), alarm_(machine_->make_alarm(executor_, *this))
{}

/// Timers count by the clock that has run further since the start. The start follows the clocks when they drift apart:
/// otherwise the clock that is behind would not count, even if it runs faster from then on.
core::instant loop::read_clock()
{
    now_ = machine_->read_clocks();
    counted_ = core::elapsed(start_, now_);
    if (std::chrono::abs((now_.boot - start_.boot) - (now_.raw - start_.raw)) > unheeded)
        start_ = now_ - counted_;
    return now_;
}

void loop::schedule(core::timer& t, core::instant at)
{
    schedule_after(t, core::remaining(at, now()));
}

/// Rounded up to a whole millisecond, so that many timers expire together: a timeout is never early. A caller that must
/// not be late asks for an earlier time.
void loop::schedule_after(core::timer& t, core::duration delay)
{
    schedule_in_steps<ticks_in_ms>(t, delay);
}

void loop::schedule_finely(core::timer& t, core::instant at)
{
    schedule_in_steps<1>(t, core::remaining(at, now()));
}

/// Steps are constants: a division by a variable would take longer than all the rest.
template <std::int64_t Ticks>
void loop::schedule_in_steps(core::timer& t, core::duration delay)
{
    if (closed_)
        return;
    auto const due = (in_turn_ ? counted_ : since_start(now())) + std::max(delay, core::duration::zero());
    constexpr core::duration step = Ticks * tick_length;
    wheel_.schedule(t, static_cast<tick>((due + step - core::duration{1}) / step * Ticks));
    ensure_turn();
}

void loop::add(task& t) noexcept
{
    t.queued_ = true;
    t.next_ = nullptr;
    (last_task_ ? last_task_->next_ : first_task_) = &t;
    last_task_ = &t;
    ensure_turn();
}

void loop::enqueue(flushable& f) noexcept
{
    to_flush_.push_back(&f);
    ensure_turn();
}

void loop::reserve_for(std::size_t flushables)
{
    to_flush_.reserve(flushables);
    flushing_.reserve(flushables);
}

void loop::close()
{
    closed_ = true;
    while (wheel_.next_due())
        (void)wheel_.pop_due(~tick{0});
    to_flush_.clear();
    armed_ = false;
    alarm_->cancel();
}

std::thread::id loop::thread_inside() const noexcept
{
    auto const whose = inside_.load(std::memory_order_relaxed);
    if (whose != std::thread::id() && whose != std::this_thread::get_id() && !forked())
        not_serialising();
    return whose;
}

bool loop::broken_off() const noexcept
{
    auto const whose = inside_.load(std::memory_order_relaxed);
    return whose != std::thread::id() && whose != std::this_thread::get_id();
}

void loop::request_turn()
{
    (void)thread_inside(); // ends the program on misuse
    if (in_turn_)
        return void(read_clock()); // the handler that begins something may have taken long
    if (turn_requested_)
        return;
    auto owner = owner_.lock();
    if (!owner)
        return;
    asio::post(executor_, [this, owner = std::move(owner)] {
        turn_requested_ = false;
        turn current(*this);
        current.finish();
    });
    turn_requested_ = true;
}

/// If there is no memory for a new handler, the timer's handler is used: it has memory of its own.
void loop::bring_turn() noexcept
{
    if (core::if_memory_allows([this] { request_turn(); }))
        return;
    woken_ = true; // a wait that is cancelled, or has been, stands for a turn
    if (std::exchange(armed_, false))
        alarm_->cancel();
    else
        (void)wait(core::duration::zero()); // if this fails, too, the next event brings a turn
}

/// Replaces the present wait. False: there is no memory.
bool loop::wait(core::duration delay) noexcept
{
    return core::if_memory_allows([&] { alarm_->set(delay, owner_.lock()); });
}

void loop::expire_timers()
{
    auto const now = static_cast<tick>(counted_ / tick_length);
    while (core::timer* due = wheel_.pop_due(now))
        due->expire();
}

/// Runs only the tasks that are queued now. Otherwise a task whose completion starts an operation that fails at once
/// would keep the executor busy.
void loop::run_tasks()
{
    task* const last = last_task_;
    for (bool done = last == nullptr;
         !done && first_task_ != nullptr;) { // a handler may have run some itself
        task* const t = first_task_;
        done = t == last;
        first_task_ = t->next_;
        if (!first_task_)
            last_task_ = nullptr;
        t->queued_ = false;
        t->run();
        notice_fork(); // user code may have forked: the rest of the turn would be done by both
    }
}

void loop::flush_all() noexcept
{
    flushing_.swap(to_flush_);
    for (flushable* f : flushing_)
        f->flush();
    flushing_.clear();
}

/// The machine's timers do not run by the clock that counts: a distant moment is approached in steps.
// rule H2
void loop::arm() noexcept
{
    auto const due = wheel_.next_due();
    if (!due) {
        if (std::exchange(armed_, false))
            alarm_->cancel();
        return;
    }
    if (armed_ && armed_for_ <= *due)
        return;
    bool const moves = std::exchange(armed_, true);
    armed_for_ = *due;
    auto const left = tick_length * static_cast<std::int64_t>(*due) - since_start(read_clock());
    if (wait(std::max(left > soon ? left - left / slewed_by : left, core::duration::zero())))
        return;
    armed_ = false;           // tried again in another turn
    woken_ = woken_ || moves; // the wait that has just been cancelled stands for a turn
    if (!moves)
        ensure_turn();
}

void loop::on_alarm(error_code ec, unsigned)
{
    if (ec && !std::exchange(woken_, false))
        return;
    if (!ec)
        armed_ = false;
    turn current(*this);
    expire_timers();
    current.finish();
}

loop::turn::turn(loop& l) : owner_(l.owner_.lock()), loop_(l), outer_(l.thread_inside())
{
    loop_.inside_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    loop_.in_turn_ = true;
    loop_.read_clock();
    loop_.notice_fork();
}

void loop::turn::finish()
{
    if (task* const called = loop_.called_.exchange(nullptr, std::memory_order_acquire))
        loop_.enqueue(*called);
    loop_.run_tasks();
    loop_.notice_fork(); // an observer may have forked, too
    finished_ = true;
    loop_.flush_all();
    loop_.in_turn_ = false;
    loop_.inside_.store(outer_, std::memory_order_relaxed);
    if (!loop_.closed_)
        loop_.arm();
    if (loop_.first_task_ || !loop_.to_flush_.empty())
        loop_.ensure_turn();
}

loop::turn::~turn()
{
    if (finished_)
        return;
    loop_.in_turn_ = false;
    loop_.inside_.store(outer_, std::memory_order_relaxed);
    loop_.ensure_turn();
}

} // namespace redlock::net
