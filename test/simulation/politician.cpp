// SPDX-License-Identifier: BSL-1.0
#include "simulation/politician.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

// One election besides the locks, and the guarantees for its observers (docs/protocol.md, rule EL4).
namespace redlock::simulation {

using boost::system::error_code;

namespace {

/// A message that is lost is replaced by asking (EL5).
constexpr duration longest_news = 4s;

/// Returns the author of a value: a leader's later values begin with its first one.
std::string author_of(std::string const& value)
{
    return value.substr(0, value.find('\''));
}

/// An earlier value of one term, or an earlier term.
bool is_earlier(leader_info const& one, std::uint64_t term, std::uint64_t revision)
{
    return one.term < term || (one.term == term && one.revision < revision);
}

} // namespace

schedule::politician::politician(schedule& s, program& p, std::string its_name, test::dice chance)
    : all(s), home(p), name(std::move(its_name)), dice(chance),
      seat(std::in_place, *p.locks, "election", s.draw_options(dice))
{}

void schedule::politician::begin()
{
    later(dice.between(0, 1000) * 1ms, [this] { campaign(); });
    later(dice.between(0, 1000) * 1ms, [this] { observe(); });
    later(dice.between(0, 1000) * 1ms, [this] { ask(); });
}

void schedule::politician::campaign()
{
    value = name + '.' + std::to_string(++campaigns_);
    auto const ended = [this](error_code ec, leadership won) {
        if (is_idle(ec))
            return;
        all.note(value + "'s campaign: " + ec.message());
        if (ec)
            return later(dice.between(1, 300) * 1ms, [this] { campaign(); });
        elected(std::move(won));
    };
    seat->campaign(value, boost::asio::bind_cancellation_slot(cancelled_.slot(), ended));
    if (dice.one_in(6))
        later(dice.between(0, 2000) * 1ms,
              [this] { cancelled_.emit(boost::asio::cancellation_type::terminal); });
}

void schedule::politician::elected(leadership won)
{
    held = std::move(won);
    revision = said = 1;
    proclaimed = all.time_.now();
    served = true;
    all.elected(*this);
    lead();
}

void schedule::politician::lead()
{
    if (dice.one_in(2))
        later(dice.between(0, 1000) * 1ms, [this] { proclaim(); });
    auto const most = dice.one_in(4) ? 3 * all.longest_ttl_.count() : 200;
    later(dice.between(0, most) * 1ms, [this] { resign(); });
}

void schedule::politician::proclaim()
{
    if (held.empty())
        return;
    auto const next = ++said;
    held.proclaim(value + '\'' + std::to_string(next), [this, next, term = held.term()](error_code ec) {
        if (is_idle(ec) || held.term() != term)
            return;
        if (dice.one_in(2))
            later(dice.between(0, 500) * 1ms, [this] { proclaim(); });
        if (ec)
            return;
        all.note(value + " has proclaimed " + std::to_string(next));
        revision = next;
        proclaimed = all.time_.now();
    });
}

void schedule::politician::resign()
{
    all.note(value + " resigns");
    if (dice.one_in(2))
        held.resign([this](error_code ec) { (void)is_idle(ec); });
    held = {};
    later(dice.between(1, 500) * 1ms, [this] { campaign(); });
}

void schedule::politician::observe()
{
    seat->observe(seen, [this](error_code ec, leader_info now) {
        if (is_idle(ec))
            return;
        if (ec)
            return later(100ms, [this] { observe(); });
        all.observed(*this, now);
        seen = std::move(now);
        observe();
    });
}

void schedule::politician::ask()
{
    politician const* const leader = all.in_office();
    auto const term = leader ? leader->held.term() : 0;
    auto const of_it = leader ? leader->revision : 0;
    seat->leader([this, term, of_it](error_code ec, leader_info const& now) {
        if (is_idle(ec))
            return;
        if (!ec)
            answered(term, of_it, now);
        later(dice.between(1, 500) * 1ms, [this] { ask(); });
    });
}

/// EL4: a leader that was in office when the question was asked, and still is, is known.
// rule EL4
void schedule::politician::answered(std::uint64_t term, std::uint64_t of_it, leader_info const& now)
{
    all.told(*this, now);
    politician const* const leader = all.in_office();
    if (!leader || leader->held.term() != term)
        return;
    ++all.seen_.answers;
    if (now.vacant || is_earlier(now, term, of_it))
        all.flaw(name + " is told of term " + std::to_string(now.term) + (now.vacant ? ", vacant," : "") +
                 " while the leader of " + std::to_string(term) + " is in office");
}

void schedule::politician::later(duration pause, std::function<void()> what)
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

/// After a fork inside a handler, both processes run the handlers behind it, whose operations had ended.
bool schedule::politician::is_idle(error_code ec)
{
    if (all.copied_ && ec != errc::forked && all.time_.now() != all.copied_at_)
        all.flaw(name + " hears in a copy: " + ec.message());
    return over;
}

void schedule::politician::misuse()
{
    auto const ended = [this](error_code ec, auto&&...) {
        if (ec != errc::forked)
            all.flaw(name + "'s operation in a copy ended with: " + ec.message());
    };
    if (seat) {
        seat->campaign("a copy's", ended);
        seat->observe(seen, ended);
        seat->leader(ended);
    }
    if (!held.empty()) {
        held.proclaim("a copy's", ended);
        held.resign(ended);
    }
}

void schedule::politician::stop()
{
    over = true;
    held = {};
    seat.reset();
}

/// Terms rise.
// rule EL1
void schedule::elected(politician const& leader)
{
    ++seen_.leases;
    std::uint64_t const term = leader.held.term();
    note(leader.value + " leads in term " + std::to_string(term));
    if (term <= latest_term_)
        flaw(leader.value + "'s term " + std::to_string(term) + " is not above " +
             std::to_string(latest_term_));
    latest_term_ = term;
    check_author(term, leader.value);
}

/// The value of a term is that of one leader alone.
// rule EL4
void schedule::check_author(std::uint64_t term, std::string const& value)
{
    std::string const author = author_of(value);
    auto const known = authors_.emplace(term, author).first;
    if (known->second != author)
        flaw("term " + std::to_string(term) + " is " + known->second + "'s, and told to be " + author + "'s");
}

/// EL4: no client is told of an earlier term, nor of anything behind a value that a majority had.
// rule EL4
void schedule::told(politician const& by, leader_info const& now)
{
    std::uint64_t& latest = by.home.latest_term;
    if (now.term < latest)
        flaw(by.name + " is told of term " + std::to_string(now.term) + " after " + std::to_string(latest));
    latest = std::max(latest, now.term);
    leader_info& confirmed = by.home.confirmed;
    bool const goes_back = is_earlier(now, confirmed.term, confirmed.revision);
    if (!now.vacant && goes_back)
        flaw(by.name + " is told of the value " + std::to_string(now.revision) + " after " +
             std::to_string(confirmed.revision) + " was confirmed");
    if (now.confirmed && !goes_back)
        confirmed = now;
    if (!now.vacant)
        check_author(now.term, now.value);
}

/// EL4: no observer is told of an earlier value of one term.
// rule EL4
void schedule::observed(politician const& by, leader_info const& now)
{
    note(by.name + " is told of term " + std::to_string(now.term) + (now.vacant ? ", vacant" : ""));
    told(by, now);
    if (is_earlier(now, by.seen.term, by.seen.revision))
        flaw(by.name + " is told of the value " + std::to_string(now.revision) + " after " +
             std::to_string(by.seen.revision));
}

/// T1. Null: there is no leader. A killed program's last commands may still be on their way.
// rule T1
schedule::politician const* schedule::in_office()
{
    politician const* found = nullptr;
    for (auto const* some : {&programs_, &gone_})
        for (auto const& p : *some)
            for (auto const& one : p->politicians) {
                if (!one->held.valid())
                    continue;
                if (found)
                    flaw("both " + found->value + " and " + one->value + " lead");
                found = one.get();
            }
    return found;
}

/// EL5: every observer hears of the leader.
// rule EL5
void schedule::check_news()
{
    politician const* const leader = in_office();
    if (!leader || time_.now() - leader->proclaimed <= longest_news)
        return;
    for (auto const& p : programs_)
        for (auto const& one : p->politicians)
            if (one->seen.vacant || is_earlier(one->seen, leader->held.term(), leader->revision))
                flaw(one->name + " has not heard that " + leader->value + " leads");
}

// rule T3
void schedule::check_elections()
{
    for (auto const& p : programs_)
        if (std::ranges::any_of(p->politicians, &politician::served))
            return;
    flaw("nobody has led since nothing bad happens");
}

} // namespace redlock::simulation
