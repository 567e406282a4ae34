// SPDX-License-Identifier: BSL-1.0
#include "chaos/participant.hpp"

#include "../examples/fenced_register.hpp"
#include "chaos/journal.hpp"
#include "chaos/plan.hpp"
#include "kit/probe.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace redlock::chaos {

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;
using namespace std::chrono_literals;

/// A program counts its own time in ticks: neither a stop of its process nor the machine's load makes the library late.
constexpr milliseconds tick = 10ms;
/// Allowed beyond the promised times.
constexpr milliseconds patience = 2s;
constexpr milliseconds one_attempt = 3s; ///< connecting, the marker, the votes and a raise

auto const no_throw = asio::as_tuple(asio::use_awaitable);

class actor;

/// One client, and the actors that use it.
class participant {
public:
    explicit participant(stage const&);
    void run();

    [[nodiscard]] bool calm() const { return calm_; }
    [[nodiscard]] bool leaving() const { return leaving_; }
    void note(entry one)
    {
        one.program = static_cast<std::uint16_t>(where_.program);
        journal_.append(one);
    }
    /// Starts an operation that must end within this time of the program's own clock.
    template <class Operation>
    auto in_time(entry what, milliseconds longest, Operation operation)
        -> awaitable<typename Operation::value_type>
    {
        auto const number = ++operations_;
        under_way_[number] = {what, ticks_ + (longest + patience) / tick};
        auto result = co_await std::move(operation);
        under_way_.erase(number);
        co_return result;
    }
    /// Ends earlier if this program leaves meanwhile: no work may be left then.
    awaitable<void> pause(nanoseconds length)
    {
        asio::steady_timer timer(context);
        for (nanoseconds const end = now() + length; now() < end && !leaving_;) {
            timer.expires_after(std::min<nanoseconds>(tick, end - now()));
            co_await timer.async_wait(no_throw);
        }
    }
    void spawn(awaitable<void> work)
    {
        asio::co_spawn(context, std::move(work), [](std::exception_ptr e) {
            if (e)
                std::rethrow_exception(e);
        });
    }
    /// Accesses the guarded register, on a server that is never disturbed.
    std::string ask_register(std::string_view script, unsigned thing, std::uint64_t token,
                             std::uint64_t value);
    [[nodiscard]] unsigned permits() const { return all_.permits; }
    /// One more than the value that was read, and unique.
    std::uint64_t next_value(std::uint64_t read)
    {
        return ((read >> 32U) + 1) << 32U | std::uint64_t{where_.program} << 20U | ++writes_;
    }

    asio::io_context context;
    std::optional<client> locks;

private:
    void on_tick();
    void leave();
    [[nodiscard]] bool is_said(std::string const& word) const
    {
        return std::filesystem::exists(where_.directory + '/' + word);
    }

    stage where_;
    cast all_{where_.seed};
    journal journal_;
    test::probe guarded_;
    bool calm_ = false;
    bool leaving_ = false;
    std::int64_t ticks_ = 0;
    unsigned operations_ = 0;
    unsigned writes_ = 0;
    std::map<unsigned, std::pair<entry, std::int64_t>> under_way_; ///< with its last tick
    std::list<actor> actors_;
};

any_lock make_lock(client& locks, unsigned permits, part const& mine)
{
    std::string const name = name_of_thing(thing_of(mine.lock));
    std::vector<std::string> names{name};
    for (unsigned const other : mine.others)
        names.push_back(name_of_thing(thing_of(other)));
    switch (mine.how) {
    case manner::plainly: break;
    case manner::fenced: return fenced_mutex(locks, name, mine.options);
    case manner::reading: return shared_mutex(locks, name, mine.options).shared();
    case manner::writing: return shared_mutex(locks, name, mine.options);
    case manner::fenced_reading: return fenced_shared_mutex(locks, name, mine.options).shared();
    case manner::fenced_writing: return fenced_shared_mutex(locks, name, mine.options);
    case manner::together: return multi_mutex(locks, names, mine.options);
    case manner::fenced_together: return fenced_multi_mutex(locks, names, mine.options);
    case manner::sharing_out: return semaphore(locks, name, permits, mine.options).taking(mine.count);
    case manner::fenced_sharing_out:
        return fenced_semaphore(locks, name, permits, mine.options).taking(mine.count);
    }
    return mutex(locks, name, mine.options);
}

/// Runs one operation after the other.
class actor {
public:
    actor(participant& home, unsigned number, part const& mine)
        : home_(home), mine_(mine), chance_(mine.chance), number_(static_cast<std::uint8_t>(number)),
          lock_(make_lock(*home.locks, home.permits(), mine))
    {}

    awaitable<void> run();
    void look();
    void is_ended()
    {
        if (!held_.empty())
            note(event::lets_go);
    }

private:
    [[nodiscard]] entry here(event what, std::uint64_t value = 0) const
    {
        return {.at = now(),
                .value = value,
                .operation = operation_,
                .actor = number_,
                .lock = static_cast<std::uint8_t>(mine_.lock),
                .what = what,
                .things = things_};
    }
    void note(event what, std::uint64_t value = 0) { home_.note(here(what, value)); }
    milliseconds upto(milliseconds longest) { return milliseconds{chance_.between(1, longest.count())}; }

