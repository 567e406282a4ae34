#include "simulation/schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace redlock::simulation {

using boost::system::error_code;

namespace {

constexpr duration busy_time = 20s;
constexpr duration quiet_time = 40s;

/// Between the end of a lease and its holder's hearing of it: the library's clock ticks in milliseconds.
constexpr duration promptness = 20ms;

} // namespace

struct schedule::actor {
    actor(schedule& s, program& p, std::string its_name, bool fenced)
        : all(s), home(p), options(s.draw_options()),
          lock(fenced ? static_cast<mutex>(fenced_mutex(*p.locks, "lock", options))
                      : mutex(*p.locks, "lock", options)),
          name(std::move(its_name))
    {}

    void begin()
    {
        auto done = [this](error_code ec, lease got) {
            if (ec) {
                all.note(name + ": " + ec.message());
                return later(all.dice_.between(1, 300) * 1ms, [this] { begin(); });
            }
            held = std::move(got);
            ++leases;
            all.granted(*this);
            hold();
        };
        switch (all.dice_.below(8)) {
        case 0: return lock.try_acquire(done);
        case 1: return lock.acquire_for(all.dice_.between(1, 3000) * 1ms, done);
        default: return lock.acquire(done);
        }
    }

    void hold()
    {
        told = false;
        invalid_since.reset();
        held.lost([this](error_code why) {
            told = true;
            all.note(name + " is told: " + why.message());
        });
        auto const most = all.quiet_ ? 20 : 2 * all.longest_ttl_.count();
        if (all.dice_.one_in(8))
            later(all.dice_.between(0, most) * 1ms, [this] {
                if (held)
                    held.extend([this](error_code ec) { all.note(name + " extended: " + ec.message()); });
            });
        later(all.dice_.between(0, most) * 1ms, [this] { let_go(); });
    }

    void let_go()
    {
        all.note(name + " lets go");
        if (all.dice_.one_in(3))
            held = {};
        else
            held.release([this](error_code ec) { all.note(name + " released: " + ec.message()); });
        later(all.dice_.between(0, 50) * 1ms, [this] { begin(); });
    }

    /// On its own thread.
    void later(duration pause, std::function<void()> what)
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

    schedule& all;
    program& home;
    lock_options options;
    mutex lock;
    std::string name;
    lease held{};
    std::optional<duration> invalid_since{};
    unsigned leases = 0;
    bool told = false;
    bool over = false;
};

schedule::schedule(std::uint64_t seed, bool with_story)
    : dice_(seed), with_story_(with_story), kinds_(static_cast<kinds>(dice_.below(3))),
      longest_ttl_(dice_.between(800, 3000))
{
    constexpr std::array<unsigned, 4> sizes{1, 3, 3, 5};
    net_ = std::make_unique<world::network>(time_, sizes.at(dice_.below(sizes.size())), dice_.next());
    net_->pieces = dice_.one_in(2) ? 20 : 0;
    for (std::size_t n = 0; n != net_->size(); ++n) {
        world::node& its = net_->at(n);
        its.clock_ahead = dice_.between(-500, 500) * 1ms;
        its.clock_rate = 1 + static_cast<double>(dice_.between(-20, 20)) * 1e-4;
        its.redis.is.shows_declared_keys = dice_.one_in(2);
    }
    programs_.resize(static_cast<std::size_t>(dice_.between(1, 4)));
    for (auto& p : programs_)
        p = new_program();
}

lock_options schedule::draw_options()
{
    lock_options drawn;
    drawn.ttl = std::chrono::milliseconds{
        dice_.one_in(2) ? longest_ttl_.count()
                        : dice_.between(longest_ttl_.count() / 3, longest_ttl_.count())};
    drawn.slack = drawn.ttl / dice_.between(5, 20);
    drawn.renew = !dice_.one_in(4);
    drawn.node_timeout = std::chrono::milliseconds{dice_.between(20, 200)};
    return drawn;
}

schedule::~schedule() = default;

