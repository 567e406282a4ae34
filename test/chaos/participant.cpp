// SPDX-License-Identifier: BSL-1.0
#include "chaos/participant.hpp"

#include "../examples/fenced_register.hpp"
#include "chaos/journal.hpp"
#include "chaos/left_lease.hpp"
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
#include <variant>
#include <vector>

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
    [[nodiscard]] std::uint16_t number() const { return static_cast<std::uint16_t>(where_.program); }
    [[nodiscard]] std::string file(std::string const& name) const { return where_.directory + '/' + name; }
    void note(entry one)
    {
        one.program = number();
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
    [[nodiscard]] cast const& all() const { return all_; }
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
    [[nodiscard]] bool is_said(std::string const& word) const { return std::filesystem::exists(file(word)); }
    awaitable<void> watch_leader();
    awaitable<void> ask_for_leader();
    void note_news(entry its, leader_info const&);
    awaitable<void> change_nodes(std::vector<std::string> all_nodes);

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
    std::optional<election> watched_;
    test::dice chance_{all_.seed << 20U ^ 0x90000U ^ where_.program};
};

using wanted = std::variant<any_lock, election>;

std::vector<std::string> names_of(part const& mine)
{
    std::vector<std::string> names{name_of_thing(thing_of(mine.lock))};
    for (unsigned const other : mine.others)
        names.push_back(name_of_thing(thing_of(other)));
    return names;
}

