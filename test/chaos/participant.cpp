#include "chaos/participant.hpp"

#include "chaos/journal.hpp"
#include "chaos/plan.hpp"
#include "support/probe.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace redlock::chaos {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using model::dice;
using namespace std::chrono_literals;

/// A program counts its own time in these: neither its being stopped nor the machine's load make anything late.
constexpr milliseconds tick = 10ms;
/// Beyond what the library promises.
constexpr milliseconds patience = 2s;
constexpr milliseconds one_attempt = 3s; ///< connecting, the marker, the votes and a raise

auto const no_throw = asio::as_tuple(asio::use_awaitable);

/// The registers, one for each lock, on a server that nothing befalls.
class guarded_registers {
public:
    explicit guarded_registers(std::uint16_t port) : server_(port, 60s) {}

    /// Nothing: a larger token has been there.
    std::optional<std::uint64_t> read(unsigned lock, std::uint64_t token)
    {
        std::string const said = call(fenced_scripts::read, lock, token, {});
        if (said == "[0]")
            return std::nullopt;
        return said == "[1, (nil)]" ? 0 : std::stoull(said.substr(4));
    }
    bool write(unsigned lock, std::uint64_t token, std::uint64_t value)
    {
        std::string const said = call(fenced_scripts::write, lock, token, {std::to_string(value)});
        if (said != "0" && said != "1")
            throw std::runtime_error("the register says " + said);
        return said == "1";
    }

private:
    std::string call(std::string_view script, unsigned lock, std::uint64_t token,
                     std::vector<std::string> more)
    {
        std::string const key = "register-" + std::to_string(lock);
        std::vector<std::string> words{"EVAL", std::string(script), "2",
                                       key,    key + ":fence",      std::to_string(token)};
        words.insert(words.end(), more.begin(), more.end());
        return server_.command(words);
    }

    test::probe server_;
};

class actor;

class participant {
public:
    participant(std::uint64_t seed, unsigned client, stage const&);

    void run();

    [[nodiscard]] bool leaving() const { return leaving_; }
    void note(entry);
    /// It must have ended after so much of this program's own time.
    std::uint64_t begun(entry const& what, milliseconds longest);
    void ended(std::uint64_t operation) { under_way_.erase(operation); }
    [[nodiscard]] std::uint64_t fresh_value(std::uint64_t read);
    asio::awaitable<void> pause(milliseconds);
    template <class Coroutine>
    void spawn(Coroutine work);

    asio::io_context context;
    cast const all;
    guarded_registers guarded;
    std::optional<client> locks;
    chaos::journal journal;

private:
    void on_tick();
    void leave();
    asio::awaitable<void> meet_all_servers();

    unsigned number_;
    bool leaving_ = false;
    std::uint64_t ticks_ = 0;
    std::uint64_t operations_ = 0;
    std::uint64_t writes_ = 0;
    std::map<std::uint64_t, std::pair<entry, std::uint64_t>>
        under_way_; ///< with the tick at which it is overdue
    std::vector<std::unique_ptr<actor>> actors_;
};

class actor {
public:
    actor(participant& home, unsigned number, part const& mine)
        : home_(home), mine_(mine), chance_(mine.seed), number_(static_cast<std::uint8_t>(number)),
          lock_(mine.fenced ? static_cast<mutex>(fenced_mutex(*home.locks, name(), mine.options))
                            : mutex(*home.locks, name(), mine.options))
    {}

    asio::awaitable<void> run();
    /// Looks at its lease, as often as it can.
    void look();
    void let_go_of_it() { note(event::lets_go, 0); }
    [[nodiscard]] bool holds() const { return static_cast<bool>(held_); }

private:
    std::string name() const { return home_.all.name_of_lock(mine_.lock); }
    entry here(event what, std::uint64_t value) const
    {
        return {.at = now(),
                .value = value,
                .lease = operation_,
                .actor = number_,
                .lock = static_cast<std::uint8_t>(mine_.lock),
                .what = what};
    }
    void note(event what, std::uint64_t value) { home_.note(here(what, value)); }
    milliseconds upto(milliseconds longest) { return milliseconds{chance_.between(1, longest.count())}; }

    asio::awaitable<std::tuple<error_code, lease>> get();
    asio::awaitable<std::tuple<error_code, lease>> wait_and_leave();
    asio::awaitable<void> hold();
    asio::awaitable<void> let_go();
    asio::awaitable<void> extend_after(milliseconds, std::uint32_t its);
    asio::awaitable<void> use(std::uint64_t token, milliseconds thinking, entry its);
    void hear_of_the_end();

