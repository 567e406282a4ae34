// SPDX-License-Identifier: BSL-1.0
#include "simulation/actor.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::simulation {

namespace {

/// Connecting, the marker, the votes and a raise.
constexpr duration one_attempt = 3s;

/// The time on a clock that is as slow as C2 allows.
duration on_its_clock(duration time)
{
    return time + time / 50;
}

} // namespace

schedule::actor::actor(schedule& s, program& p, subject& what, std::string its_name, manner its_manner,
                       test::dice chance)
    : all(s), home(p), about(what), all_about{&what}, dice(chance), options(s.draw_options(dice)),
      fence(s.draw_fence(dice, options)), how(its_manner), name(std::move(its_name))
{
    if (takes_several(how))
        want_others_too();
    else if (!takes_permits(how))
        about.shared = about.shared || (how != manner::plainly && how != manner::fenced);
    auto const use = [this](auto const& one) {
        lock = one;
        if constexpr (std::derived_from<std::decay_t<decltype(one)>, inspectable_lock>)
            asked = one;
    };
    switch (how) {
    case manner::plainly: use(mutex(*p.locks, what.name, options)); break;
    case manner::fenced: use(fenced_mutex(*p.locks, what.name, options, fence)); break;
    case manner::reading:
        use(shared_mutex(*p.locks, what.name, options));
        lock = shared_mutex(*p.locks, what.name, options).shared();
        break;
    case manner::writing: use(shared_mutex(*p.locks, what.name, options)); break;
    case manner::fenced_reading:
        use(fenced_shared_mutex(*p.locks, what.name, options, fence));
        lock = fenced_shared_mutex(*p.locks, what.name, options, fence).shared();
        break;
    case manner::fenced_writing: use(fenced_shared_mutex(*p.locks, what.name, options, fence)); break;
    case manner::with_others: use(multi_mutex(*p.locks, names(), options)); break;
    case manner::fenced_with_others: use(fenced_multi_mutex(*p.locks, names(), options, fence)); break;
    case manner::with_permits:
        use(semaphore(*p.locks, what.name, what.permits, options).taking(draw_count()));
        break;
    case manner::fenced_with_permits:
        use(fenced_semaphore(*p.locks, what.name, what.permits, options, fence).taking(draw_count()));
        break;
    }
}

unsigned schedule::actor::draw_count()
{
    return static_cast<unsigned>(dice.between(1, about.permits));
}

void schedule::actor::want_others_too()
{
    for (subject& other : all.subjects_)
        if (&other != &about && dice.one_in(2))
            all_about.push_back(&other);
    for (subject* const each : all_about)
        each->several = true;
}

std::vector<std::string> schedule::actor::names() const
{
    std::vector<std::string> found;
    for (subject const* const each : all_about)
        found.push_back(each->name);
    return found;
}

unsigned schedule::actor::started(std::string what, duration longest, duration after_pause)
{
    under_way.emplace(++operations_, operation{std::move(what), all.time_.now() + longest, after_pause});
    return operations_;
}

void schedule::actor::ended(unsigned number, error_code ec)
{
    auto const at = under_way.find(number);
    if (all.copied_ && ec != errc::forked && !had_ended(number))
        all.flaw(name + "'s " + at->second.what + " ended with: " + ec.message());
    under_way.erase(at);
    if (home.forks)
        all.fork(home);
}

void schedule::actor::begin()
{
    if (dice.one_in(16) && asked)
        asked->inspect(noted("inspect", one_attempt));
    auto& left = about.left_behind;
    if (!left.empty() && may_adopt(left.back())) {
        auto const one = std::move(left.back());
        left.pop_back();
        return adopt(one);
    }
    ticket = ++all.tickets_;
    overtaken = 0;
    came = all.time_.now();
    rivals = all.rivals_of(*this);
    auto const done = [this](unsigned number) {
        return [this, number](error_code ec, lease got) { acquired(number, ec, std::move(got)); };
    };
    auto const what = all.stage_ == stage::expiring && dice.one_in(2) ? 0 : dice.below(8);
    switch (what) {
    case 0: return lock->try_acquire(done(started("try_acquire", one_attempt, one_attempt)));
    case 1: {
        auto const limit = dice.between(1, 3000) * 1ms;
        all.note(name + " waits for " + std::to_string(limit / 1ms) + " ms");
        return lock->acquire_for(limit, done(started("acquire_for", on_its_clock(limit), {})));
    }
    case 2: {
        auto const number = started("acquire", for_ever, for_ever);
        lock->acquire(boost::asio::bind_cancellation_slot(cancelled_.slot(), done(number)));
        return acquire_and_leave(number);
    }
    default: return lock->acquire(done(started("acquire", for_ever, for_ever)));
    }
}