std::string schedule::time() const
{
    auto const us = time_.now() / 1us;
    std::string rest = std::to_string(us % 1'000'000);
    return std::to_string(us / 1'000'000) + '.' + std::string(6 - rest.size(), '0') + rest;
}

void schedule::note(std::string const& what)
{
    std::string const line = time() + ' ' + what + '\n';
    for (char const c : line)
        seen_.digest = (seen_.digest ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    if (with_story_)
        seen_.story += line;
}

void schedule::flaw(std::string const& what)
{
    if (!seen_.flaw.empty())
        return;
    seen_.flaw = "at " + time() + ": " + what;
    note(what);
}

std::unique_ptr<schedule::program> schedule::new_program()
{
    auto made = std::make_unique<program>();
    made->host = hosts_++;
    for (std::size_t n = 0; n != net_->size(); ++n)
        net_->between(made->host, n) = {.latency = dice_.between(30, 3000) * 1us,
                                        .jitter = dice_.between(0, 2000) * 1us};
    made->process = std::make_unique<world::process>(*net_, made->host, dice_.next());
    made->process->machine().run_at(1 + static_cast<double>(dice_.between(-20, 20)) * 1e-4,
                                    1 + static_cast<double>(dice_.between(-20, 20)) * 1e-4);
    config settings;
    for (std::size_t n = 0; n != net_->size(); ++n)
        settings.nodes.push_back(net_->url(n));
    settings.health.check_interval = 500ms;
    settings.admission.longest_ttl = longest_ttl_ + longest_ttl_ / 5;
    made->locks.emplace(made->process->make_client(settings));
    auto const actors = static_cast<unsigned>(dice_.between(1, 3));
    for (unsigned i = 0; i != actors; ++i) {
        bool const fenced = kinds_ == kinds::fenced || (kinds_ == kinds::mixed && dice_.one_in(2));
        std::string const name = std::to_string(made->host) + static_cast<char>('a' + i);
        made->actors.push_back(std::make_unique<actor>(*this, *made, name, fenced));
        actor& one = *made->actors.back();
        one.later(dice_.between(0, 100) * 1ms, [&one] { one.begin(); });
    }
    return made;
}

/// T2: tokens rise.
void schedule::granted(actor& whose)
{
    ++seen_.leases;
    std::uint64_t const token = whose.held.fencing_token();
    note(whose.name + " holds, token " + std::to_string(token));
    if (token == 0)
        return;
    if (token <= highest_token_)
        flaw(whose.name + "'s token " + std::to_string(token) + " is not above " +
             std::to_string(highest_token_));
    highest_token_ = std::max(highest_token_, token);
}

/// T1: no two leases are valid at once.
void schedule::check()
{
    actor const* valid = nullptr;
    auto const look_at = [&](program const& p) {
        for (auto const& a : p.actors) {
            if (!a->held.valid())
                continue;
            if (valid)
                flaw("both " + valid->name + " and " + a->name + " hold the lock");
            valid = a.get();
        }
    };
    for (auto const& p : programs_)
        look_at(*p);
    for (auto const& p : gone_) // what a killed program did last may still be on its way
        look_at(*p);
    for (auto const& p : programs_)
        for (auto const& a : p->actors)
            check_told(*p, *a);
}

/// Who is not the holder any more hears of it as soon as its thread runs.
void schedule::check_told(program const& p, actor& a)
{
    bool const ended = a.held && !a.told && !a.held.valid();
    if (!ended || p.process->paused()) {
        a.invalid_since.reset();
        return;
    }
    if (!a.invalid_since)
        a.invalid_since = time_.now();
    if (time_.now() - *a.invalid_since > promptness)
        flaw(a.name + " has not been told that its lease is over: it is " +
             std::string(to_string(a.held.state())));
}

void schedule::disturb()
{
    if (quiet_)
        return;
    if (dice_.one_in(2))
        disturb_node(static_cast<unsigned>(dice_.below(net_->size())));
    else
        disturb_program(programs_[dice_.below(programs_.size())]);
    time_.after(dice_.between(10, 2000) * 1ms, [this] { disturb(); });
}

void schedule::disturb_node(unsigned number)
{
    world::node& n = net_->at(number);
    std::string const name = "node " + std::to_string(number + 1);
    auto const length = dice_.between(1, 3000) * 1ms;
    switch (dice_.below(5)) {
    case 0:
        if (!n.up)
            return;
        note(name + " is killed");
        net_->kill(number, !dice_.one_in(3));
        return time_.after(length, [this, number] { restart(number); });
    case 1: note(name + " stalls"); return void(n.stalled_until = time_.now() + length);
    case 2: note(name + " resets its connections"); return net_->reset_connections(number);
    case 3: note(name + " forgets its scripts"); return n.redis.flush_scripts();
    default:
        note(name + " is out of memory");
        n.redis.is.out_of_memory = true;
        return time_.after(length, [&n] { n.redis.is.out_of_memory = false; });
    }
}

/// Without its data.
void schedule::restart(unsigned number)
{
    note("node " + std::to_string(number + 1) + " is back");
    net_->start(number);
}

void schedule::disturb_program(std::unique_ptr<program>& p)
{
    auto const node = static_cast<std::size_t>(dice_.below(net_->size()));
    auto const until = time_.now() + dice_.between(1, 4000) * 1ms;
    world::path& way = net_->between(p->host, node);
    switch (dice_.below(5)) {
    case 0: note(p->name() + " is stopped"); return p->process->pause_until(until);
    case 1:
        note(p->name() + " is not heard by node " + std::to_string(node + 1));
        way.cut_there_until = until;
        return;
    case 2:
        note(p->name() + " does not hear node " + std::to_string(node + 1));
        way.cut_back_until = until;
        return;
    case 3:
        note(p->name() + "'s machine sleeps");
        p->process->pause_until(until);
        return p->process->machine().sleep_until(until);
    default:
        note(p->name() + " is killed");
        net_->bury(p->host);
        for (auto const& a : p->actors)
            a->over = true;
        gone_.push_back(std::move(p));
        p = new_program();
    }
}

bool schedule::step(duration until)
{
    for (bool ran = true; ran;) {
        ran = false;
        for (auto const& p : programs_)
            ran = p->process->run() || ran;
    }
    check();
    if (!seen_.flaw.empty())
        return false;
    // Who was stopped goes on by himself.
    duration next = until;
    for (auto const& p : programs_)
        if (p->process->paused())
            next = std::min(next, p->process->goes_on_at());
    (void)time_.step(next);
    return time_.now() < until;
}

void schedule::run_until(duration when)
{
    while (step(when))
        ;
}

void schedule::check_progress()
{
    for (auto const& p : programs_)
        for (auto const& a : p->actors)
            if (a->leases == 0)
                flaw(a->name + " has not had the lock in " + std::to_string(quiet_time / 1s) +
                     " quiet seconds");
}

void schedule::end()
{
    for (auto const& p : programs_) {
        for (auto const& a : p->actors) {
            a->over = true;
            a->held = {};
        }
        p->locks.reset();
    }
    run_until(time_.now() + 2s);
    for (std::size_t n = 0; n != net_->size(); ++n)
        if (net_->at(n).redis.keys().find("lock", net_->at(n).wall_us(time_.now()) / 1000))
            flaw("a key is left on node " + std::to_string(n + 1));
}

verdict schedule::run()
{
    time_.after(dice_.between(200, 2000) * 1ms, [this] { disturb(); });
    run_until(busy_time);
    quiet_ = true;
    note("from here on nothing bad happens");
    for (auto const& p : programs_)
        for (auto const& a : p->actors)
            a->leases = 0;
    run_until(busy_time + quiet_time);
    check_progress();
    if (seen_.flaw.empty())
        end();
    seen_.events = time_.happened();
    return std::move(seen_);
}

} // namespace redlock::simulation