    participant& home_;
    part mine_;
    dice chance_;
    std::uint8_t number_;
    mutex lock_;
    lease held_{};
    std::uint32_t operation_ = 0;
    nanoseconds valid_until_{};
    unsigned looks_after_the_end_ = 0;
    bool told_ = false;
};

participant::participant(std::uint64_t seed, unsigned client, stage const& where)
    : all(seed), guarded(where.guarded), journal(where.journal), number_(client)
{
    locks.emplace(context.get_executor(), draw_config(all, client, where.nodes));
    unsigned count = 0;
    for (part const& one : draw_parts(all, client))
        actors_.push_back(std::make_unique<actor>(*this, count++, one));
}

void participant::note(entry one)
{
    one.client = static_cast<std::uint16_t>(number_);
    journal.append(one);
}

std::uint64_t participant::begun(entry const& what, milliseconds longest)
{
    auto const ticks = static_cast<std::uint64_t>((longest + patience) / tick);
    under_way_.emplace(++operations_, std::pair{what, ticks_ + ticks});
    return operations_;
}

/// One more than what was read; and nobody else writes the same.
std::uint64_t participant::fresh_value(std::uint64_t read)
{
    constexpr unsigned counted_from = 32;
    constexpr unsigned writers_from = 20;
    return ((read >> counted_from) + 1) << counted_from | std::uint64_t{number_} << writers_from | ++writes_;
}

asio::awaitable<void> participant::pause(milliseconds length)
{
    asio::steady_timer timer(context, length);
    co_await timer.async_wait(no_throw);
}

template <class Coroutine>
void participant::spawn(Coroutine work)
{
    asio::co_spawn(context, std::move(work), [](std::exception_ptr e) {
        if (e)
            std::rethrow_exception(e);
    });
}

/// Who answers for what was lost before its first meeting must have met them before anything is lost.
asio::awaitable<void> participant::meet_all_servers()
{
    std::string const name = "meeting-" + std::to_string(number_);
    lock_options const options{.ttl = all.longest_ttl};
    mutex lock = all.locks_are == kinds::plain ? mutex(*locks, name, options)
                                               : static_cast<mutex>(fenced_mutex(*locks, name, options));
    lease held;
    while (held.votes() != all.servers()) {
        if (held.valid()) {
            (void)co_await held.extend(no_throw);
        } else {
            held = std::get<lease>(co_await lock.acquire(no_throw));
        }
    }
    (void)co_await held.release(no_throw);
    note({.at = now(), .what = event::ready});
}

void participant::run()
{
    spawn([this]() -> asio::awaitable<void> {
        if (all.may_assume_fresh(number_))
            co_await meet_all_servers();
        for (auto const& one : actors_)
            spawn(one->run());
    });
    while (!context.stopped()) {
        context.run_for(tick);
        on_tick();
    }
    note({.at = now(), .what = event::leaves});
}

void participant::on_tick()
{
    ++ticks_;
    for (auto const& one : actors_)
        one->look();
    std::erase_if(under_way_, [this](auto const& one) {
        auto [what, until] = one.second;
        if (ticks_ <= until)
            return false;
        what.at = now();
        what.value = static_cast<std::uint64_t>(std::exchange(what.what, event::overdue));
        note(what);
        return true;
    });
    if (!leaving_ && (journal.now_is() == phase::over || journal.leaves(number_)))
        leave();
}

/// One way or the other.
void participant::leave()
{
    leaving_ = true;
    for (auto const& one : actors_)
        if (one->holds())
            one->let_go_of_it();
    auto const all_of_it = begun({.what = event::leaves}, one_attempt + 2 * all.longest_ttl);
    if (number_ % 2 == 0)
        return locks.reset();
    locks->shutdown([this, all_of_it](error_code) {
        ended(all_of_it);
        locks.reset();
    });
}

asio::awaitable<void> actor::run()
{
    co_await home_.pause(upto(100ms));
    while (!home_.leaving()) {
        ++operation_;
        auto [ec, got] = co_await get();
        if (ec) {
            note(event::refused, static_cast<std::uint64_t>(ec.value()));
            co_await home_.pause(upto(300ms));
            continue;
        }
        held_ = std::move(got);
        co_await hold();
        co_await home_.pause(upto(50ms));
    }
}

asio::awaitable<std::tuple<error_code, lease>> actor::get()
{
    auto const how = chance_.below(8);
    note(event::asks, how);
    if (how == 0) {
        auto const under_way = home_.begun(here(event::asks, how), one_attempt);
        auto result = co_await lock_.try_acquire(no_throw);
        home_.ended(under_way);
        co_return result;
    }
    if (how == 1) {
        milliseconds const limit = upto(3s);
        auto const under_way = home_.begun(here(event::asks, how), limit);
        auto result = co_await lock_.acquire_for(limit, no_throw);
        home_.ended(under_way);
        co_return result;
    }
    if (how == 2)
        co_return co_await wait_and_leave();
    co_return co_await lock_.acquire(no_throw);
}

