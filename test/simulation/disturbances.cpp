// SPDX-License-Identifier: BSL-1.0
#include "simulation/actor.hpp"
#include "simulation/politician.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

// Disturbances of servers, connections and programs, within the conditions of docs/protocol.md.
namespace redlock::simulation {

namespace {

double slewed(test::dice& dice, std::int64_t slowest, std::int64_t fastest)
{
    return 1 + static_cast<double>(dice.between(slowest, fastest)) * 1e-4;
}

} // namespace

template <class Value>
void schedule::for_a_while(Value& what, Value then, duration length)
{
    Value usual = std::exchange(what, std::move(then));
    time_.after(length, [&what, usual = std::move(usual)] { what = usual; });
}

void schedule::disturb()
{
    if (quiet())
        return;
    ++disturbances_;
    test::dice dice((seed_ << 20U) ^ disturbances_);
    auto const pause = dice.between(10, 2000) * 1ms;
    if (chosen_.has(disturbances_)) {
        seen_.disturbances = disturbances_;
        note("disturbance " + std::to_string(disturbances_));
        if (dice.one_in(3))
            disturb_program(programs_[dice.below(programs_.size())], dice);
        else
            disturb_node(static_cast<unsigned>(dice.below(net_->size())), dice);
        if (dice.one_in(4))
            time_.after(dice.between(0, 3000) * 1ms, [this] { add_newcomer(); });
    }
    time_.after(pause, [this] { disturb(); });
}

void schedule::disturb_node(unsigned number, test::dice& dice)
{
    world::node& n = net_->at(number);
    if (n.up && dice.one_in(2))
        servers_[number].saved = n.redis.keys().all();
    switch (dice.below(6)) {
    case 0: return disturb_connections(number, dice);
    case 1: return disturb_data(number, dice);
    case 2: return disturb_clock(number, dice);
    case 3: return disturb_names(number, dice);
    case 4: return disturb_ways(number, dice);
    default: return forbid(number, dice);
    }
}

void schedule::disturb_connections(unsigned number, test::dice& dice)
{
    world::node& n = net_->at(number);
    std::string const name = name_of(number);
    auto const length = dice.between(1, 3000) * 1ms;
    switch (dice.below(6)) {
    case 0: note(name + " stalls"); return void(n.stalled_until = time_.now() + length);
    case 1: note(name + " resets its connections"); return net_->reset_connections(number);
    case 2: note(name + " breaks an answer off"); return void(n.cuts_answer = true);
    case 3: note(name + " forgets its scripts"); return n.redis.flush_scripts();
    case 4: note(name + " forgets whom to tell"); return n.redis.forget_whom_to_tell();
    default:
        if (!n.reachable)
            return;
        note(name + " cannot be reached");
        return for_a_while(n.reachable, false, length);
    }
}

void schedule::disturb_data(unsigned number, test::dice& dice)
{
    // A server that is declared durable does not lose data, unless a replica replaces it.
    switch (dice.below(!servers_[number].durable && all_are_fenced() ? 4 : 3)) {
    case 0:
    case 1: return kill_node(number, dice);
    case 2: return promote(number, dice);
    default: return flush(number, dice);
    }
}

/// A durable server that has lost writes by a promotion does not show that any more after a restart.
bool schedule::hides_promotion(unsigned number) const
{
    auto const& promoted = servers_[number].promoted;
    return servers_[number].durable && promoted && time_.now() - *promoted < 3 * duration{longest_ttl_};
}

void schedule::kill_node(unsigned number, test::dice& dice)
{
    if (!net_->at(number).up || hides_promotion(number))
        return;
    note(name_of(number) + " is killed");
    net_->kill(number, !dice.one_in(3));
    time_.after(dice.between(1, 3000) * 1ms,
                [this, number, rest = test::dice(dice.next())] { restart(number, rest); });
}

void schedule::restart(unsigned number, test::dice dice)
{
    world::node& n = net_->at(number);
    if (n.up) // a replica has replaced it
        return;
    auto all = n.redis.keys().all();
    if (dice.one_in(4))
        n.redis.is.version = draw_version(dice);
    std::string story = name_of(number) + " is back, ";
    switch (servers_[number].durable ? 0 : dice.below(4)) {
    case 0:
        net_->start(number, std::move(all));
        story += "with its data";
        break;
    case 1:
        net_->start(number, servers_[number].saved);
        story += "with old data";
        break;
    case 2:
        net_->start(number);
        net_->follow(number);
        time_.after(dice.between(1, 3000) * 1ms, [this, number] { net_->lead(number); });
        story += "as a replica";
        break;
    default: net_->start(number); story += "without data";
    }
    if (dice.one_in(3)) {
        for_a_while(n.redis.is.loading, true, dice.between(1, 1500) * 1ms);
        story += ", loading";
    }
    note(story);
}

/// The replica does not receive later writes.
void schedule::promote(unsigned number, test::dice& dice)
{
    if (net_->at(number).up)
        servers_[number].saved = net_->at(number).redis.keys().all();
    time_.after(dice.between(0, 1500) * 1ms, [this, number, kept = servers_[number].saved] {
        note(name_of(number) + " is replaced by its replica");
        net_->promote(number, kept);
        servers_[number].promoted = time_.now();
    });
}

/// Only if all locks are fenced: their clients find the marker gone.
void schedule::flush(unsigned number, test::dice& dice)
{
    world::node& n = net_->at(number);
    if (!n.up)
        return;
    if (dice.one_in(4)) {
        note(name_of(number) + " loses its marker");
        (void)n.redis.execute({"DEL", "redlock-marker"}, n.wall_us(time_.now()));
        return;
    }
    if (dice.one_in(2)) {
        bool const all = dice.one_in(2);
        for (unsigned i = 0; i != net_->size(); ++i) {
            world::node& its = net_->at(i);
            if ((i != number && !all) || servers_[i].durable || !its.up)
                continue;
            note(name_of(i) + " is flushed");
            (void)its.redis.execute({"FLUSHALL"}, its.wall_us(time_.now()));
        }
        return add_newcomer(); // a program that may come before those that know the server's history
    }
    note(name_of(number) + " follows another server for a while");
    net_->follow(number);
    time_.after(dice.between(1, 3000) * 1ms, [this, number] { net_->lead(number); });
}

/// C1: while a key lives, its server's clock gains less than the smallest slack. T2: clocks stay near each other.
void schedule::disturb_clock(unsigned number, test::dice& dice)
{
    world::node& n = net_->at(number);
    duration const furthest = duration{longest_ttl_} / 6;
    duration const now = time_.now();
    duration const ahead =
        n.clock_ahead +
        duration{static_cast<std::int64_t>(static_cast<double>(now.count()) * (n.clock_rate - 1))};
    if (dice.one_in(3)) {
        note(name_of(number) + "'s clock is slewed");
        return n.run_clock_at(slewed(dice, -10, 10), now);
    }
    duration by{};
    if (dice.one_in(2)) {
        duration const slewing = duration{longest_ttl_} * 2 / 1000 + 1ms;
        duration const smallest_slack = duration{longest_ttl_} / variety_ / slack_divisor_ - slewing;
        by = servers_[number].clock.take(
            std::min(duration{dice.between(1, 300) * 1ms}, std::max(furthest - ahead, duration{})),
            smallest_slack, duration{longest_ttl_} * 3 / 2, now);
    } else {
        by = -std::min(duration{dice.between(1, 500) * 1ms}, std::max(ahead + furthest, duration{}));
    }
    note(name_of(number) + "'s clock is set by " + std::to_string(by / 1us) + " us");
    n.clock_ahead += by;
}

void schedule::forbid(unsigned number, test::dice& dice)
{
    static std::array<std::set<std::string>, 11> const rights{{{"set"},
                                                               {"eval", "evalsha"},
                                                               {"client|tracking"},
                                                               {"info"},
                                                               {"time"},
                                                               {"config"},
                                                               {"get", "pttl"},
                                                               {"subscribe"},
                                                               {"publish"},
                                                               {"zadd"},
                                                               {"delex", "delifeq"}}};
    world::server::traits& is = net_->at(number).redis.is;
    auto const length = dice.between(1, 3000) * 1ms;
    one_queue_from_ = std::max(one_queue_from_, time_.now() + length + 21s); // Q17: 20 s, and slow clocks
    if (!is.out_of_memory && dice.one_in(3)) {
        note(name_of(number) + " is out of memory");
        return for_a_while(is.out_of_memory, true, length);
    }
    if (dice.one_in(8)) {
        note(name_of(number) + " is another version behind its proxy");
        return for_a_while(is.version, draw_version(dice), length);
    }
    if (!is.forbidden.empty())
        return;
    auto const& some = rights.at(dice.below(rights.size()));
    if (some.contains("info") && servers_[number].durable) // its promotion would go unnoticed (C3)
        return;
    note(name_of(number) + " forbids " + *some.begin());
    polls_ = polls_ || some.contains("client|tracking");
    for_a_while(is.forbidden, some, length);
}

/// A client that reaches a server by another name, or by none, is not affected.
void schedule::disturb_names(unsigned number, test::dice& dice)
{
    world::names& all = net_->names();
    auto& known = all.known.at(world::network::name(number));
    auto const length = dice.between(1, 3000) * 1ms;
    auto const tell = [this, number] { net_->tell_address(number); };
    switch (dice.below(5)) {
    case 0: note("names are not told"); return void(all.silent_until = time_.now() + length);
    case 1:
        if (all.trouble)
            return;
        note("no name is known");
        return for_a_while(all.trouble,
                           make_error_code(dice.one_in(2) ? boost::asio::error::host_not_found
                                                          : boost::asio::error::host_not_found_try_again),
                           length);
    case 2:
        note("names are told late");
        all.latency = dice.between(1, 2000) * 1ms;
        return time_.after(length, [&all] { all.latency = 1ms; });
    case 3:
        note("the first address of " + name_of(number) + " is wrong");
        known.insert(known.begin(), boost::asio::ip::address_v4(world::network::nowhere));
        return time_.after(length, tell);
    default:
        if (!servers_[number].moves)
            return;
        note(name_of(number) + " moves");
        net_->move(number, dice.one_in(2));
        return time_.after(dice.one_in(2) ? 0ms : length, tell);
    }
}

void schedule::disturb_ways(unsigned number, test::dice& dice)
{
    world::node& n = net_->at(number);
    std::string const name = name_of(number);
    auto const length = dice.between(1, 3000) * 1ms;
    switch (dice.below(5)) {
    case 0: note(name + " closes its connections"); return net_->close_connections(number, true);
    case 1:
        note(name + " closes its connections without a word");
        return net_->close_connections(number, false);
    case 2: note(name + " is slow to greet"); return void(n.tls.silent_until = time_.now() + length);
    case 3:
        if (n.tls.hangs_up)
            return;
        note(name + " breaks greetings off");
        return for_a_while(n.tls.hangs_up, true, length);
    default:
        if (!n.tls.trouble.empty())
            return;
        note(name + "'s certificate has expired");
        return for_a_while(n.tls.trouble, std::string("certificate has expired"), length);
    }
}

void schedule::disturb_program(std::unique_ptr<program>& p, test::dice& dice)
{
    auto const node = static_cast<unsigned>(dice.below(net_->size()));
    auto const until = time_.now() + dice.between(1, 4000) * 1ms;
    std::string const length = "for " + std::to_string((until - time_.now()) / 1ms) + " ms";
    switch (dice.below(changes_nodes_ ? 14 : 11)) {
    case 0: note(p->name() + " is stopped, " + length); return p->process->pause_until(until);
    case 1:
    case 2: return cut(*p, node, until, dice);
    case 3:
        note(p->name() + "'s machine sleeps, " + length);
        p->process->pause_until(until);
        if (!is_slewed(*p))
            p->process->machine().sleep_until(until);
        return;
    case 4:
        if (!p->process->paused()) // else it may be asleep
            disturb_program_clock(*p, dice);
        return;
    case 5:
        note(p->name() + "'s timers are late, " + length);
        return p->process->machine().hold_timers_until(until);
    case 6:
        note(p->name() + "'s connections to " + name_of(node) + " are reset");
        return net_->reset_connections(node, p->host);
    case 7:
        if (!p->process->paused())
            fork(*p);
        return;
    case 8: return void(p->forks = true);
    case 9: return kill_program(p);
    case 10: return overtake(*p, node, until, dice);
    default: return change_nodes(*p, dice);
    }
}

/// Commands on existing connections arrive behind those on the next ones.
void schedule::overtake(program& p, unsigned number, duration until, test::dice& dice)
{
    bool const all = dice.one_in(3);
    note(p.name() + "'s commands to " + (all ? "all" : name_of(number)) + " are overtaken, until " +
         std::to_string(until / 1ms) + " ms");
    auto const reset = time_.now() + dice.between(0, (until - time_.now()) / 1ms) * 1ms;
    for (unsigned n = 0; n != net_->size(); ++n) {
        if (!all && n != number)
            continue;
        net_->hold_connections(n, p.host, until);
        time_.at(reset, [this, n, host = p.host] { net_->reset_clients(n, host); });
    }
}

/// In one direction, of one server or of all.
void schedule::cut(program& p, unsigned number, duration until, test::dice& dice)
{
    bool const there = dice.one_in(2);
    bool const all = dice.one_in(3);
    note(p.name() + (there ? " is not heard by " : " does not hear ") + (all ? "anybody" : name_of(number)));
    for (unsigned n = 0; n != net_->size(); ++n)
        if (world::path& way = net_->between(p.host, n); all || n == number)
            (there ? way.cut_there_until : way.cut_back_until) = until;
}

/// By adjtime(), within its limits. While asleep it would have no right clock (C2).
bool schedule::is_slewed(program const& p)
{
    return p.host % 3 == 2;
}

/// C2: at most one percent slow. T2: dates stay near each other; one that is ahead is cut down by the servers (F3).
void schedule::disturb_program_clock(program& p, test::dice& dice)
{
    note(p.name() + "'s clocks are set");
    double const boot = is_slewed(p) ? slewed(dice, -833, 833) : slewed(dice, -99, 50);
    p.process->machine().run_at(boot, slewed(dice, -99, 50));
    auto const furthest = longest_ttl_.count() / 6;
    duration const wrong = dice.one_in(6) ? duration{1h} : duration{};
    p.process->machine().set_wall_clock(wrong + dice.between(-furthest, furthest) * 1ms);
}

/// The new list may be the present one.
void schedule::change_nodes(program& p, test::dice& dice)
{
    bool const all = dice.one_in(2) || replacing_;
    note(p.name() + " changes its nodes to " + (all ? "all" : "all but one"));
    p.locks->change_nodes(all ? p.urls : without_spare(p.urls), [this, host = p.host](error_code ec) {
        if (ec == errc::misconfigured)
            flaw("program " + std::to_string(host) + " may not change its nodes");
    });
}

/// As soon as it is allowed.
void schedule::give_all_nodes(unsigned host)
{
    auto const found = std::ranges::find(programs_, host, [](auto const& p) { return p->host; });
    if (found == programs_.end() || !(*found)->locks)
        return;
    program& p = **found;
    p.locks->change_nodes(p.urls, [this, host, &p, began = time_.now()](error_code ec) {
        if (ec == boost::system::errc::operation_in_progress)
            time_.after(100ms, [this, host] { give_all_nodes(host); });
        else if (!ec)
            has_all_nodes(p, began);
    });
}

void schedule::has_all_nodes(program& p, duration asked)
{
    p.has_all_nodes = true;
    for (auto const& each : p.actors)
        if (each->held.valid() && each->held_since < asked)
            flaw(each->name + " holds a lease of a list before, which nobody uses any more");
}

/// As an operator does it: before another node becomes the spare one, every program is given all nodes, and has nothing
/// left of a former list.
// rule N9
void schedule::begin_to_replace()
{
    if (quiet())
        return;
    note("everybody is given all nodes");
    replacing_ = true;
    for (auto const& p : programs_) {
        p->has_all_nodes = false;
        give_all_nodes(p->host);
    }
    end_replacement();
}

/// The last grants among the former nodes are ordered by clocks, which agree within a part of this time (rule T2).
void schedule::end_replacement()
{
    if (!std::ranges::all_of(programs_, [](auto const& p) { return p->has_all_nodes; }))
        return time_.after(20ms, [this] { end_replacement(); });
    for (subject& what : subjects_)
        what.granted_by_all = false;
    time_.after(has_numbers() ? longest_ttl_ : 0ms, [this] { have_other_spare(); });
}

void schedule::have_other_spare()
{
    if (quiet())
        return;
    spare_ = (spare_ + 1) % net_->size();
    replacing_ = false;
    for (subject& what : subjects_)
        if (!what.granted_by_all) // a reader's token is no date
            what.highest_of_writers = 0;
    note(name_of(spare_) + " may be left out");
    time_.after(2s, [this] { begin_to_replace(); });
}

void schedule::kill_program(std::unique_ptr<program>& p)
{
    note(p->name() + " is killed");
    net_->bury(p->host);
    for (auto const& a : p->actors)
        a->over = true;
    for (auto const& one : p->politicians)
        one->over = true;
    gone_.push_back(std::exchange(p, new_program()));
}

/// Ensures that there is always a client that has not seen the disturbances of the servers.
void schedule::add_newcomer()
{
    if (quiet())
        return;
    auto const oldest = std::ranges::find_if(programs_, [](auto const& p) { return !p->process->paused(); });
    if (programs_.size() >= most_programs_ && oldest != programs_.end()) {
        leave(*oldest);
        programs_.erase(oldest);
    }
    if (programs_.size() >= most_programs_)
        return;
    programs_.push_back(new_program());
    note(programs_.back()->name() + " comes");
}

/// Ends the program by shutdown or by destroying its client.
void schedule::leave(std::unique_ptr<program>& p)
{
    note(p->name() + " leaves");
    program& its = *p;
    its.forks = false;
    leaving_.push_back(std::move(p));
    if (its.host % 2 == 0)
        return end(its);
    actor& a = *its.actors.front();
    constexpr duration longest = 600ms;
    auto const number = a.started("shutdown", longest, longest);
    its.locks->shutdown([this, &its, &a, number](error_code ec) {
        a.ended(number, ec);
        end(its);
    });
    for (auto const& one : its.actors)
        one->over = true;
    for (auto const& one : its.politicians)
        one->over = true;
}

} // namespace redlock::simulation
