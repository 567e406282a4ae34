// SPDX-License-Identifier: BSL-1.0
#include "simulation/schedule.hpp"

#include "kit/text.hpp"
#include "simulation/actor.hpp"
#include "simulation/politician.hpp"
#include <redlock/log.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace redlock::simulation {

namespace {

constexpr duration busy_time = 20s;
/// The shortest time, which ends only when every actor has been served; the longest.
constexpr duration quiet_time = 15s;
constexpr duration longest_quiet_time = 40s;
/// Within the quiet time, when all killed nodes run again.
constexpr duration back_by_then = 5s;
/// The time in which some actors leave their keys to expire.
constexpr duration expiring_time = 10s;
/// Mutants are identified by what these seeds draw: later additions are drawn by other seeds only.
constexpr std::uint64_t known_seeds = 1000;
/// And these draw no semaphores.
constexpr std::uint64_t seeds_of_locks = 2000;
/// And in these all have the same nodes.
constexpr std::uint64_t seeds_of_one_list = 3000;
/// And in these a semaphore has few permits, and few want them.
constexpr std::uint64_t seeds_of_few_permits = 10'000;
/// And in these no more than two lists of nodes follow each other.
constexpr std::uint64_t seeds_of_two_lists = 20'000;
/// And in these a name is locked by one kind of lock, or two, and by few programs.
constexpr std::uint64_t seeds_of_few_kinds = 30'000;

} // namespace

schedule::schedule(std::uint64_t seed, bool with_story, selection chosen)
    : seed_(seed), dice_(seed), with_story_(with_story), chosen_(std::move(chosen)),
      kinds_(static_cast<kinds>(dice_.below(3))), longest_ttl_(dice_.between(800, 3000)),
      variety_(dice_.one_in(3) ? 1 : 3), slack_divisor_(dice_.between(4, 20)), enciphered_(dice_.one_in(3)),
      crowded_(dice_.one_in(8))
{
    if (kinds_ == kinds::plain && seed_ % 2 == 0)
        kinds_ = seed_ % 4 == 0 ? kinds::fenced_shared : kinds::shared;
    if (kinds_ == kinds::mixed && seed_ > known_seeds)
        kinds_ = seed_ % 2 == 0 ? kinds::several : kinds::fenced_several;
    if (seed_ > seeds_of_locks && seed_ % 3 != 0)
        kinds_ = seed_ % 2 == 0 ? kinds::permits : kinds::fenced_permits;
    if (seed_ > seeds_of_few_kinds)
        kinds_ = seed_ % 2 == 0 ? kinds::all : kinds::all_fenced;
    bounded_ = all_kinds_meet() && !several_meet();
    elects_ = seed_ > known_seeds && seed_ % 3 != 0 && !all_are_fenced() && !all_kinds_meet();
    note("the longest ttl is " + std::to_string(longest_ttl_.count()) + " ms");
    constexpr std::array<unsigned, 4> sizes{1, 3, 3, 5};
    replaces_nodes_ = seed_ > seeds_of_two_lists;
    unsigned const spares =
        replaces_nodes_ ? 1 : 0; // besides an odd number, of which two that differ may miss each other
    auto const size = sizes.at(dice_.below(sizes.size())) + spares;
    net_ = std::make_unique<world::network>(time_, size, dice_.next());
    net_->pieces = dice_.one_in(2) ? 20 : 0;
    changes_nodes_ = seed_ > seeds_of_one_list && net_->size() > 1;
    spare_ = seed_ % net_->size();
    set_up_nodes();
    auto const names = dice_.between(1, 3);
    for (std::int64_t i = 0; i != names; ++i)
        subjects_.emplace_back("lock-" + std::to_string(i + 1),
                               1 + static_cast<unsigned>(seed_ + static_cast<std::uint64_t>(i)) %
                                       (has_many_permits() ? 40 : 4));
    if (all_kinds_meet())
        most_programs_ = static_cast<std::size_t>(dice_.between(4, dice_.one_in(8) ? 40 : 12));
    programs_.resize(all_kinds_meet() ? most_programs_ : static_cast<std::size_t>(dice_.between(1, 4)));
    for (auto& p : programs_)
        p = new_program(true);
}

schedule::~schedule() = default;