void schedule::actor::acquire_and_leave(unsigned number)
{
    auto const patience = dice.one_in(2) ? dice.between(0, 20'000) * 1us : dice.between(0, 3000) * 1ms;
    later(patience, [this, number] {
        auto const waiting = under_way.find(number);
        if (waiting == under_way.end())
            return;
        waiting->second = {"acquire, cancelled,", all.time_.now(), {}};
        cancelled_.emit(boost::asio::cancellation_type::terminal);
    });
}

void schedule::actor::acquired(unsigned number, error_code ec, lease got)
{
    ended(number, ec);
    auto const place = std::exchange(ticket, {});
    if (over)
        return;
    if (ec) {
        all.note(name + ": " + ec.message());
        return come_again(dice.between(1, 300) * 1ms);
    }
    held = std::move(got);
    served = true;
    all.granted(*this, *place);
    hold();
    use();
}

void schedule::actor::hold()
{
    told = false;
    invalid_since.reset();
    held_since = all.time_.now();
    auto const number = started("ended", for_ever, for_ever);
    current_ = number;
    held.ended([this, number](error_code ec, lease_end end) {
        ended(number, ec);
        told = told || number == current_; // the end of an earlier lease may be reported late
        all.note(name + " is told: " + (ec ? ec.message() : std::string(to_string(end))));
    });
    auto const most = all.quiet() || !dice.one_in(4) ? 20 : 2 * all.longest_ttl_.count();
    if (dice.one_in(8))
        later(dice.between(0, most) * 1ms, [this] { extend(); });
    if (about.shared && how != manner::plainly && how != manner::fenced && !takes_several(how) &&
        !takes_permits(how))
        for (auto times = dice.below(4); times > 1; --times)
            later(dice.between(0, most) * 1ms, [this] { downgrade(); });
    later(dice.between(0, most) * 1ms, [this] { let_go(); });
}

void schedule::actor::use()
{
    if (takes_permits(how)) // each slot would guard something of its own
        return;
    for (subject* const each : all_about)
        use(*each);
}

/// Reads the guarded value and, as a writer, writes one more, however late: its lease may be over when the write comes.
void schedule::actor::use(subject& what)
{
    std::uint64_t const token = held.fencing_token();
    if (token == 0)
        return;
    bool const writes = !held.shared();
    auto const thinking = dice.one_in(2) ? dice.between(0, 10) : dice.between(0, 1500);
    auto const on_the_way = dice.between(100, dice.one_in(2) ? 5'000 : 500'000) * 1us;
    all.time_.after(dice.between(100, 20'000) * 1us, [this, &what, token, writes, thinking, on_the_way] {
        auto const seen = what.counter.read(token);
        if (!seen)
            return all.came_late(*this, token);
        if (!writes)
            return;
        later(thinking * 1ms, [this, &what, token, on_the_way, next = *seen + 1] {
            all.time_.after(on_the_way,
                            [this, &what, token, next] { all.written(*this, what, token, next); });
        });
    });
}

void schedule::actor::extend()
{
    if (held.empty())
        return;
    held.extend(noted("extend", 2 * duration{options.ttl} + 1s));
}

void schedule::actor::downgrade()
{
    if (!held.valid() || held.shared())
        return;
    all.note(name + " becomes a reader");
    held.downgrade();
}

void schedule::actor::let_go()
{
    all.note(name + " lets go");
    for (subject* const each : all_about) {
        each->changes(all.time_.now());
        if (held.valid())
            each->leases.ended(all.time_.now());
    }
    if (all.stage_ == stage::expiring && dice.one_in(2)) {
        abandon();
    } else if (!all.quiet() && dice.one_in(8) && !reads(how) && !takes_several(how) && !takes_permits(how) &&
               !held.shared()) {
        bequeath();
    } else if (dice.one_in(3)) {
        held = {};
    } else {
        held.release(noted("release", on_its_clock(*options.node_timeout)));
    }
    come_again(dice.between(0, all.quiet() && !all.crowded_ ? 5000 : 50) * 1ms);
}

/// Leaves the keys to expire, as if the holder had died. Waiters know when the keys will have expired.
void schedule::actor::abandon()
{
    all.note(name + " leaves its keys to expire");
    for (subject* const each : all_about)
        each->abandoned.emplace(held.nonce());
    held.detach();
}

/// Leaves the lease to another actor, of this program or of another one.
void schedule::actor::bequeath()
{
    all.note(name + " leaves its lease behind");
    about.left_behind.push_back({std::string(held.nonce()), held.fencing_token()});
    held.detach();
}

/// A writer's key is that of a lock without readers.
bool schedule::actor::may_adopt(subject::bequest const& left) const
{
    bool const counts = how == manner::fenced || how == manner::fenced_writing;
    return !reads(how) && !takes_several(how) && !takes_permits(how) && (left.token != 0) == counts;
}

lease schedule::actor::adopted(subject::bequest const& left) const
{
    if (how == manner::fenced)
        return fenced_mutex(*home.locks, about.name, options, fence).adopt(left.nonce, left.token);
    if (how == manner::fenced_writing)
        return fenced_shared_mutex(*home.locks, about.name, options, fence).adopt(left.nonce, left.token);
    if (how == manner::writing)
        return shared_mutex(*home.locks, about.name, options).adopt(left.nonce);
    return mutex(*home.locks, about.name, options).adopt(left.nonce);
}

/// The counter is not changed: the first holder's last write, with the same token, may still be on its way.
void schedule::actor::adopt(subject::bequest const& left)
{
    auto const longest = 2 * duration{options.ttl} + 1s;
    auto const number = started("adoption", longest, longest);
    adopted_ = adopted(left);
    adopted_.extend([this, number](error_code ec) {
        ended(number, ec);
        all.note(name + " adopts: " + ec.message());
        lease left_to_us = std::move(adopted_);
        if (over)
            return;
        if (ec)
            return later(dice.between(1, 300) * 1ms, [this] { begin(); });
        held = std::move(left_to_us);
        about.leases = {}; // it does not count in the row of those that come after it
        served = true;
        hold();
    });
}

/// Towards the end many actors come at one moment.
void schedule::actor::come_again(duration pause)
{
    if (all.stage_ == stage::for_slow && served)
        pause = time_of_the_slow;
    if (all.stage_ == stage::expiring)
        pause = all.until_next_crowd();
    later(pause, [this] { begin(); });
}

void schedule::actor::later(duration pause, std::function<void()> what)
{
    all.time_.after(pause, [this, what = std::move(what)] {
        if (over)
            return;
        boost::asio::post(home.process->context(), [this, what] {
            if (!over)
                what();
        });
    });
}

void schedule::actor::stop()
{
    over = true;
    held = {};
    lock.reset();
    asked.reset();
}

} // namespace redlock::simulation