    using grant = std::tuple<error_code, lease>;
    awaitable<grant> get();
    awaitable<grant> wait_and_leave(milliseconds limit);
    void find_out_what_is_held();
    awaitable<void> hold();
    awaitable<void> let_go();
    awaitable<void> extend_after(milliseconds, entry its);
    awaitable<void> downgrade_after(milliseconds);
    awaitable<void> use(std::uint64_t token, milliseconds thinking, entry its);

    participant& home_;
    part mine_;
    test::dice chance_;
    std::uint8_t number_;
    any_lock lock_;
    lease held_{};
    std::uint32_t things_ = 0; ///< that it has, or had last
    unsigned guarded_ = 0;     ///< the thing among them whose register it uses
    std::uint32_t operation_ = 0;
    nanoseconds valid_until_{};
    std::uint64_t token_ = 0; ///< as in the journal
    unsigned looks_after_the_end_ = 0;
    bool told_ = false;
};

participant::participant(stage const& where)
    : where_(where), journal_(where.directory + "/journal"), guarded_(where.guarded, 60s)
{
    locks.emplace(context.get_executor(), draw_config(all_, where.program, where.nodes));
    for (part const& one : draw_parts(all_, where.program))
        actors_.emplace_back(*this, static_cast<unsigned>(actors_.size()), one);
}

void participant::run()
{
    for (actor& one : actors_)
        spawn(one.run());
    while (!context.stopped()) {
        context.run_for(tick);
        on_tick();
    }
    note({.at = now(), .what = event::leaves});
}

void participant::on_tick()
{
    ++ticks_;
    for (actor& one : actors_)
        one.look();
    std::erase_if(under_way_, [this](auto const& one) {
        auto [what, last_tick] = one.second;
        if (ticks_ <= last_tick)
            return false;
        what.at = now();
        what.value = static_cast<std::uint64_t>(std::exchange(what.what, event::overdue));
        note(what);
        return true;
    });
    calm_ = calm_ || is_said("calm");
    if (!leaving_ && (is_said("leave") || is_said("leave-" + std::to_string(where_.program))))
        leave();
}

/// Leaves by shutdown or by destroying the client. No work may be left after that.
void participant::leave()
{
    leaving_ = true;
    for (actor& one : actors_)
        one.is_ended();
    under_way_[0] = {{.what = event::leaves}, ticks_ + (one_attempt + patience) / tick};
    if (where_.program % 2 == 0)
        return locks.reset();
    locks->shutdown([this](error_code) { locks.reset(); });
}

std::string participant::ask_register(std::string_view script, unsigned thing, std::uint64_t token,
                                      std::uint64_t value)
{
    std::string const key = "register-" + std::to_string(thing);
    return guarded_.command({"EVAL", std::string(script), "2", key, key + ":fence", std::to_string(token),
                             std::to_string(value)});
}

awaitable<void> actor::run()
{
    co_await home_.pause(upto(100ms));
    while (!home_.leaving()) {
        ++operation_;
        things_ = 0;
        auto [ec, got] = co_await get();
        if (ec) {
            note(event::refused, static_cast<std::uint64_t>(ec.value()));
            co_await home_.pause(upto(300ms));
            continue;
        }
        held_ = std::move(got);
        co_await hold();
        co_await let_go();
        co_await home_.pause(upto(50ms));
    }
}

awaitable<actor::grant> actor::get()
{
    auto const how = chance_.below(8);
    milliseconds const limit = upto(3s);
    note(event::asks, how);
    if (how == 0)
        co_return co_await home_.in_time(here(event::asks), one_attempt, lock_.try_acquire(no_throw));
    if (how == 1)
        co_return co_await home_.in_time(here(event::asks), limit, lock_.acquire_for(limit, no_throw));
    if (how == 2)
        co_return co_await home_.in_time(here(event::asks), limit, wait_and_leave(limit));
    co_return co_await lock_.acquire(no_throw);
}

awaitable<actor::grant> actor::wait_and_leave(milliseconds limit)
{
    auto const cancelled = std::make_shared<asio::cancellation_signal>();
    asio::steady_timer timer(home_.context, limit);
    timer.async_wait([cancelled](error_code ec) {
        if (!ec)
            cancelled->emit(asio::cancellation_type::terminal);
    });
    co_return co_await lock_.acquire(asio::bind_cancellation_slot(cancelled->slot(), no_throw));
}