asio::awaitable<std::tuple<error_code, lease>> actor::wait_and_leave()
{
    auto const cancelled = std::make_shared<asio::cancellation_signal>();
    milliseconds const limit = upto(3s);
    asio::steady_timer timer(home_.context, limit);
    timer.async_wait([cancelled](error_code ec) {
        if (!ec)
            cancelled->emit(asio::cancellation_type::terminal);
    });
    auto const under_way = home_.begun(here(event::asks, 2), limit);
    auto result = co_await lock_.acquire(asio::bind_cancellation_slot(cancelled->slot(), no_throw));
    home_.ended(under_way);
    timer.cancel();
    co_return result;
}

asio::awaitable<void> actor::hold()
{
    std::uint64_t const token = held_.fencing_token();
    note(event::holds, token);
    valid_until_ = {};
    looks_after_the_end_ = 0;
    told_ = false;
    look();
    hear_of_the_end();
    bool const calm = home_.journal.now_is() == phase::calm;
    milliseconds const length = upto(calm ? 20ms : chance_.one_in(3) ? 2 * home_.all.longest_ttl : 50ms);
    if (token != 0) {
        milliseconds const thinking =
            upto(chance_.one_in(2) ? 10ms : 1500ms) + upto(chance_.one_in(2) ? 5ms : 500ms);
        home_.spawn(use(token, thinking, here(event::reads, 0)));
    }
    if (chance_.one_in(8))
        home_.spawn(extend_after(upto(length), operation_));
    for (nanoseconds const end = now() + length; now() < end && !home_.leaving();)
        co_await home_.pause(tick);
    co_await let_go();
}

/// What the library says of a lease is written down before anything else is done with it. A moment that is taken before
/// the question makes the answer shorter, however long this program is stopped between the two.
void actor::look()
{
    if (!held_ || home_.leaving())
        return;
    nanoseconds const asked = now();
    nanoseconds const until = asked + held_.remaining();
    if (until > asked && until > valid_until_ + 1ms) {
        valid_until_ = until;
        entry valid = here(event::valid, static_cast<std::uint64_t>(until.count()));
        valid.at = asked;
        home_.note(valid);
    }
    bool const over = mine_.options.tolerate_suspect ? held_.state() == lease_state::lost : !held_.valid();
    if (!over || told_)
        return;
    if (++looks_after_the_end_ == patience / tick)
        note(event::not_told, 0);
}

void actor::hear_of_the_end()
{
    held_.lost([this, its = operation_](error_code) {
        if (its != operation_ || !held_)
            return;
        told_ = true;
        note(event::told, looks_after_the_end_);
    });
}

asio::awaitable<void> actor::extend_after(milliseconds length, std::uint32_t its)
{
    co_await home_.pause(length);
    if (!held_ || its != operation_)
        co_return;
    auto const under_way = home_.begun(here(event::extended, 0), 2 * mine_.options.ttl + 1s);
    auto const [ec] = co_await held_.extend(no_throw);
    home_.ended(under_way);
    entry end = here(event::extended, static_cast<std::uint64_t>(ec.value()));
    end.lease = its;
    home_.note(end);
}

asio::awaitable<void> actor::let_go()
{
    note(event::lets_go, 0);
    lease going = std::move(held_);
    if (chance_.one_in(3))
        co_return;
    auto const under_way = home_.begun(here(event::released, 0), *mine_.options.node_timeout);
    auto const [ec] = co_await going.release(no_throw);
    home_.ended(under_way);
    note(event::released, static_cast<std::uint64_t>(ec.value()));
}

/// Reads what the lock guards and writes one more, however late: its lease may be over when the write comes.
asio::awaitable<void> actor::use(std::uint64_t token, milliseconds thinking, entry its)
{
    auto const note_use = [this, &its](event what, std::uint64_t value) {
        its.what = what;
        its.value = value;
        its.at = now();
        home_.note(its);
    };
    note_use(event::reads, 0);
    auto const seen = home_.guarded.read(mine_.lock, token);
    note_use(seen ? event::has_read : event::reads_late, seen.value_or(0));
    if (!seen)
        co_return;
    co_await home_.pause(thinking);
    std::uint64_t const next = home_.fresh_value(*seen);
    note_use(event::writes, next);
    bool const written = home_.guarded.write(mine_.lock, token, next);
    note_use(written ? event::has_written : event::writes_late, next);
}

} // namespace

void participate(std::uint64_t seed, unsigned client, stage const& where)
{
    participant(seed, client, where).run();
}

} // namespace redlock::chaos
