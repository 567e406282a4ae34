// SPDX-License-Identifier: BSL-1.0
#include "chaos/actor.hpp"

#include "../examples/fenced_register.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <memory>
#include <stdexcept>

namespace redlock::chaos {

namespace {

/// Cancels an operation after some time.
class patience_with_operation {
public:
    patience_with_operation(asio::io_context& context, milliseconds limit) : timer_(context, limit)
    {
        timer_.async_wait([cancelled = cancelled_](error_code ec) {
            if (!ec)
                cancelled->emit(asio::cancellation_type::terminal);
        });
    }
    auto token() { return asio::bind_cancellation_slot(cancelled_->slot(), no_throw); }

private:
    std::shared_ptr<asio::cancellation_signal> cancelled_ = std::make_shared<asio::cancellation_signal>();
    asio::steady_timer timer_;
};

} // namespace

awaitable<void> actor::run()
{
    co_await home_.pause(upto(100ms));
    while (!home_.leaving()) {
        ++operation_;
        things_ = 0;
        error_code const ec = co_await obtain();
        if (ec) {
            note(event::refused, static_cast<std::uint64_t>(ec.value()));
            co_await home_.pause(upto(300ms));
            continue;
        }
        co_await hold();
        co_await let_go();
        co_await home_.pause(upto(50ms));
    }
}

awaitable<error_code> actor::obtain()
{
    has_adopted_ = false;
    if (mine_.how == manner::leading)
        co_return co_await campaign();
    auto const left = co_await find_left_lease();
    if (home_.leaving()) // and the client may be gone
        co_return errc::shut_down;
    if (left && left->ttl >= mine_.options.ttl)
        co_return co_await go_on_with(*left);
    auto [ec, got] = co_await get(std::get<any_lock>(lock_));
    held_ = std::move(got);
    co_return ec;
}

/// Looks for one that another actor has left behind, for a while.
awaitable<std::optional<left_lease>> actor::find_left_lease()
{
    bool const has_just_left_one = std::exchange(has_left_, false);
    if (!home_.all().leases_are_adopted || !may_be_adopted(mine_.how) || has_just_left_one ||
        chance_.one_in(4))
        co_return std::nullopt;
    std::string const file = file_of_left_lease();
    std::string const mine = file + "-for-" + std::to_string(here(event::adopts).owner());
    auto left = take_left(file, mine);
    for (auto looks = upto(500ms) / tick; !left && looks > 0 && !home_.calm() && !home_.leaving(); --looks) {
        co_await home_.pause(tick);
        left = take_left(file, mine);
    }
    co_return left;
}

/// The value tells observers whose it is.
awaitable<error_code> actor::campaign()
{
    patience_with_operation limited(home_.context, chance_.one_in(4) ? upto(3s) : milliseconds{1h});
    note(event::asks);
    std::string const value = std::to_string(here(event::asks).owner());
    auto [ec, won] = co_await std::get<election>(lock_).campaign(value, limited.token());
    office_ = std::move(won);
    co_return ec;
}

awaitable<error_code> actor::go_on_with(left_lease const& left)
{
    has_adopted_ = true;
    things_ = things_of_names();
    note(event::adopts, left.owner);
    lease got = adopt(*home_.locks, mine_, left);
    auto const [ec] =
        co_await home_.in_time(here(event::adopts), 2 * mine_.options.ttl + 1s, got.extend(no_throw));
    if (!ec)
        held_ = std::move(got);
    co_return ec;
}

awaitable<actor::grant> actor::get(any_lock& lock)
{
    auto const how = chance_.below(8);
    milliseconds const limit = upto(3s);
    note(event::asks, how);
    if (how == 0)
        co_return co_await home_.in_time(here(event::asks), one_attempt, lock.try_acquire(no_throw));
    if (how == 1)
        co_return co_await home_.in_time(here(event::asks), limit, lock.acquire_for(limit, no_throw));
    if (how == 2) {
        patience_with_operation limited(home_.context, limit);
        co_return co_await home_.in_time(here(event::asks), limit, lock.acquire(limited.token()));
    }
    co_return co_await lock.acquire(no_throw);
}

std::uint32_t actor::things_of_names() const
{
    std::uint32_t things = bit_of(thing_of(mine_.lock));
    for (unsigned const other : mine_.others)
        things |= bit_of(thing_of(other));
    return things;
}

/// \throws std::runtime_error not the wanted number of permits, or one that does not exist
void actor::find_out_what_is_held()
{
    guarded_ = thing_of(mine_.lock);
    things_ = things_of_names();
    auto const slots = held().permits();
    if (slots.size() != (takes_permits(mine_.how) ? mine_.count : 0U))
        throw std::runtime_error("a lease has " + std::to_string(slots.size()) + " permits");
    if (slots.empty())
        return;
    guarded_ = thing_of(mine_.lock, slots.front());
    things_ = 0;
    for (unsigned const slot : slots) {
        if (slot >= home_.all().permits || (things_ >> thing_of(mine_.lock, slot)) % 2 != 0)
            throw std::runtime_error("a lease has permit " + std::to_string(slot));
        things_ |= bit_of(thing_of(mine_.lock, slot));
    }
}

awaitable<void> actor::hold()
{
    find_out_what_is_held();
    std::uint64_t const token = token_ = held().fencing_token();
    note(event::holds, token);
    valid_until_ = {};
    looks_after_the_end_ = 0;
    told_ = false;
    if (mine_.how == manner::leading)
        note(event::announced, version_of(token, 1));
    look();
    held().ended([this, its = operation_](error_code, lease_end) {
        if (!still_holds(its))
            return;
        told_ = true;
        note(event::told, looks_after_the_end_);
    });
    if (may_leave_its_lease())
        write_will(will(), lease_to_leave());
    milliseconds const length = upto(home_.calm() ? 20ms : chance_.one_in(3) ? 2 * mine_.options.ttl : 50ms);
    if (token != 0 && !has_adopted_) { // writes of the first holder may be on their way with the same token
        milliseconds const thinking = upto(chance_.one_in(2) ? 10ms : 2s);
        home_.spawn(use(token, thinking, here(event::reads)));
    }
    if (chance_.one_in(8))
        home_.spawn(extend_after(upto(length), here(event::extended)));
    if (takes_turns(mine_.how) && chance_.one_in(3))
        for (auto times = chance_.between(1, 2); times != 0; --times)
            home_.spawn(downgrade_after(upto(length)));
    if (mine_.how == manner::leading && chance_.one_in(2))
        home_.spawn(proclaim_after(upto(length), here(event::announced)));
    co_await home_.pause(length);
}

/// Looks at its lease. A lease that is valid a moment before the question stays so, however long this program is
/// stopped meanwhile.
void actor::look()
{
    if (held().empty() || home_.leaving())
        return;
    if (std::uint64_t const token = held().fencing_token(); std::exchange(token_, token) != token)
        note(event::renumbered, token);
    nanoseconds const asked = now();
    nanoseconds const until = asked + held().remaining();
    if (until > asked && until > valid_until_ + 1ms) {
        valid_until_ = until;
        entry valid = here(held().shared() ? event::valid_too : event::valid,
                           static_cast<std::uint64_t>(until.count()));
        valid.at = asked;
        home_.note(valid);
    }
    bool const over = mine_.options.tolerate_suspect ? held().state() == lease_state::lost : !held().valid();
    if (over && !told_ && ++looks_after_the_end_ == patience / tick)
        note(event::not_told);
}

awaitable<void> actor::extend_after(milliseconds pause, entry its)
{
    co_await home_.pause(pause);
    if (!still_holds(its.operation))
        co_return;
    auto const [ec] = co_await home_.in_time(its, 2 * mine_.options.ttl + 1s, held().extend(no_throw));
    its.at = now();
    its.value = static_cast<std::uint64_t>(ec.value());
    home_.note(its);
}

/// A second value of the term.
awaitable<void> actor::proclaim_after(milliseconds pause, entry its)
{
    constexpr std::uint64_t second = 2;
    co_await home_.pause(pause);
    if (!still_holds(its.operation))
        co_return;
    its.value = version_of(office_.term(), second);
    auto const [ec] = co_await home_.in_time(
        its, 2 * mine_.options.ttl + 1s, office_.proclaim(std::to_string(its.owner()) + " again", no_throw));
    its.at = now();
    if (!ec)
        home_.note(its);
}

/// The journal has it before.
awaitable<void> actor::downgrade_after(milliseconds pause)
{
    auto const operation = operation_;
    co_await home_.pause(pause);
    if (!still_holds(operation) || !held_.valid() || held_.shared())
        co_return;
    std::filesystem::remove(will()); // a reader's lease cannot be adopted
    note(event::downgrades);
    held_.downgrade();
    valid_until_ = {};
    look();
}

/// The journal has it before the library is told.
awaitable<void> actor::let_go()
{
    std::filesystem::remove(will());
    if (leaves_its_lease_behind())
        co_return;
    note(event::lets_go);
    leadership office = std::move(office_);
    lease going = std::move(held_);
    if (chance_.one_in(3))
        co_return;
    auto release = office.empty() ? going.release(no_throw) : office.resign(no_throw);
    auto const [ec] =
        co_await home_.in_time(here(event::released), *mine_.options.node_timeout, std::move(release));
    note(event::released, static_cast<std::uint64_t>(ec.value()));
}

/// Not at the end, when all keys must go.
bool actor::leaves_its_lease_behind()
{
    if (!may_leave_its_lease() || !chance_.one_in(2))
        return false;
    note(event::leaves_behind);
    left_lease const left = lease_to_leave();
    std::exchange(held_, {}).detach();
    leave_behind(left);
    has_left_ = true;
    return true;
}

bool actor::may_leave_its_lease() const
{
    return home_.all().leases_are_adopted && !home_.calm() && !home_.leaving() && may_be_adopted(mine_.how) &&
           held_.valid() && !held_.shared();
}

left_lease actor::lease_to_leave() const
{
    return {.nonce = std::string(held_.nonce()),
            .token = held_.fencing_token(),
            .owner = here(event::leaves_behind).owner(),
            .ttl = mine_.options.ttl,
            .lock = mine_.lock,
            .things = things_,
            .file = file_of_left_lease()};
}

/// Reads the guarded value and, unless it is a reader, writes one more, however late: its lease may be over when the
/// write comes.
awaitable<void> actor::use(std::uint64_t token, milliseconds thinking, entry its)
{
    unsigned const thing = guarded_;
    its.things = bit_of(thing);
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

} // namespace redlock::chaos
