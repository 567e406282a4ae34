#include "simulation/schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace redlock::simulation {

using boost::system::error_code;

namespace {

constexpr duration busy_time = 20s;
constexpr duration quiet_time = 40s;

lock_options draw_options(model::dice& dice)
{
    lock_options drawn;
    drawn.ttl = std::chrono::milliseconds{dice.between(800, 3000)};
    drawn.slack = drawn.ttl / dice.between(5, 20);
    drawn.renew = !dice.one_in(4);
    drawn.node_timeout = std::chrono::milliseconds{dice.between(20, 200)};
    return drawn;
}

} // namespace

struct schedule::actor {
    actor(schedule& s, client& locks, unsigned program, unsigned number)
        : all(s), lock(s.fenced_ ? static_cast<mutex>(fenced_mutex(locks, "lock", s.options_))
                                 : mutex(locks, "lock", s.options_)),
          name(std::string(1, static_cast<char>('A' + program)) + std::to_string(number))
    {}

    void begin()
    {
        if (over)
            return;
        waiting = true;
        lock.acquire([this](error_code ec, lease got) {
            waiting = false;
            if (ec) {
                all.note(name + ": " + ec.message());
                return again(all.dice_.between(1, 300) * 1ms);
            }
            held = std::move(got);
            ++leases;
            all.granted(*this);
            hold();
        });
    }

    void hold()
    {
        held.lost([this](error_code why) { all.note(name + " is told: " + why.message()); });
        auto const most = all.quiet_ ? 20 : 2 * all.options_.ttl.count();
        all.time_.after(all.dice_.between(0, most) * 1ms, [this] { let_go(); });
    }

    void let_go()
    {
        if (over)
            return;
        boost::asio::post(all.programs_[program()].process->context(), [this] {
            if (over)
                return;
            all.note(name + " lets go");
            if (all.dice_.one_in(3))
                held = {};
            else
                held.release([this](error_code ec) { all.note(name + " released: " + ec.message()); });
            again(all.dice_.between(0, 50) * 1ms);
        });
    }

    void again(duration pause)
    {
        all.time_.after(pause, [this] {
            if (!over)
                boost::asio::post(all.programs_[program()].process->context(), [this] { begin(); });
        });
    }

    [[nodiscard]] std::size_t program() const { return static_cast<std::size_t>(name[0] - 'A'); }

    schedule& all;
    mutex lock;
    std::string name;
    lease held{};
    unsigned leases = 0;
    bool waiting = false;
    bool over = false;
};