/// T2 asks that clocks agree within half a quarantine, 0.6 of the longest ttl: two that are a sixth of it wrong, and run
/// apart for a minute, do.
void schedule::set_up_nodes()
{
    auto const most = longest_ttl_.count() / 6;
    servers_.resize(net_->size());
    for (std::size_t n = 0; n != net_->size(); ++n) {
        world::node& its = net_->at(n);
        its.clock_ahead = dice_.between(-most, most) * 1ms;
        its.run_clock_at(1 + static_cast<double>(dice_.between(-10, 10)) * 1e-4, time_.now());
        its.redis.is.shows_declared_keys = dice_.one_in(2);
        its.redis.is.resp3 = !dice_.one_in(8) || bounded_;
        its.redis.is.version = draw_version(dice_);
        polls_ = polls_ || !its.redis.is.resp3;
        servers_[n].durable = dice_.one_in(4);
        servers_[n].moves = dice_.one_in(3) && !bounded_;
        its.tls.two_round_trips = dice_.one_in(2);
        its.redis.is.append_only = servers_[n].durable || dice_.one_in(3); // settings alone prove nothing
        if (its.redis.is.append_only)
            its.redis.is.append_fsync = "always";
        note(name_of(n) + (servers_[n].durable ? " never forgets" : "") +
             (its.redis.is.version == world::server::release::redis_7_0 ? "" : " compares by itself") +
             (servers_[n].moves ? " is known by name" : "") + (its.redis.is.resp3 ? "" : " speaks RESP2"));
    }
}

world::server::release schedule::draw_version(test::dice& dice)
{
    using release = world::server::release;
    static constexpr std::array all{release::redis_7_0, release::redis_8_6, release::valkey_9_1};
    return all.at(dice.below(all.size()));
}

/// Returns one of the URLs that lead to the server.
std::string schedule::draw_url(std::size_t n, test::dice& dice) const
{
    std::string const durable = servers_[n].durable && !dice.one_in(3) ? "durable=true" : "durable=false";
    if (bounded_)
        return "redis://" + net_->at(n).address.to_string() + '?' + durable;
    bool const named = servers_[n].moves || dice.one_in(4);
    std::string const host = named ? world::network::name(n) : net_->at(n).address.to_string();
    switch (dice.below(enciphered_ ? 6 : 4)) {
    case 0: return "unix://" + world::network::path_of(n) + '?' + durable;
    case 4:
    case 5:
        return "rediss://" + host + ':' + std::to_string(world::network::tls_port) + '?' + durable +
               (dice.one_in(4) ? "&tls_verify=false" : "");
    default: return "redis://" + host + '?' + durable;
    }
}

/// A later client may not assume that nothing was lost before. A server is declared durable only if it is.
config schedule::draw_config(test::dice& dice, bool at_the_beginning)
{
    config settings;
    for (std::size_t n = 0; n != net_->size(); ++n)
        settings.nodes.push_back(draw_url(n, dice));
    settings.health.check_interval = 500ms;
    settings.reconnect.max_delay = 1s;
    settings.admission.longest_ttl = longest_ttl_ + longest_ttl_ / 4;
    if (dice.one_in(8))
        settings.observer = log_to(
            [this](log_level, std::string_view) {
                if (copied_)
                    flaw("its observer was told something");
            },
            {.level = log_level::debug});
    settings.admission.assume_fresh = at_the_beginning && dice.one_in(3);
    return settings;
}

/// A program with this list and one with all nodes exclude each other.
std::vector<std::string> schedule::without_spare(std::vector<std::string> urls) const
{
    urls.erase(urls.begin() + static_cast<std::ptrdiff_t>(spare_));
    return urls;
}

lock_options schedule::draw_options(test::dice& dice) const
{
    lock_options drawn;
    drawn.ttl = std::chrono::milliseconds{
        dice.one_in(2) ? longest_ttl_.count()
                       : dice.between(longest_ttl_.count() / variety_, longest_ttl_.count())};
    drawn.slack = drawn.ttl / (variety_ == 1 ? slack_divisor_ : dice.between(4, slack_divisor_));
    drawn.renew = !dice.one_in(4);
    drawn.tolerate_suspect = dice.one_in(6);
    drawn.fair = !dice.one_in(4);
    drawn.node_timeout = std::chrono::milliseconds{dice.between(20, 200)};
    if (dice.one_in(2)) // then it shows if no server tells a waiter of changes
        drawn.retry.max_delay = 1s;
    if (dice.one_in(8))
        drawn.max_hold =
            std::chrono::milliseconds{dice.between(longest_ttl_.count(), 3 * longest_ttl_.count())};
    return drawn;
}