/// \throws std::runtime_error not the wanted number of permits, or one that does not exist
void actor::find_out_what_is_held()
{
    guarded_ = thing_of(mine_.lock);
    things_ = 1U << guarded_;
    for (unsigned const other : mine_.others)
        things_ |= 1U << thing_of(other);
    auto const slots = held_.permits();
    if (slots.size() != (takes_permits(mine_.how) ? mine_.count : 0U))
        throw std::runtime_error("a lease has " + std::to_string(slots.size()) + " permits");
    if (slots.empty())
        return;
    guarded_ = thing_of(mine_.lock, slots.front());
    things_ = 0;
    for (unsigned const slot : slots) {
        if (slot >= home_.permits() || (things_ >> thing_of(mine_.lock, slot)) % 2 != 0)
            throw std::runtime_error("a lease has permit " + std::to_string(slot));
        things_ |= 1U << thing_of(mine_.lock, slot);
    }
}

awaitable<void> actor::hold()
{
    find_out_what_is_held();
    std::uint64_t const token = token_ = held_.fencing_token();
    note(event::holds, token);
    valid_until_ = {};
    looks_after_the_end_ = 0;
    told_ = false;
    look();
    held_.ended([this, its = operation_](error_code, lease_end) {
        if (its != operation_ || held_.empty())
            return;
        told_ = true;
        note(event::told, looks_after_the_end_);
    });
    milliseconds const length = upto(home_.calm() ? 20ms : chance_.one_in(3) ? 2 * mine_.options.ttl : 50ms);
    if (token != 0) {
        milliseconds const thinking = upto(chance_.one_in(2) ? 10ms : 2s);
        home_.spawn(use(token, thinking, here(event::reads)));
    }
    if (chance_.one_in(8))
        home_.spawn(extend_after(upto(length), here(event::extended)));
    if (takes_turns(mine_.how) && chance_.one_in(3))
        for (auto times = chance_.between(1, 2); times != 0; --times)
            home_.spawn(downgrade_after(upto(length)));
    co_await home_.pause(length);
}

/// Looks at its lease. A lease that is valid a moment before the question stays so, however long this program is
/// stopped meanwhile.
void actor::look()
{
    if (held_.empty() || home_.leaving())
        return;
    if (std::uint64_t const token = held_.fencing_token(); std::exchange(token_, token) != token)
        note(event::renumbered, token);
    nanoseconds const asked = now();
    nanoseconds const until = asked + held_.remaining();
    if (until > asked && until > valid_until_ + 1ms) {
        valid_until_ = until;
        entry valid =
            here(held_.shared() ? event::valid_too : event::valid, static_cast<std::uint64_t>(until.count()));
        valid.at = asked;
        home_.note(valid);
    }
    bool const over = mine_.options.tolerate_suspect ? held_.state() == lease_state::lost : !held_.valid();
    if (over && !told_ && ++looks_after_the_end_ == patience / tick)
        note(event::not_told);
}

awaitable<void> actor::extend_after(milliseconds pause, entry its)
{
    co_await home_.pause(pause);
    if (held_.empty() || its.operation != operation_)
        co_return;
    auto const [ec] = co_await home_.in_time(its, 2 * mine_.options.ttl + 1s, held_.extend(no_throw));
    its.at = now();
    its.value = static_cast<std::uint64_t>(ec.value());
    home_.note(its);
}

/// The journal has it before.
awaitable<void> actor::downgrade_after(milliseconds pause)
{
    auto const operation = operation_;
    co_await home_.pause(pause);
    if (held_.empty() || operation != operation_ || !held_.valid() || held_.shared())
        co_return;
    note(event::downgrades);
    held_.downgrade();
    valid_until_ = {};
    look();
}

/// The journal has it before the library is told.
awaitable<void> actor::let_go()
{
    note(event::lets_go);
    lease going = std::move(held_);
    if (chance_.one_in(3))
        co_return;
    auto const [ec] =
        co_await home_.in_time(here(event::released), *mine_.options.node_timeout, going.release(no_throw));
    note(event::released, static_cast<std::uint64_t>(ec.value()));
}

/// Reads the guarded value and, unless it is a reader, writes one more, however late: its lease may be over when the
/// write comes.
awaitable<void> actor::use(std::uint64_t token, milliseconds thinking, entry its)
{
    unsigned const thing = guarded_;
    its.things = 1U << thing;
    auto const note_use = [this, &its](event what, std::uint64_t value) {
        its.what = what;
        its.value = value;
        its.at = now();
        home_.note(its);
    };
    note_use(event::reads, 0);
    std::string const found = home_.ask_register(fenced_scripts::read, thing, token, 0);
    if (found == "[0]")
        co_return note_use(event::reads_late, 0);
    std::uint64_t const seen = found == "[1, (nil)]" ? 0 : std::stoull(found.substr(4));
    note_use(event::has_read, seen);
    if (mine_.how == manner::fenced_reading)
        co_return;
    co_await home_.pause(thinking);
    std::uint64_t const next = home_.next_value(seen);
    note_use(event::writes, next);
    std::string const done = home_.ask_register(fenced_scripts::write, thing, token, next);
    if (done != "0" && done != "1")
        throw std::runtime_error("the register says " + done);
    note_use(done == "1" ? event::has_written : event::writes_late, next);
}

} // namespace

void participate(stage const& where)
{
    participant(where).run();
}

} // namespace redlock::chaos