schedule::schedule(std::uint64_t seed, bool with_story)
    : dice_(seed), with_story_(with_story), fenced_(dice_.one_in(2)), options_(draw_options(dice_))
{
    constexpr std::array<unsigned, 4> sizes{1, 3, 3, 5};
    net_ = std::make_unique<world::network>(time_, sizes.at(dice_.below(sizes.size())), dice_.next());
    net_->pieces = dice_.one_in(2) ? 20 : 0;
    for (std::size_t n = 0; n != net_->size(); ++n) {
        net_->at(n).clock_ahead = dice_.between(-500, 500) * 1ms;
        net_->at(n).clock_rate = 1 + static_cast<double>(dice_.between(-20, 20)) * 1e-4;
    }
    programs_.resize(static_cast<std::size_t>(dice_.between(1, 4)));
    for (unsigned i = 0; i != programs_.size(); ++i) {
        for (std::size_t n = 0; n != net_->size(); ++n)
            net_->between(i, n) = {.latency = dice_.between(30, 3000) * 1us,
                                   .jitter = dice_.between(0, 2000) * 1us};
        start_program(i);
    }
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

void schedule::start_program(unsigned number)
{
    program& p = programs_[number];
    p.process = std::make_unique<world::process>(*net_, number, dice_.next());
    p.process->machine().run_at(1 + static_cast<double>(dice_.between(-20, 20)) * 1e-4,
                                1 + static_cast<double>(dice_.between(-20, 20)) * 1e-4);
    config settings;
    for (std::size_t n = 0; n != net_->size(); ++n)
        settings.nodes.push_back(net_->url(n));
    settings.health.check_interval = 500ms;
    p.locks.emplace(p.process->make_client(settings));
    auto const actors = static_cast<unsigned>(dice_.between(1, 3));
    for (unsigned i = 0; i != actors; ++i) {
        p.actors.push_back(std::make_unique<actor>(*this, *p.locks, number, i));
        p.actors.back()->again(dice_.between(0, 100) * 1ms);
    }
}

void schedule::granted(actor& whose)
{
    ++seen_.leases;
    std::uint64_t const token = whose.held.fencing_token();
    note(whose.name + " holds" + (fenced_ ? ", token " + std::to_string(token) : ""));
    if (fenced_ && token <= highest_token_ && seen_.flaw.empty())
        seen_.flaw = whose.name + "'s token " + std::to_string(token) + " is not above " +
                     std::to_string(highest_token_);
    highest_token_ = std::max(highest_token_, token);
}

/// T1: no two leases are valid at once.
void schedule::check()
{
    actor const* valid = nullptr;
    for (program const& p : programs_)
        for (auto const& a : p.actors) {
            if (!a->held.valid())
                continue;
            if (valid && seen_.flaw.empty()) {
                seen_.flaw = "at " + time() + " both " + valid->name + " and " + a->name + " hold the lock";
                note(seen_.flaw);
            }
            valid = a.get();
        }
}

void schedule::disturb()
{
    if (quiet_)
        return;
    if (dice_.one_in(2))
        disturb_node(static_cast<unsigned>(dice_.below(net_->size())));
    else
        disturb_program(static_cast<unsigned>(dice_.below(programs_.size())));
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

void schedule::disturb_program(unsigned number)
{
    program& p = programs_[number];
    std::string const name = std::string("program ") + static_cast<char>('A' + number);
    auto const node = static_cast<std::size_t>(dice_.below(net_->size()));
    auto const until = time_.now() + dice_.between(1, 4000) * 1ms;
    world::path& way = net_->between(number, node);
    switch (dice_.below(4)) {
    case 0: note(name + " is stopped"); return p.process->pause_until(until);
    case 1:
        note(name + " is not heard by node " + std::to_string(node + 1));
        return void(way.cut_there_until = until);
    case 2:
        note(name + " does not hear node " + std::to_string(node + 1));
        return void(way.cut_back_until = until);
    default:
        note(name + "'s machine sleeps");
        p.process->pause_until(until);
        p.process->machine().sleep_until(until);
        return;
    }
}

bool schedule::step(duration until)
{
    for (bool ran = true; ran;) {
        ran = false;
        for (program& p : programs_)
            ran = p.process->run() || ran;
    }
    check();
    if (!seen_.flaw.empty())
        return false;
    // Who was stopped goes on by himself.
    duration next = until;
    for (program const& p : programs_)
        if (p.process->paused())
            next = std::min(next, p.process->goes_on_at());
    (void)time_.step(next);
    return time_.now() < until;
}

void schedule::run_until(duration when)
{
    while (step(when))
        ;
}

void schedule::end()
{
    for (program& p : programs_)
        for (auto const& a : p.actors)
            if (a->leases == 0 && seen_.flaw.empty()) {
                seen_.flaw = a->name + " has never had the lock in " + std::to_string(quiet_time / 1s) +
                             " quiet seconds";
                note(seen_.flaw);
            }
    for (program& p : programs_)
        for (auto const& a : p.actors)
            a->over = true;
    for (program& p : programs_) {
        for (auto const& a : p.actors)
            a->held = {};
        p.locks.reset();
    }
    run_until(time_.now() + 2s);
    for (std::size_t n = 0; n != net_->size() && seen_.flaw.empty(); ++n) {
        auto& keys = net_->at(n).redis.keys();
        if (keys.find("lock", net_->at(n).wall_us(time_.now()) / 1000))
            seen_.flaw = "a key is left on node " + std::to_string(n + 1);
    }
}

verdict schedule::run()
{
    time_.after(dice_.between(200, 2000) * 1ms, [this] { disturb(); });
    run_until(busy_time);
    quiet_ = true;
    note("from here on nothing bad happens");
    for (program& p : programs_)
        for (auto const& a : p.actors)
            a->leases = 0;
    run_until(busy_time + quiet_time);
    if (seen_.flaw.empty())
        end();
    seen_.events = time_.happened();
    return std::move(seen_);
}

} // namespace redlock::simulation