bool schedule::has_many_permits() const
{
    return seed_ > seeds_of_few_permits && (kinds_ == kinds::permits || kinds_ == kinds::fenced_permits);
}

schedule::manner schedule::draw_manner(test::dice& dice) const
{
    switch (kinds_) {
    case kinds::plain: return manner::plainly;
    case kinds::fenced: return manner::fenced;
    case kinds::mixed: return dice.one_in(2) ? manner::fenced : manner::plainly;
    case kinds::fenced_shared:
        return dice.one_in(6)   ? manner::fenced
               : dice.one_in(2) ? manner::fenced_writing
                                : manner::fenced_reading;
    case kinds::several: return dice.one_in(2) ? manner::with_others : manner::plainly;
    case kinds::fenced_several: return dice.one_in(2) ? manner::fenced_with_others : manner::fenced;
    case kinds::permits: return manner::with_permits;
    case kinds::fenced_permits: return manner::fenced_with_permits;
    case kinds::all: return draw_unfenced(dice);
    case kinds::all_fenced: return draw_fenced(dice);
    case kinds::shared: break;
    }
    return dice.one_in(6) ? manner::plainly : dice.one_in(2) ? manner::writing : manner::reading;
}

schedule::manner schedule::draw_unfenced(test::dice& dice) const
{
    static constexpr std::array all{manner::plainly, manner::reading,      manner::reading,
                                    manner::writing, manner::with_permits, manner::with_others};
    return all.at(dice.below(all.size() - (several_meet() ? 0 : 1)));
}

schedule::manner schedule::draw_fenced(test::dice& dice) const
{
    static constexpr std::array all{
        manner::fenced,         manner::fenced_reading,      manner::fenced_reading,
        manner::fenced_writing, manner::fenced_with_permits, manner::fenced_with_others};
    return all.at(dice.below(all.size() - (several_meet() ? 0 : 1)));
}

fence_options schedule::draw_fence(test::dice& dice, lock_options const& options)
{
    fence_options drawn;
    if (dice.one_in(3)) // the shortest that there is
        drawn.fence_ttl = 10 * (options.ttl + *options.slack);
    return drawn;
}