wanted make_lock(client& locks, unsigned permits, part const& mine)
{
    auto const names = names_of(mine);
    std::string const& name = names.front();
    switch (mine.how) {
    case manner::plainly: break;
    case manner::leading: return election(locks, name, mine.options);
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

/// The lock must not ask for longer than the first holder did (docs/protocol.md, rule H9).
lease adopt(client& locks, part const& mine, left_lease const& left)
{
    auto const names = names_of(mine);
    switch (mine.how) {
    case manner::fenced: return fenced_mutex(locks, names[0], mine.options).adopt(left.nonce, left.token);
    case manner::writing: return shared_mutex(locks, names[0], mine.options).adopt(left.nonce);
    case manner::fenced_writing:
        return fenced_shared_mutex(locks, names[0], mine.options).adopt(left.nonce, left.token);
    case manner::together: return multi_mutex(locks, names, mine.options).adopt(left.nonce);
    case manner::fenced_together:
        return fenced_multi_mutex(locks, names, mine.options).adopt(left.nonce, left.token);
    default: return mutex(locks, names[0], mine.options).adopt(left.nonce);
    }
}

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

/// Runs one operation after the other.
class actor {
public:
    actor(participant& home, unsigned number, part const& mine)
        : home_(home), mine_(mine), chance_(mine.chance), number_(static_cast<std::uint8_t>(number)),
          lock_(make_lock(*home.locks, home.all().permits, mine))
    {}

    awaitable<void> run();
    void look();
    /// Notes a valid lease once more.
    void look_again()
    {
        valid_until_ = {};
        look();
    }
    void is_ended()
    {
        if (!held().empty())
            note(event::lets_go);
    }

private:
    [[nodiscard]] entry here(event what, std::uint64_t value = 0) const
    {
        return {.at = now(),
                .value = value,
                .operation = operation_,
                .program = home_.number(),
                .actor = number_,
                .lock = static_cast<std::uint8_t>(mine_.lock),
                .what = what,
                .things = things_};
    }
    void note(event what, std::uint64_t value = 0) { home_.note(here(what, value)); }
    milliseconds upto(milliseconds longest) { return milliseconds{chance_.between(1, longest.count())}; }

    [[nodiscard]] lease const& held() const { return office_.empty() ? held_ : office_.lease(); }
    /// Does this actor still have the lease of that operation?
    [[nodiscard]] bool still_holds(std::uint32_t operation) const
    {
        return operation == operation_ && !held().empty();
    }
    [[nodiscard]] std::string file_of_left_lease() const
    {
        return home_.file((has_token(mine_.how) ? "left-with-token-" : "left-") +
                          std::to_string(things_of_names()));
    }
    [[nodiscard]] std::uint32_t things_of_names() const;

    awaitable<error_code> obtain();
    awaitable<std::optional<left_lease>> find_left_lease();
    awaitable<error_code> campaign();
    awaitable<error_code> go_on_with(left_lease const&);
    using grant = std::tuple<error_code, lease>;
    awaitable<grant> get(any_lock&);
    void find_out_what_is_held();
    awaitable<void> hold();
    awaitable<void> let_go();
    awaitable<void> resign();
    [[nodiscard]] bool leaves_its_lease_behind();
    [[nodiscard]] bool may_leave_its_lease() const;
    [[nodiscard]] left_lease lease_to_leave() const;
    [[nodiscard]] std::string will() const { return home_.file(name_of_will(here(event::holds).owner())); }
    awaitable<void> proclaim_after(milliseconds, entry its);
    awaitable<void> extend_after(milliseconds, entry its);
    awaitable<void> downgrade_after(milliseconds);
    awaitable<void> use(std::uint64_t token, milliseconds thinking, entry its);

    participant& home_;
    part mine_;
    test::dice chance_;
    std::uint8_t number_;
    wanted lock_;
    lease held_{};
    leadership office_{};      ///< the only lease of an actor of the election
    bool has_left_ = false;    ///< the lease before this operation behind
    bool has_adopted_ = false; ///< the lease that it has, or had last
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
    config const settings = draw_config(all_, where.program, where.nodes);
    locks.emplace(context.get_executor(), settings);
    for (part const& one : draw_parts(all_, where.program))
        actors_.emplace_back(*this, static_cast<unsigned>(actors_.size()), one);
    if (all_.has_election) {
        watched_.emplace(*locks, name_of_thing(thing_of(election_lock)),
                         lock_options{.ttl = all_.longest_ttl, .slack = all_.longest_ttl / 4});
        spawn(watch_leader());
        spawn(ask_for_leader());
    }
    if (all_.spare_node)
        spawn(change_nodes(settings.nodes));
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

awaitable<void> participant::watch_leader()
{
    leader_info seen;
    while (!leaving_) {
        auto [ec, news] = co_await watched_->observe(seen, no_throw);
        if (ec) {
            co_await pause(100ms);
            continue;
        }
        note_news({.actor = leader_watcher}, news);
        seen = std::move(news);
    }
}

awaitable<void> participant::ask_for_leader()
{
    entry its{.actor = leader_asker, .lock = election_lock, .what = event::asks_leader};
    while (!leaving_) {
        ++its.operation;
        its.at = now();
        note(its);
        auto const [ec, news] = co_await in_time(its, one_attempt, watched_->leader(no_throw));
        if (!ec)
            note_news(its, news);
        co_await pause(milliseconds{chance_.between(1, 500)});
    }
}

void participant::note_news(entry its, leader_info const& news)
{
    its.at = now();
    its.lock = election_lock;
    its.value = version_of(news.term, news.revision);
    its.what = news.vacant ? event::hears_vacant : news.confirmed ? event::hears_surely : event::hears;
    note(its);
    if (news.vacant)
        return;
    its.what = event::author;
    its.value = std::stoull(news.value);
    note(its);
}

/// Takes the spare node out of the list and puts it back. In the end every program has all nodes.
awaitable<void> participant::change_nodes(std::vector<std::string> all_nodes)
{
    auto fewer = all_nodes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(*all_.spare_node));
    entry its{.actor = node_changer};
    for (bool complete = true; !leaving_ && !(calm_ && complete);) {
        co_await pause(calm_ ? 10ms : milliseconds{chance_.between(1, 3000)});
        if (leaving_)
            co_return;
        bool const wants_all = calm_ || chance_.one_in(2);
        ++its.operation;
        its.at = now();
        its.what = event::changes;
        its.value = wants_all ? 1 : 0;
        note(its);
        auto const [ec] = co_await locks->change_nodes(wants_all ? all_nodes : fewer, no_throw);
        if (ec == errc::misconfigured)
            throw std::runtime_error("the client refuses other nodes");
        complete = wants_all && !ec;
        its.at = now();
        its.what = event::has_changed;
        its.value = static_cast<std::uint64_t>(ec.value());
        note(its);
        for (actor& one : actors_)
            one.look_again();
    }
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
    if (auto const left = co_await find_left_lease(); left && left->ttl >= mine_.options.ttl)
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
    if (!office_.empty())
        co_return co_await resign();
    lease going = std::move(held_);
    if (chance_.one_in(3))
        co_return;
    auto const [ec] =
        co_await home_.in_time(here(event::released), *mine_.options.node_timeout, going.release(no_throw));
    note(event::released, static_cast<std::uint64_t>(ec.value()));
}

awaitable<void> actor::resign()
{
    leadership going = std::move(office_);
    if (chance_.one_in(3))
        co_return;
    auto const [ec] =
        co_await home_.in_time(here(event::released), *mine_.options.node_timeout, going.resign(no_throw));
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

} // namespace

void participate(stage const& where)
{
    participant(where).run();
}

} // namespace redlock::chaos