void schedule::note(std::string const& what)
{
    std::string const line = test::in_seconds(time_.now()) + ' ' + what + '\n';
    for (char const c : line)
        seen_.digest = (seen_.digest ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    if (with_story_)
        seen_.story += line;
}

void schedule::flaw(std::string const& what)
{
    if (!seen_.flaw.empty())
        return;
    seen_.flaw = "at " + test::in_seconds(time_.now()) + ": " + what;
    note(what);
}

/// Counts a program's attempts.
class schedule::watcher final : public observer {
public:
    watcher(schedule& s, unsigned host) : all_(s), host_(host) {}
    void on_attempt(attempt_event const& e) noexcept override { all_.check_attempt(host_, e.resource); }

private:
    schedule& all_;
    unsigned host_;
};

std::unique_ptr<schedule::program> schedule::new_program(bool at_the_beginning)
{
    auto made = std::make_unique<program>();
    made->host = hosts_++;
    constexpr std::uint64_t not_a_disturbance = 0x80000;
    test::dice dice((seed_ << 20U) ^ not_a_disturbance ^ made->host);
    for (std::size_t n = 0; n != net_->size(); ++n)
        net_->between(made->host, n) = {.latency = dice.between(30, 3000) * 1us,
                                        .jitter = dice.between(0, 2000) * 1us};
    made->process = std::make_unique<world::process>(*net_, made->host, dice.next());
    disturb_program_clock(*made, dice);
    config settings = draw_config(dice, at_the_beginning);
    if (!settings.observer && dice.one_in(4))
        settings.observer = std::make_shared<watcher>(*this, made->host);
    made->urls = settings.nodes;
    made->has_all_nodes = replacing_;
    if (changes_nodes_ && dice.one_in(2) && !replacing_)
        settings.nodes = without_spare(made->urls);
    made->locks.emplace(made->process->make_client(std::move(settings)));
    auto const actors = static_cast<unsigned>(dice.between(1, has_many_permits() ? 24
                                                              : all_kinds_meet() ? 3
                                                                                 : 6));
    auto const apart = dice.one_in(2) ? 100 : 0;
    for (unsigned i = 0; i != actors; ++i) {
        manner const how = draw_manner(dice);
        std::string name = std::to_string(made->host) + static_cast<char>('a' + i);
        made->actors.push_back(std::make_unique<actor>(*this, *made, subjects_[dice.below(subjects_.size())],
                                                       std::move(name), how, test::dice(dice.next())));
        actor& one = *made->actors.back();
        one.later(dice.between(0, apart) * 1ms, [&one] { one.begin(); });
    }
    for (auto some = elects_ ? dice.between(1, 2) : 0; some != 0; --some) {
        std::string name = std::to_string(made->host) + static_cast<char>('A' + some);
        made->politicians.push_back(
            std::make_unique<politician>(*this, *made, std::move(name), test::dice(dice.next())));
        made->politicians.back()->begin();
    }
    return made;
}

/// Programs hear of each other in time only: none makes another one ready.
bool schedule::run_programs()
{
    bool ran = false;
    for (auto const* some : {&programs_, &leaving_})
        for (auto const& p : *some) {
            ran = p->process->run() || ran;
            if (copied_)
                be_copied();
        }
    return ran;
}

bool schedule::step(duration until)
{
    check(run_programs());
    if (!seen_.flaw.empty())
        return false;
    // A stopped process resumes by itself.
    duration next = until;
    for (auto const& p : programs_)
        if (p->process->paused())
            next = std::min(next, p->process->goes_on_at());
    (void)time_.step(next);
    if (copied_)
        be_copied();
    return time_.now() < until;
}

void schedule::run_until(duration when)
{
    while (step(when))
        ;
}

/// In a third of the schedules in which each list of nodes keeps a majority. Everybody is refused there, and goes on to the
/// next one at once.
void schedule::lose_one_for_good()
{
    auto const shortest_list = net_->size() - (changes_nodes_ ? 1 : 0);
    if (shortest_list < 3 || !dice_.one_in(3))
        return;
    auto const which = dice_.below(net_->size());
    time_.after(back_by_then, [this, which] {
        note(name_of(which) + " is killed, and stays away");
        net_->kill(which);
    });
}

void schedule::run_quietly()
{
    stage_ = stage::quiet;
    note("from here on nothing bad happens");
    lose_one_for_good();
    for (auto const& p : programs_) {
        if (changes_nodes_)
            give_all_nodes(p->host);
        for (auto const& a : p->actors)
            a->served = false;
        for (auto const& one : p->politicians)
            one->served = false;
    }
    duration const began = time_.now();
    run_until(began + quiet_time);
    while (seen_.flaw.empty() && !served_all() && time_.now() < began + longest_quiet_time)
        run_until(time_.now() + 1s);
    if (seen_.flaw.empty() && !served_all())
        serve_the_slow();
    check_progress();
    stage_ = stage::expiring;
    run_until(time_.now() + expiring_time);
}

/// A program that is slow to wake may miss every open window (W5). No waiter may be forgotten.
void schedule::serve_the_slow()
{
    note("who has been served comes later");
    stage_ = stage::for_slow;
    run_until(time_.now() + time_of_the_slow);
    stage_ = stage::quiet;
}

duration schedule::until_next_crowd() const
{
    constexpr duration between_crowds = 700ms;
    return between_crowds - time_.now() % between_crowds;
}

void schedule::end(program& p)
{
    for (auto const& a : p.actors)
        a->stop();
    for (auto const& one : p.politicians)
        one->stop();
    p.locks.reset();
}

/// Unread bytes behind TLS cannot be seen: a client that finds some makes a new connection. If the end comes before
/// that, the keys have to expire. A waiter may also wait for keys that were left to expire.
void schedule::end()
{
    if (enciphered_) {
        for (auto const& p : programs_) {
            for (auto const& a : p->actors)
                a->stop();
            for (auto const& one : p->politicians)
                one->stop();
        }
        run_until(time_.now() + 5s);
    }
    for (auto const& p : programs_)
        end(*p);
    run_until(time_.now() + 2s);
    check_keys();
    for (auto const* some : {&programs_, &leaving_})
        for (auto const& p : *some)
            check_forgotten(*p);
}

verdict schedule::run()
{
    time_.after(dice_.between(200, 2000) * 1ms, [this] { disturb(); });
    if (replaces_nodes_)
        time_.after(1s, [this] { begin_to_replace(); });
    run_until(busy_time);
    if (seen_.flaw.empty())
        run_quietly();
    if (seen_.flaw.empty())
        end();
    seen_.events = time_.happened();
    return std::move(seen_);
}

} // namespace redlock::simulation
